"""`kymatui resume [JOB]`: an interrupted job is planned again, and continued once its plan is accepted.

Without a name it is the one interrupted job of the cluster.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from contextlib import closing
from typing import Any

from kymatui.actions.jobs import job_cluster
from kymatui.adapters.files.job_journals import close_job, interrupted, job_records
from kymatui.cli.cluster_options import add_option, add_options, uses_contexts
from kymatui.cli.options.direct_install import add_running, open_context
from kymatui.cli.options.recorded_jobs import resume_args
from kymatui.cli.output.printing import document, markdown, print_line, print_text, table
from kymatui.cli.session_arguments import is_remote, session_options_of
from kymatui.domain.kubernetes.refs import split_name
from kymatui.domain.kubernetes.terminal_text import format_count, sanitize
from kymatui.domain.plans.cluster_target import ALL_CONTEXTS, ClusterName
from kymatui.engine.cluster.ports import name_cluster
from kymatui.engine.jobs.job_records import JobRecord, of_cluster
from kymatui.errors import RefusedError, UnknownNameError, UsageError
from kymatui.sessions.cluster.cluster_access import open_cluster


def configure(parser: argparse.ArgumentParser) -> None:
    what = "number of the job, or one of its modules (default: the only one; several are listed)"
    add_option(parser, "job JOB", what, nargs="?", default="")
    add_option(parser, "--list", "list the interrupted jobs of all clusters")
    add_option(
        parser, "--contexts", "continue a change of several contexts of the kubeconfig", action="store_const", const=[]
    )
    add_options(parser, {"--allow-fleet-writes": "allow edits of several runtimes to continue"})
    parser.set_defaults(creates_namespace=True)
    add_running(parser)


def run(args: argparse.Namespace) -> int:
    if args.list:
        return _show(interrupted(), args.output, "no interrupted job")
    cluster = _cluster(args)
    jobs = of_cluster(interrupted(cluster.name), cluster)
    if args.job:
        return _resume(_named(args.job, jobs, cluster), args)
    if len(jobs) == 1:
        return _resume(jobs[0], args)
    if jobs and args.yes:
        numbers = ", ".join(f"{job.number} ({job.title})" for job in jobs)
        raise UsageError(f"{len(jobs)} jobs were interrupted: {numbers}", hint="run `kymatui resume JOB --yes`")
    others = len(interrupted()) - len(jobs)
    more = f"; {format_count(others, 'job')} on other clusters: `kymatui resume --list`" if others else ""
    return _show(jobs, args.output, f"no interrupted job on {cluster.name}{more}")


def _cluster(args: argparse.Namespace) -> ClusterName:
    """Return the cluster of the command line; of a runtime, also one that is connected."""
    if uses_contexts(args):
        return ALL_CONTEXTS
    if is_remote(args):
        with open_context(args, once=True) as context:
            return job_cluster(context.session)
    with closing(open_cluster(session_options_of(args)[0])) as cluster:
        return name_cluster(cluster)


def _named(word: str, jobs: Sequence[JobRecord], cluster: ClusterName) -> JobRecord:
    """Return the job that a person means. Raise RefusedError, UnknownNameError or UsageError."""
    matching = [job for job in jobs if word == job.number] or [job for job in jobs if word in job.heading.modules]
    if len(matching) == 1:
        return matching[0]
    if matching:
        numbers = ", ".join(f"{record.number} ({record.title})" for record in matching)
        raise UsageError(f"several interrupted jobs are about {word}: {numbers}", hint="name one by its number")
    known = next((record for record in job_records(cluster.name) if record.number == word), None)
    if known is None:
        names = [name for job in jobs for name in (job.number, *job.heading.modules)]
        hint = "`kymatui resume --list` lists the interrupted jobs"
        raise UnknownNameError.near("interrupted job", word, names, where=f"on {cluster.name}", hint=hint)
    if other := known.cluster.differs_from(cluster):
        raise RefusedError(
            f"job {word} ({known.title}) is from {other}, but this is {cluster.name}",
            hint=_hint(word, known.cluster, cluster),
        )
    if known.is_running:
        raise RefusedError(f"job {word} ({known.title}) is running: {known.run}", hint="stop it first, or wait for it")
    raise RefusedError(f"job {word} ({known.title}) is not interrupted", hint="nothing to continue")


def _hint(word: str, known: ClusterName, here: ClusterName) -> str:
    """Return how to continue a job on another cluster, which may be a runtime of the one that is `here`."""
    if not known.differs_from(ALL_CONTEXTS):
        return f"run `kymatui resume {word} --contexts`"
    runtime = known.runtime.rpartition("/")[2]
    if known.is_runtime_of(here):
        return f"run `kymatui resume {word} --remote {runtime}`"
    if not known.control:
        return f"run `kymatui resume {word} --context {known.name}`"
    context = known.name.removesuffix(f"/{known.runtime}")
    if context == here.name:
        return f"run `kymatui resume {word} --remote {runtime}` with the kubeconfig of its control plane"
    return f"run `kymatui resume {word} --context {context} --remote {runtime}`"


def _resume(record: JobRecord, args: argparse.Namespace) -> int:
    """Run the command of a job again, in its journal; close a job of which nothing is left."""
    resumed = resume_args(record, args)
    print_line(f"resuming job {record.number}: {record.title}, {_ended(record)}", sys.stderr)
    status: int = resumed.command_module.run(resumed)
    is_open = any(other.number == record.number for other in interrupted(record.cluster.name))
    if status == 0 and is_open and not args.dry_run:
        close_job(record)
        print_line(f"job {record.number} is done: nothing was left to do", sys.stderr)
    return status


def _ended(record: JobRecord) -> str:
    moment = time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(record.began))
    return f"{record.state_words} after its start at {moment}"


def _show(jobs: Sequence[JobRecord], form: str, nothing: str) -> int:
    if form in ("json", "yaml"):
        print_text(document({"jobs": [_json(job) for job in jobs]}, form))
    elif jobs:
        heads = ("JOB", "WHAT", "CLUSTER", "STARTED", "STATE", "PROGRESS")
        print_text((markdown if form == "md" else table)(heads, [_row(job) for job in jobs]))
        print_text("`kymatui resume JOB` continues one", sys.stderr)
    else:
        print_text(nothing, sys.stderr)
    return 0


def _row(record: JobRecord) -> list[str]:
    moment = time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(record.began))
    cells = (record.number, record.title, record.cluster.name, moment, record.state_words, record.counts)
    return [sanitize(cell) for cell in cells]


def _json(record: JobRecord) -> dict[str, Any]:
    return {
        "job": record.number,
        "kind": record.heading.kind,
        "modules": list(record.heading.modules),
        "runtimes": [] if record.is_on_contexts else list(record.runtimes),
        "contexts": [split_name(name)[1] for name in record.runtimes] if record.is_on_contexts else [],
        "title": record.title,
        "cluster": record.cluster.name,
        "clusterIdentity": record.cluster.identity or None,
        "startedAt": record.began,
        "state": record.state_words,
        "done": record.describe(record.done),
        "unfinished": record.describe(record.unfinished),
        "resume": record.resume_command,
    }
