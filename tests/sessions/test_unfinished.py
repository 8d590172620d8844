"""What was interrupted is found in the journals, and offered; what still runs, or ended, is not."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from kymatui.adapters.files import job_journals
from kymatui.adapters.files.job_journals import (
    close_job,
    interrupted,
    job_names,
    job_records,
    open_job,
    with_interrupted,
)
from kymatui.adapters.files.journal_path import cluster_folder, journals_folder
from kymatui.domain.catalog.catalog import build_catalog
from kymatui.domain.catalog.rows import Catalog
from kymatui.domain.plans.cluster_target import ClusterName
from kymatui.domain.plans.jobs import JobPurpose
from kymatui.engine.jobs.identity import own_identity
from kymatui.engine.jobs.job_records import JobRecord, of_cluster, unfinished_runtimes
from kymatui.engine.jobs.journal import JournalMark
from kymatui.errors import CancelledError
from tests.domain.builders import NOW, community_template, deployment, gvk, kyma, report, resource, snapshot, template

LINE = "Deployment kyma-system/keda-manager"
PROD = ClusterName("prod-eu")


@pytest.fixture(autouse=True)
def _own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))


@pytest.fixture(scope="module")
def dead() -> str:
    """The identity of a process of this machine that is gone."""
    words = "from kymatui.engine.jobs.identity import own_identity; print(own_identity())"
    return subprocess.run([sys.executable, "-c", words], capture_output=True, text=True, check=True).stdout.strip()


def jobs(cluster: str = "prod-eu") -> dict[str, JobRecord]:
    """The interrupted jobs on a cluster, by their modules."""
    return {" ".join(one.heading.modules): one for one in of_cluster(interrupted(cluster), ClusterName(cluster))}


# journals of earlier versions


def write(path: str, run: str, *lines: tuple[str, str, str, str], since: int = 1_000) -> None:
    """Write a journal as earlier versions did: mark, step, object and message of each line."""
    file = journals_folder() / path
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("a") as stream:
        for time, (mark, what, on, message) in enumerate(lines, since):
            entry = {"time": float(time), "run": run, "mark": mark, "what": what, "on": on, "words": message}
            stream.write(json.dumps(entry) + "\n")


def test_a_run_that_was_killed_in_a_step_is_found(dead: str) -> None:
    write("prod-eu/kyma-system/keda.jsonl", dead, ("begun", "create", LINE, ""), ("done", "create", LINE, ""))
    write("prod-eu/kyma-system/keda.jsonl", dead, ("begun", "change", LINE, ""))
    write("prod-eu/kyma-system/nats.jsonl", dead, ("done", "delete", LINE, ""), ("begun", "let go", LINE, ""))
    found = jobs()
    assert {name: one.heading.kind for name, one in found.items()} == {"keda": "install", "nats": "delete"}
    assert [step.what for step in found["keda"].unfinished] == ["change"]
    assert (found["keda"].heading.options, found["keda"].began) == ({"namespace": "kyma-system"}, 1_000.0)
    assert jobs("prod-us") == {}


def test_what_ended_failed_or_still_runs_is_left_alone(dead: str) -> None:
    for name, run, marks in (
        ("done", dead, ("begun", "done")),
        ("failed", dead, ("begun", "failed")),
        ("running", own_identity(), ("begun",)),
    ):
        write(f"prod-eu/kyma-system/{name}.jsonl", run, *((mark, "create", LINE, "") for mark in marks))
    write("prod-eu/kyma-system/again.jsonl", dead, ("begun", "create", LINE, ""))
    write(
        "prod-eu/kyma-system/again.jsonl", own_identity(), ("begun", "create", LINE, ""), ("done", "create", LINE, "")
    )
    assert jobs() == {}


@pytest.mark.parametrize("kind", ["upgrade", "adopt"])
def test_a_run_that_was_killed_between_two_steps_is_known_for_what_it_was(dead: str, kind: str) -> None:
    steps = (("begun", "create", LINE, ""), ("done", "create", LINE, ""))
    write("prod-eu/kyma-system/keda.jsonl", dead, ("begun", "run", f"{kind} keda 1.6.0", ""), *steps)
    (one,) = jobs().values()
    assert (one.heading.kind, one.title, one.unfinished) == (kind, f"{kind} keda 1.6.0", ())


def purpose(title: str, **given: str) -> str:
    return json.dumps({"title": title, "given": given})


def test_jobs_of_an_earlier_version_are_found_with_what_was_chosen(dead: str) -> None:
    channel = purpose("move keda", channel="the Kyma's own", policy="as it is")
    chart = purpose("install shop", chart="oci://registry/shop", repository="https://charts", namespace="shop")
    write("prod-eu/jobs.jsonl", dead, ("begun", "channel", "keda,nats", channel), ("begun", "install", "shop", chart))
    write("prod-eu/jobs.jsonl", dead, ("begun", "delete", "istio", "delete istio"), ("failed", "delete", "istio", ""))
    run = (("begun", "run", "install shop", ""), ("begun", "create", LINE, ""))
    write("prod-eu/shop/shop.jsonl", dead, *run, since=2_000)
    found = jobs()
    assert {name: (one.heading.kind, one.heading.options) for name, one in found.items()} == {
        "keda nats": ("channel", {"channel": "default"}),
        "shop": ("install", {"chart": "oci://registry/shop", "repo": "https://charts", "namespace": "shop"}),
    }
    assert [step.on for step in found["shop"].unfinished] == [LINE], "the steps of its run"


def test_a_job_of_an_earlier_version_whose_run_came_to_its_end_is_not_offered(dead: str) -> None:
    write("prod-eu/jobs.jsonl", dead, ("begun", "upgrade", "keda", purpose("upgrade keda")))
    run = "upgrade keda 1.1.0"
    write(
        "prod-eu/kyma-system/keda.jsonl",
        own_identity(),
        *((mark, "run", run, "") for mark in ("begun", "done")),
        since=2_000,
    )
    assert jobs() == {}


def test_an_edit_over_many_runtimes_of_an_earlier_version_is_continued(dead: str) -> None:
    marks = (("r1", "done"), ("r2", "failed"), ("r3", "begun"))
    write("kcp/fleet.jsonl", dead, *(("begun", "enable  ", f"keda kcp-system/{name}", "") for name, _ in marks))
    write("kcp/fleet.jsonl", dead, *((mark, "enable  ", f"keda kcp-system/{name}", "") for name, mark in marks))
    (one,) = jobs("kcp").values()
    assert (one.heading.kind, one.runtimes) == ("enable", ("kcp-system/r2", "kcp-system/r3"))
    assert unfinished_runtimes(job_records("kcp"), "enable", "keda", {}) == {"kcp-system/r2", "kcp-system/r3"}
    assert unfinished_runtimes(job_records("kcp"), "disable", "keda", {}) == frozenset()


def test_a_damaged_journal_hides_no_other(dead: str) -> None:
    write("prod-eu/jobs.jsonl", dead, ("begun", "delete", "keda", "delete keda"))
    folder = cluster_folder("prod-eu") / "_jobs"
    folder.mkdir()
    (folder / "20261121T120000Z-0a1b2c.jsonl").write_bytes(b"\xff\x00 no journal\n" + b"[" * 100_000)
    (folder / "20261121T120000Z-0a1b2d.jsonl").mkdir()
    assert list(jobs()) == ["keda"]


# jobs of this version


def start(*modules: str, kind: str = "delete", cluster: ClusterName = PROD, number: str = "") -> Any:
    return open_job(cluster, JobPurpose(kind, modules), f"{kind} {', '.join(modules)}", number=number)


def stop(job: Any, *, done: str = "") -> None:
    job.journal.write(JournalMark.DONE, "delete", LINE)
    if done:
        job.complete(done)
    job.end(KeyboardInterrupt())


def test_a_stopped_job_is_found_continued_in_its_own_journal_and_leaves_the_list() -> None:
    job = start("keda", "nats")
    stop(job, done="keda")
    (one,) = jobs().values()
    assert (one.number, one.heading.modules, one.state_words) == (job.number, ("nats",), "stopped")
    assert job_names() == ("nats", job.number)
    again = start("nats", number=job.number)
    assert (again.number, jobs()) == (job.number, {}), "it is running"
    again.end(None)
    assert jobs() == {}
    assert len(list(journals_folder().glob("*/_jobs/*"))) == 1


@pytest.mark.parametrize("is_earlier", [False, True])
def test_a_job_that_somebody_else_completed_leaves_the_list(is_earlier: bool, dead: str) -> None:
    if is_earlier:
        write("prod-eu/jobs.jsonl", dead, ("begun", "delete", "keda", "delete keda"))
    else:
        stop(start("keda"))
    (one,) = jobs().values()
    close_job(one)
    assert jobs() == {}


def test_a_job_is_found_by_the_identity_of_its_cluster() -> None:
    stop(start("keda", cluster=ClusterName("prod-eu", "uid-1")))
    for cluster, count in (("uid-1", 1), ("uid-2", 0)):
        assert len(of_cluster(interrupted("renamed"), ClusterName("renamed", cluster))) == count
    assert len(of_cluster(interrupted("prod-eu"), ClusterName("prod-eu", "uid-2"))) == 0, "a context of another cluster"


def test_other_interrupted_jobs_of_the_cluster_are_told_apart_by_their_numbers() -> None:
    first = start("keda")
    stop(first)
    second = start("nats")
    second.journal.write(JournalMark.DONE, "delete", LINE)
    assert second.stopped(CancelledError("x")).hint == f"`kymatui resume {second.number}` continues"
    close_job(jobs()["keda"])
    assert second.stopped(CancelledError("x")).hint == "`kymatui resume` continues"


@pytest.mark.parametrize("name", ["..", "a/b", "arn:aws:eks:eu-central-1:1:cluster/" + "x" * 300, ""])
def test_every_context_has_a_folder_of_its_own_below_the_journals(name: str) -> None:
    stop(start("keda", cluster=ClusterName(name)))
    (path,) = journals_folder().glob("*/_jobs/*.jsonl")
    assert len(path.parents[1].name) < 200
    assert [one.heading.cluster for one in interrupted(name)] == [name]


def test_journals_of_finished_jobs_do_not_pile_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(job_journals, "_MOST", 3)
    stop(start("kept"))
    for number in range(5):
        start(f"m{number}").end(None)
    assert len(list(journals_folder().glob("*/_jobs/*"))) <= 4
    assert list(jobs()) == ["kept"]


# jobs of a front end

DONE = """
jobs.start(JobSpec("done", lambda report: "", purpose=JobPurpose("install", ("nats",))))
assert jobs.wait(20)
"""
KILLED = """
jobs.start(JobSpec("enable keda in channel fast", hang, purpose=JobPurpose("enable", ("keda",), {"channel": "fast"})))
jobs.start(JobSpec("upgrade serverless", hang, purpose=JobPurpose("upgrade", ("serverless",))))
os._exit(9)
"""
QUIT = """
def stopped(report):
    report.cancel.wait()
    report.step("the next one")

jobs.start(JobSpec("delete keda", stopped, purpose=JobPurpose("delete", ("keda",))))
jobs.close()
assert jobs.wait(20)
"""
PERSON = """
job = jobs.start(JobSpec("delete keda", stopped, purpose=JobPurpose("delete", ("keda",))))
jobs.cancel(job.number)
assert jobs.wait(20)
"""
CHANGED = """
def changes(report):
    with report.journal.step("delete", "APIRule shop/orders"):
        pass
    return stopped(report)

job = jobs.start(JobSpec("delete keda", changes, purpose=JobPurpose("delete", ("keda",), {"cascade": "true"})))
jobs.cancel(job.number)
assert jobs.wait(20)
assert jobs.find(job.number).message == "Stopped. Requested to delete: APIRule shop/orders."
assert jobs.find(job.number).hint == "`kymatui resume` continues"
"""
WORLD = """
import os, threading
from kymatui.adapters.files.job_journals import JobJournals
from kymatui.domain.plans.jobs import JobPurpose
from kymatui.actions.jobs import JobRunner, JobSpec
jobs = JobRunner(lambda all: None, book=JobJournals("prod-eu"), now=lambda: 1_000.0)
hang = lambda report: threading.Event().wait() or ""
stopped = lambda report: report.cancel.wait() and report.step("the next one") or ""
"""


@pytest.mark.parametrize(
    ("script", "left"),
    [
        (DONE + PERSON, {}),
        (CHANGED, {"keda": ("delete", {"cascade": "true"})}),
        (KILLED, {"keda": ("enable", {"channel": "fast"}), "serverless": ("upgrade", {})}),
        (QUIT, {"keda": ("delete", {})}),
    ],
    ids=["ended, or stopped before a change", "stopped after a change", "killed", "the program was quit"],
)
def test_a_job_whose_program_ended_is_offered_again(script: str, left: dict[str, object], tmp_path: Path) -> None:
    home = {**os.environ, "XDG_STATE_HOME": str(tmp_path), "HOME": str(tmp_path)}
    ended = subprocess.run([sys.executable, "-c", WORLD + script], check=False, env=home, capture_output=True)
    assert ended.returncode in (0, 9), ended.stderr
    assert {name: (one.heading.kind, one.heading.options) for name, one in jobs().items()} == left
    assert jobs("prod-us") == {}


def test_what_was_cut_off_on_runtimes_is_told_by_their_names(tmp_path: Path) -> None:
    home = {**os.environ, "XDG_STATE_HOME": str(tmp_path), "HOME": str(tmp_path)}
    script = """
for place in ("", "kcp/kcp-system/r1", "kcp/kcp-system/r2"):
    purpose = JobPurpose("enable", ("keda",))
    jobs.start(JobSpec("enable keda", hang, keeps=frozenset({"keda"}), purpose=purpose, cluster_name=place))
import time
deadline = time.monotonic() + 30
while not all(job.began for job in jobs.all):  # what one runtime keeps is in nobody's way in another
    assert time.monotonic() < deadline
os._exit(0)
"""
    placed = WORLD.replace('JobJournals("prod-eu")', 'JobJournals("kcp")')
    assert subprocess.run([sys.executable, "-c", placed + script], check=False, env=home).returncode == 0
    assert [list(jobs(name)) for name in ("kcp", "kcp/kcp-system/r1", "kcp-system/r1")] == [["keda"], ["keda"], []]


# the catalog


def catalog(state: str = "Ready", *, is_installed: bool = True) -> Catalog:
    parts: dict[str, Any] = {"workloads": [deployment("mod", "1.0.0")]} if is_installed else {}
    crs = {gvk("mod"): (resource("mod", state),)} if is_installed else {}
    return build_catalog(snapshot(outside=[community_template("mod", "1.0.0")], module_resources=crs, **parts), NOW)


def on(name: str) -> Any:
    return lambda: ClusterName(name)


@pytest.mark.parametrize(
    ("kind", "before", "state"),
    [
        ("delete", catalog(), "deletion interrupted"),
        ("install", catalog(), "installation interrupted"),
        ("upgrade", catalog(), "upgrade interrupted"),
        ("install", catalog(is_installed=False), "installation interrupted"),
        ("delete", catalog("Error"), "Error"),
    ],
    ids=["deletion", "installation", "upgrade", "not installed", "error"],
)
def test_a_module_of_an_interrupted_job_is_not_plainly_ready(kind: str, before: Catalog, state: str) -> None:
    stop(start("mod", kind=kind))
    (record,) = interrupted()
    (row,) = with_interrupted(before, on("prod-eu")).rows
    assert row.state_words == state
    assert row.problems[0] in with_interrupted(before, on("prod-eu")).problems, "the list of problems has it, too"
    assert f"`kymatui resume {record.number}`" in row.problems[0].text
    assert (row.reason.text == row.problems[0].text) is (state != "Error")
    assert with_interrupted(before, on("prod-us")) == before, "it is of another cluster"
    close_job(record)
    assert with_interrupted(before, on("prod-eu")) == before


@pytest.mark.parametrize("kind", ["delete", "disable"])
def test_a_deletion_that_lifecycle_manager_continues_has_the_state_of_the_cluster(kind: str) -> None:
    stop(start("mod", kind=kind))
    leaving = kyma(status=[report("mod", "1.0.0", "Deleting")])
    before = build_catalog(snapshot(kymas=[leaving], templates=[template("mod", "1.0.0")]), NOW)
    (row,), (plain,) = with_interrupted(before, on("prod-eu")).rows, before.rows
    assert (row.state_words, row.reason, row.problems[1:]) == ("Deleting", plain.reason, plain.problems)
    assert "Continue it" in row.problems[0].text


def test_a_deletion_after_which_the_module_is_gone_is_in_no_row() -> None:
    stop(start("mod"))
    gone = catalog(is_installed=False)
    assert with_interrupted(gone, on("prod-eu")) == gone


def test_a_cluster_is_not_asked_without_an_interrupted_job() -> None:
    assert with_interrupted(catalog(), lambda: pytest.fail("it was asked")) == catalog()
