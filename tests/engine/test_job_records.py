"""What journals say of jobs: which were interrupted, what of them is left, and what a stop of one says."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

import pytest

from kymatui.domain.plans.cluster_target import ALL_CONTEXTS, ClusterName
from kymatui.domain.plans.jobs import RUNTIMES, JobState
from kymatui.engine.jobs import job_records
from kymatui.engine.jobs.job_progress import DELETION_WORDS, EDIT_WORDS, JobProgress, stopped_error
from kymatui.engine.jobs.job_records import (
    MODULE_STEP,
    RUNTIME_STEP,
    JobRecord,
    interrupted_jobs,
    job_progress,
    join_runtimes,
    of_cluster,
    read_record,
    unfinished_runtimes,
)
from kymatui.engine.jobs.journal import JOB_STEP, JobHeading, Journal, JournalEntry, JournalMark, read_journal
from kymatui.engine.jobs.open_job import OpenJob
from kymatui.errors import CancelledError, ConfigurationError, PartlyDoneError, RefusedError, StoppedError

BEGUN, DONE, FAILED = JournalMark.BEGUN, JournalMark.DONE, JournalMark.FAILED
KEDA = JobHeading("delete", ("keda",), title="delete keda", cluster="prod", identity="uid-1")
DEAD, ALIVE = "dead", "alive"


@pytest.fixture(autouse=True)
def _processes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(job_records, "is_dead", lambda run: run == DEAD)


def line(
    mark: JournalMark, what: str, on: str = "", time: float = 2.0, run: str = DEAD, **more: object
) -> JournalEntry:
    return JournalEntry(time, run, mark, what, on, **more)  # type: ignore[arg-type]


def begin(heading: JobHeading = KEDA, time: float = 1.0, run: str = DEAD) -> JournalEntry:
    return JournalEntry(time, run, BEGUN, JOB_STEP, job=heading)


def end(state: JobState) -> JournalEntry:
    return line(DONE if state is JobState.DONE else FAILED, JOB_STEP, state=state.value)


def record(*entries: JournalEntry, number: str = "1") -> JobRecord:
    found = read_record(number, entries)
    assert found is not None
    return found


STEP = (line(BEGUN, "delete", "APIRule shop/orders"),)


@pytest.mark.parametrize(
    ("entries", "words"),
    [
        ((begin(),), "killed"),
        ((begin(), *STEP), "killed"),
        ((begin(), *STEP, end(JobState.CANCELLED)), "stopped"),
        ((begin(), *STEP, end(JobState.PARTLY)), "partly done"),
        ((begin(), *STEP, end(JobState.FAILED)), "failed"),
        ((begin(), *STEP, line(FAILED, JOB_STEP, state="of a newer version")), "failed"),
        ((begin(), *STEP, end(JobState.PARTLY), begin(), end(JobState.CANCELLED)), "stopped"),
        ((begin(run=ALIVE), *STEP), ""),
        ((begin(), end(JobState.CANCELLED)), ""),
        ((begin(), end(JobState.REFUSED)), ""),
        ((begin(), *STEP, end(JobState.DONE)), ""),
        ((begin(), *STEP, end(JobState.PARTLY), begin(), end(JobState.DONE)), ""),
    ],
)
def test_a_job_is_interrupted_if_it_changed_something_or_was_killed(
    entries: tuple[JournalEntry, ...], words: str
) -> None:
    found = record(*entries)
    assert interrupted_jobs([found]) == ((found,) if words else ())
    assert not words or found.state_words == words


def test_a_journal_without_its_first_line_says_nothing() -> None:
    assert read_record("1", STEP) is None
    assert read_record("1", ()) is None


def of(number: str, modules: Iterable[str], began: float, state: JobState, *, cluster: str = "uid-1") -> JobRecord:
    heading = JobHeading("delete", tuple(modules), cluster="prod", identity=cluster)
    return record(begin(heading, began), *STEP, end(state), number=number)


@pytest.mark.parametrize(
    ("later", "left"),
    [
        (of("2", ["keda"], 5.0, JobState.DONE), {"1": ("nats",)}),
        (of("2", ["keda", "nats"], 5.0, JobState.DONE), {}),
        (of("2", ["keda"], 5.0, JobState.PARTLY), {"2": ("keda",), "1": ("nats",)}),
        (of("2", ["keda"], 5.0, JobState.DONE, cluster="uid-2"), {"1": ("keda", "nats")}),
        (of("2", ["keda", "nats"], 0.5, JobState.DONE), {"1": ("keda", "nats")}),
        (record(begin(KEDA, 5.0), end(JobState.REFUSED), number="2"), {"1": ("keda", "nats")}),
    ],
    ids=["one done", "both done", "also interrupted", "another cluster", "earlier", "refused"],
)
def test_a_later_job_on_the_same_modules_replaces_an_interrupted_one(
    later: JobRecord, left: dict[str, tuple[str, ...]]
) -> None:
    first = of("1", ["keda", "nats"], 1.0, JobState.CANCELLED)
    assert {one.number: one.heading.modules for one in interrupted_jobs([first, later])} == left


def test_modules_that_are_complete_are_not_continued() -> None:
    heading = JobHeading("delete", ("keda", "nats"), cluster="prod")
    found = record(begin(heading), *STEP, line(DONE, MODULE_STEP, "keda"), end(JobState.CANCELLED))
    assert [one.heading.modules for one in interrupted_jobs([found])] == [("nats",)]


@pytest.mark.parametrize(
    ("here", "is_ours"),
    [
        (ClusterName("prod", "uid-1"), True),
        (ClusterName("renamed", "uid-1"), True),
        (ClusterName("prod", "uid-2"), False),
        (ClusterName("prod", ""), True),
        (ClusterName("other", ""), False),
    ],
    ids=["same", "context renamed", "cluster replaced", "may not read kube-system", "another context"],
)
def test_a_job_belongs_to_a_cluster_by_its_identity(here: ClusterName, is_ours: bool) -> None:
    found = record(begin(), *STEP)
    assert of_cluster([found], here) == ((found,) if is_ours else ())


def test_a_fleet_continues_with_the_runtimes_that_are_not_done() -> None:
    options = {"channel": "fast", RUNTIMES: "kcp/a,kcp/b,kcp/c"}
    heading = JobHeading("channel", ("keda",), options, cluster="kcp")
    steps = (line(DONE, RUNTIME_STEP, "kcp/a"), line(BEGUN, RUNTIME_STEP, "kcp/b"))
    found = record(begin(heading), *steps, end(JobState.CANCELLED))
    assert found.runtimes == ("kcp/b", "kcp/c")
    assert unfinished_runtimes([found], "channel", "keda", {"channel": "fast"}) == {"kcp/b"}
    assert unfinished_runtimes([found], "channel", "keda", {"channel": "regular"}) == frozenset()
    assert unfinished_runtimes([found], "channel", "nats", {"channel": "fast"}) == frozenset()
    assert interrupted_jobs([found]) == (found,)
    done = record(begin(heading), *(line(DONE, RUNTIME_STEP, f"kcp/{name}") for name in "abc"), end(JobState.PARTLY))
    assert interrupted_jobs([done]) == (), "the runtimes that its plan left out are not part of it"
    newer = record(begin(heading, 9.0), line(DONE, RUNTIME_STEP, "kcp/b"), end(JobState.DONE), number="2")
    assert unfinished_runtimes([newer, found], "channel", "keda", {"channel": "fast"}) == frozenset()


def test_a_later_edit_of_other_contexts_leaves_an_interrupted_one_in_the_list() -> None:
    def edit(number: str, began: float, state: JobState, *names: str) -> JobRecord:
        options = {"channel": "fast", RUNTIMES: join_runtimes(names)}
        heading = JobHeading("channel", ("keda",), options, "", ALL_CONTEXTS.name, ALL_CONTEXTS.identity)
        return record(begin(heading, began), line(DONE, RUNTIME_STEP, names[0]), end(state), number=number)

    first = edit("1", 1.0, JobState.CANCELLED, "u1/c1", "u2/a, b", "u3/50%")
    assert (first.is_on_contexts, first.runtimes) == (True, ("u2/a, b", "u3/50%"))
    assert first.describe(first.done) == ["edit context c1"]
    assert [job.runtimes for job in interrupted_jobs([first, edit("2", 2.0, JobState.DONE, "u4/c4")])] == [
        first.runtimes
    ]
    assert [job.runtimes for job in interrupted_jobs([first, edit("2", 2.0, JobState.DONE, "u2/a, b")])] == [
        ("u3/50%",)
    ]
    assert interrupted_jobs([first, edit("2", 2.0, JobState.DONE, "u2/a, b", "u3/50%")]) == ()
    assert of_cluster([first], ClusterName("c1", "u1")) == ()


def test_what_a_journal_knows_without_the_cluster_is_said_as_that() -> None:
    steps = (line(DONE, "delete", "A a"), line(BEGUN, "delete", "A b"), line(DONE, "edit", "keda"))
    (deletions, edits) = job_progress(KEDA, [*steps, line(DONE, MODULE_STEP, "keda")])
    assert deletions.sentences == "Requested to delete: A a. Unknown: A b."
    assert edits.sentences == "Edited: keda."


# the error of a stop

ORDERS, INVOICES = "APIRule shop/orders", "APIRule billing/invoices"


@pytest.mark.parametrize(
    ("parts", "resume", "text", "hint"),
    [
        (
            (JobProgress(done=(ORDERS,), ongoing=((INVOICES, "finalizer x."),), undo="`kymatui restore api-gateway`"),),
            "kymatui resume",
            f"Stopped. Deleted: {ORDERS}. Still deleting: {INVOICES} (finalizer x).",
            "`kymatui resume` continues; `kymatui restore api-gateway` undoes",
        ),
        ((JobProgress(remaining=(ORDERS,)),), "", "Stopped. No changes made.", ""),
        ((), "", "Stopped. No changes made.", ""),
        (
            (JobProgress(done=(ORDERS,)), JobProgress(done=(INVOICES,)), JobProgress(EDIT_WORDS, remaining=("keda",))),
            "kymatui resume 0a1b2c",
            f"Stopped. Deleted: {ORDERS}, {INVOICES}. Not changed: keda.",
            "`kymatui resume 0a1b2c` continues",
        ),
        (
            (JobProgress(DELETION_WORDS, tuple(f"A {number}" for number in range(12))),),
            "kymatui resume",
            f"Stopped. Deleted: {', '.join(f'A {number}' for number in range(10))} and 2 more.",
            "`kymatui resume` continues",
        ),
    ],
)
def test_a_stop_says_what_is_done_under_way_and_left(
    parts: tuple[JobProgress, ...], resume: str, text: str, hint: str
) -> None:
    error = stopped_error(parts, resume)
    assert (str(error), error.hint, error.exit_code) == (text, hint, 130)


def opened(path: Path, *, others: bool = False) -> OpenJob:
    return OpenJob("0a1b2c", Journal(path, DEAD, lambda: 1.0), KEDA, lambda _: others)


def run_job(job: OpenJob, error: BaseException | None, *, changes: bool = True) -> None:
    with job.recorded():
        if changes:
            job.journal.write(DONE, "delete", ORDERS)
        if error is not None:
            raise error


@pytest.mark.parametrize(
    ("error", "state"),
    [
        (None, JobState.DONE),
        (PartlyDoneError("held"), JobState.PARTLY),
        (RefusedError("no"), JobState.REFUSED),
        (BrokenPipeError(), JobState.CANCELLED),
        (KeyboardInterrupt(), JobState.CANCELLED),
    ],
)
def test_every_end_of_a_job_is_written(error: BaseException | None, state: JobState, tmp_path: Path) -> None:
    job = opened(tmp_path / "journal")
    if error is None:
        run_job(job, None)
    else:
        with pytest.raises(type(error)):
            run_job(job, error)
    found = read_record("0a1b2c", read_journal(tmp_path / "journal"))
    assert found is not None
    assert (found.state, found.is_interrupted) == (state, state is not JobState.DONE)


@pytest.mark.parametrize(
    ("error", "others", "changes", "text", "hint"),
    [
        (CancelledError("x"), False, True, f"Stopped. Requested to delete: {ORDERS}.", "`kymatui resume` continues"),
        (
            CancelledError("x", is_at_once=True),
            True,
            True,
            f"Stopped. The last request may still take effect. Requested to delete: {ORDERS}.",
            "`kymatui resume 0a1b2c` continues",
        ),
        (
            CancelledError("x", progress=(JobProgress(done=(ORDERS,)),)),
            False,
            True,
            f"Stopped. Deleted: {ORDERS}.",
            "`kymatui resume` continues",
        ),
        (CancelledError("x"), False, False, "Stopped. No changes made.", ""),
    ],
)
def test_a_stopped_job_says_what_continues_it(
    error: CancelledError, others: bool, changes: bool, text: str, hint: str, tmp_path: Path
) -> None:
    error.exit_code = 143  # of a SIGTERM
    with pytest.raises(StoppedError) as caught:
        run_job(opened(tmp_path / "journal", others=others), error, changes=changes)
    assert (str(caught.value), caught.value.hint, caught.value.exit_code) == (text, hint, 143)


# the file


def test_a_journal_and_its_folders_are_private(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        journal = Journal(tmp_path / "state" / "prod" / "journal", DEAD, lambda: 1.0)
    finally:
        os.umask(before)
    journal.close()
    path = tmp_path / "state" / "prod" / "journal"
    assert [one.stat().st_mode & 0o777 for one in (path, path.parent, path.parents[1])] == [0o600, 0o700, 0o700]


def test_a_full_disk_stops_the_step_and_leaves_the_job_as_interrupted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    job, write = opened(tmp_path / "journal"), os.write
    job.journal.write(DONE, "delete", ORDERS)
    monkeypatch.setattr(os, "write", lambda file, line: write(file, line[:7]))
    with pytest.raises(ConfigurationError, match="the disk is full"), job.recorded():
        job.journal.write(BEGUN, "delete", INVOICES)
    monkeypatch.setattr(os, "write", write)
    found = read_record("0a1b2c", read_journal(tmp_path / "journal"))
    assert found is not None
    assert (found.state, found.is_interrupted, [step.on for step in found.steps]) == (None, True, [ORDERS])
    again = opened(tmp_path / "journal")  # there is room again
    again.end(None)
    found = read_record("0a1b2c", read_journal(tmp_path / "journal"))
    assert found is not None
    assert found.is_done


def test_a_journal_has_no_words_of_a_server(tmp_path: Path) -> None:
    job = opened(tmp_path / "journal")
    with pytest.raises(PartlyDoneError), job.recorded(), job.journal.step("create", "Secret shop/login"):
        raise PartlyDoneError('data[password]: Invalid value: "hunter2"')
    assert "hunter2" not in (tmp_path / "journal").read_text()


@pytest.mark.parametrize(
    ("control_plane", "is_ours"),
    [
        (ClusterName("kcp", "uid-1"), True),
        (ClusterName("renamed", "uid-1"), True),
        (ClusterName("kcp", "uid-2"), False),
        (ClusterName("kcp", ""), True),
        (ClusterName("other", ""), False),
    ],
    ids=["same", "context renamed", "another with this name", "may not read kube-system", "another context"],
)
def test_a_job_on_a_runtime_belongs_to_its_control_plane_by_identity(control_plane: ClusterName, is_ours: bool) -> None:
    runtime = ClusterName("kcp/kcp-system/r1", "", "uid-1")
    assert runtime.is_runtime_of(control_plane) is is_ours
    assert runtime.runtime == "kcp-system/r1"
    if control_plane.identity:
        here = ClusterName(f"{control_plane.name}/kcp-system/r1", "", control_plane.identity)
        assert (runtime.differs_from(here) == "") is (is_ours and control_plane.name == "kcp")


def test_a_job_keeps_the_control_plane_of_its_runtime(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "job.jsonl", DEAD, lambda: 1.0)
    job = OpenJob("1", journal, JobHeading("delete", ("keda",)), lambda cluster: False)
    job.identify(ClusterName("kcp/kcp-system/r1", "uid-r1", "uid-1"))
    found = read_record("1", read_journal(tmp_path / "job.jsonl"))
    assert found is not None
    assert found.cluster == ClusterName("kcp/kcp-system/r1", "uid-r1", "uid-1")
