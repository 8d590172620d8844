"""The journals of jobs on this machine: one file for each job, in a folder for each cluster."""

from __future__ import annotations

import contextlib
import hashlib
import re
import secrets
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import groupby
from pathlib import Path
from typing import Final

from msgspec.structs import replace

from kymatui.adapters.files.journal_path import cluster_folder, folder_name, journals_folder
from kymatui.domain.catalog.rows import Catalog, ModuleRow
from kymatui.domain.installed import InstallationPhase
from kymatui.domain.kyma.problems import Actor, Advice, AdviceKind, Problem, Reason, Severity, advice_for_runtime
from kymatui.domain.kyma.states import State
from kymatui.domain.modules.presence import Presence
from kymatui.domain.plans.cluster_target import ClusterName
from kymatui.domain.plans.jobs import RUNTIMES, Job, JobPurpose, JobState
from kymatui.engine.jobs.identity import own_identity
from kymatui.engine.jobs.job_records import RUNTIME_STEP, JobRecord, interrupted_jobs, of_cluster, read_record
from kymatui.engine.jobs.journal import JobHeading, Journal, JournalEntry, JournalMark, read_journal
from kymatui.engine.jobs.open_job import OpenJob
from kymatui.errors import ConfigurationError
from kymatui.json_input import read_json

_FOLDER: Final = "_jobs"  # no namespace is called so: earlier journals are in folders of namespaces
_NUMBER: Final = re.compile(r"[0-9a-f]{6}")
_MOST: Final = 200  # files of a cluster that are kept: the newest, and those that can be continued


def open_job(cluster: ClusterName, purpose: JobPurpose, title: str, *, number: str = "") -> OpenJob:
    """Begin a job, or with a number continue an interrupted one in its own journal.

    Raises ConfigurationError if the journal cannot be written: then the job does not start.
    """
    path = _path_of(number) or _new_path(cluster.name)
    own = _number(path)
    whose = (cluster.name, cluster.identity, cluster.control)
    heading = JobHeading(purpose.kind, purpose.modules, dict(purpose.options), title, *whose)

    def others(cluster: ClusterName) -> bool:
        return any(record.number != own for record in of_cluster(interrupted(cluster.name), cluster))

    return OpenJob(own, Journal(path, own_identity(), time.time), heading, others, is_resumed=bool(number))


class JobJournals:
    """The journals of a front end's jobs, each in the folder of its cluster; jobs without one are on `home`."""

    def __init__(self, home: str) -> None:
        self._home = home

    def open(self, job: Job, purpose: JobPurpose) -> OpenJob:
        """Begin a job. Raise ConfigurationError if its journal cannot be written."""
        return open_job(ClusterName(job.cluster_name or self._home), purpose, job.title)


def close_job(record: JobRecord) -> None:
    """Write that an interrupted job is done: somebody else has completed it."""
    with contextlib.suppress(ConfigurationError):  # what cannot be written stays in the list
        path = _path_of(record.number) or _new_path(record.heading.cluster)
        journal = Journal(path, own_identity(), time.time)
        journal.begin(record.heading)
        journal.end(JournalMark.DONE, JobState.DONE.value)


def interrupted(cluster: str = "") -> tuple[JobRecord, ...]:
    """Return the interrupted jobs of this machine on all clusters, newest first; `cluster` as for `job_records`."""
    return interrupted_jobs(job_records(cluster))


def with_interrupted(catalog: Catalog, name_cluster: Callable[[], ClusterName], runtime: str = "") -> Catalog:
    """Return the catalog with the jobs on its modules that the journals of this machine say were interrupted.

    The cluster is read only if there is such a job. `runtime` is the name under which a control plane knows the
    cluster. A deletion after which the module is gone is not one of them.
    """
    if not (jobs := interrupted()):
        return catalog
    cluster = name_cluster()
    jobs = tuple(job for job in of_cluster(interrupted(cluster.name), cluster) if not job.is_fleet)
    by_module = {module: job for job in reversed(jobs) for module in job.heading.modules}
    rows = tuple(_with_job(row, by_module[row.name], runtime) if row.name in by_module else row for row in catalog.rows)
    pairs = zip(catalog.rows, rows, strict=True)
    more = tuple(row.problems[0] for before, row in pairs if row is not before)
    problems = sorted((*more, *catalog.problems), key=lambda problem: tuple(Severity).index(problem.severity))
    return replace(catalog, rows=rows, problems=tuple(problems)) if more else catalog


def _with_job(row: ModuleRow, job: JobRecord, runtime: str) -> ModuleRow:
    kind = job.heading.kind
    phase = row.run.phase if row.run is not None else None
    if kind in ("delete", "disable") and row.presence is Presence.NOT_INSTALLED:
        return row
    if phase is InstallationPhase.INSTALLED and kind == "install":  # completed meanwhile, on another machine
        return row
    if phase in (InstallationPhase.INSTALLING, InstallationPhase.DELETING):  # another run has taken it up
        return row
    advice = advice_for_runtime(Advice(AdviceKind.COMPLETE, "Continue it", f"kymatui resume {job.number}"), runtime)
    cause = f"{job.title} was interrupted, says the journal of this machine"
    if phase is not None and phase.is_interrupted:  # what is left is a fact of the cluster
        cause = row.reason.statement
    problem = Problem(Severity.WARNING, cause, Actor.YOU, row.name, advice=advice)
    interrupted = Reason(cause, Actor.YOU, Severity.WARNING, advice=advice)
    is_explained = phase is None and row.reason.actor is Actor.YOU and row.reason.advice is not None
    if phase is None and kind in ("delete", "disable") and row.presence is Presence.DELETING:
        return replace(row, problems=(problem, *row.problems))  # the cluster has the state of a deletion
    reason = row.reason if row.state is State.ERROR or is_explained else interrupted
    return replace(row, interrupted=_NOUNS.get(kind, kind), reason=reason, problems=(problem, *row.problems))


_NOUNS: Final = {"delete": "deletion", "install": "installation"}


def job_records(cluster: str = "") -> list[JobRecord]:
    """Return all jobs that have a journal; unreadable ones say nothing.

    `cluster` is the name of the cluster that somebody asks for: earlier versions wrote down only its folder's name.
    """
    records = list(earlier_records(cluster))
    for path in journals_folder().glob(f"*/{_FOLDER}/*.jsonl"):
        with contextlib.suppress(ConfigurationError):
            record = read_record(_number(path), read_journal(path))
            if record is not None:
                records.append(record)
    return records


def job_names() -> tuple[str, ...]:
    """Return what a shell completes: the modules of interrupted jobs, and the numbers of these."""
    records = interrupted()
    return tuple(
        dict.fromkeys((*(name for record in records for name in record.heading.modules), *(o.number for o in records)))
    )


def _number(path: Path) -> str:
    return path.stem.rpartition("-")[2]


def _path_of(number: str) -> Path | None:
    """Return the journal of a job; None without a number, and for a job of an earlier version."""
    paths = journals_folder().glob(f"*/{_FOLDER}/*-{number}.jsonl") if _NUMBER.fullmatch(number) else ()
    return next(iter(paths), None)


def _new_path(cluster: str) -> Path:
    folder = cluster_folder(cluster) / _FOLDER
    _make_room(folder)
    moment = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
    return folder / f"{moment}-{secrets.token_hex(3)}.jsonl"


def _make_room(folder: Path) -> None:
    """Delete the oldest journals of jobs that nobody can continue."""
    paths = sorted(folder.glob("*.jsonl"))
    if len(paths) < _MOST:
        return
    kept = {record.number for record in interrupted()}
    for path in paths[: len(paths) - _MOST + 1]:
        if _number(path) not in kept:
            with contextlib.suppress(OSError):  # it only takes room
                path.unlink()


_JOBS, _FLEET = "jobs.jsonl", "fleet.jsonl"
_RUN: Final = "run"
"""The step of a whole run; its object is the purpose, as in "install keda 1.5.0"."""
_OF_DELETION: Final = frozenset({"forget", "let " + "go", "drop finalizers"})
_VALUES: Final = {"the Kyma's own": "default"}
_NAMES: Final = {"repository": "repo"}
_UNSET: Final = "as it is"


def earlier_records(cluster: str = "") -> Iterator[JobRecord]:
    """Yield what the journals of earlier versions say; what cannot be read says nothing.

    They name a cluster by its folder; the folder of `cluster` is taken for this one.
    """
    for folder in sorted(journals_folder().glob("*")):
        name = cluster if cluster and folder_name(cluster) == folder.name else folder.name
        runs = [record for path in sorted(folder.glob("*/*.jsonl")) if (record := _run_record(name, path))]
        for job in _job_records(name, folder):
            own = next((run for run in runs if run.subjects == job.subjects and run.is_interrupted), None)
            if own is not None and own.began >= job.began:
                runs.remove(own)
                job = replace(job, steps=own.steps)
            yield job
        yield from runs
        yield from _campaign_records(name, folder)


def _entries(path: Path) -> list[JournalEntry]:
    try:
        return list(read_journal(path)) if path.is_file() else []
    except ConfigurationError:  # an unreadable journal says nothing, and must not block the user
        return []


def _record(
    heading: JobHeading, entry: JournalEntry, steps: Iterable[JournalEntry] = (), *, is_open: bool
) -> JobRecord:
    """Return a record; of what failed earlier versions did not write what was left, so it counts as ended."""
    key = f"{heading.kind} {heading.modules} {entry.time} {entry.run}"
    number = hashlib.sha256(key.encode()).hexdigest()[:6]
    return JobRecord(number, heading, entry.time, entry.run, None if is_open else JobState.DONE, tuple(steps))


def _job_records(cluster: str, folder: Path) -> Iterator[JobRecord]:
    last = {entry.on: entry for entry in _entries(folder / _JOBS)}
    for entry in last.values():
        title, details = _read_purpose(entry.message)
        chosen = {_NAMES.get(name, name): value for name, value in details.items() if value and value != _UNSET}
        options = {name: _VALUES.get(value, value) for name, value in chosen.items()}
        heading = JobHeading(entry.what, tuple(entry.on.split(",")), options, title, cluster)
        yield _record(heading, entry, is_open=entry.mark is JournalMark.BEGUN)


def _read_purpose(text: str) -> tuple[str, Mapping[str, str]]:
    try:
        document = read_json(text)
    except ValueError:  # no JSON, so the text itself is the title
        return text, {}
    details = document.get("given") if isinstance(document, dict) else None
    title = str(document.get("title") or "") if isinstance(document, dict) else ""
    return title, {str(k): str(v) for k, v in details.items()} if isinstance(details, dict) else {}


def _run_record(cluster: str, path: Path) -> JobRecord | None:
    """Return the last run of a module."""
    entries = _entries(path)
    if not entries or any(entry.job is not None for entry in entries):
        return None
    own = [entry for entry in entries if entry.run == entries[-1].run]
    steps = {(entry.what, entry.on): entry for entry in own}
    run_entry = next((entry for key, entry in steps.items() if key[0] == _RUN), None)
    single = tuple(entry for key, entry in steps.items() if key[0] != _RUN)
    is_open = any(entry.mark is JournalMark.BEGUN for entry in steps.values())
    begun = {entry.what for entry in single}
    kind = run_entry.on.partition(" ")[0] if run_entry is not None else ""
    if not kind:
        kind = "delete" if begun & _OF_DELETION or begun == {"delete"} else "install"
    options = {"namespace": path.parent.name}
    heading = JobHeading(kind, (path.stem,), options, run_entry.on if run_entry is not None else "", cluster)
    return _record(heading, own[0], single, is_open=is_open)


def _campaign_records(cluster: str, folder: Path) -> Iterator[JobRecord]:
    """Yield one record for each edit of a fleet: with the runtimes on which it began, and on which it is done."""
    last = {entry.on: entry for entry in _entries(folder / _FLEET)}
    ordered = sorted(last.values(), key=lambda edit: (edit.on.partition(" ")[0], edit.what, edit.run))
    for (module, what, _), some in groupby(ordered, key=lambda edit: (edit.on.partition(" ")[0], edit.what, edit.run)):
        edits = list(some)
        verb, _, rest = what.partition(" ")
        channel, _, policy = rest.partition(" ")
        options = {key: value for key, value in (("channel", channel), ("policy", policy)) if value}
        runtimes = [entry.on.partition(" ")[2] for entry in edits]
        heading = JobHeading(verb, (module,), {**options, RUNTIMES: ",".join(runtimes)}, "", cluster)
        steps = [
            JournalEntry(edit.time, edit.run, edit.mark, RUNTIME_STEP, edit.on.partition(" ")[2]) for edit in edits
        ]
        is_open = any(entry.mark is JournalMark.BEGUN for entry in edits)
        yield _record(heading, min(edits, key=lambda edit: edit.time), steps, is_open=is_open)
