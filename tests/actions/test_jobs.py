"""Jobs in threads: side by side, one after the other, stopped, and their ends."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

from kymatui.actions.jobs import JobReport, JobRunner, JobSpec
from kymatui.domain.kyma.problems import Actor
from kymatui.domain.plans.jobs import KYMA_KEY, Job, JobState, module_key
from kymatui.engine.jobs.run import Progress
from kymatui.errors import CancelledError, PartlyDoneError, ReadOnlyError

LONG = 60.0


class Seen:
    """What was published, and a wait for what should be."""

    def __init__(self) -> None:
        self.jobs: tuple[Job, ...] = ()
        self._changed = threading.Condition()

    def __call__(self, jobs: tuple[Job, ...]) -> None:
        with self._changed:
            self.jobs = jobs
            self._changed.notify_all()

    def until(self, holds: Callable[[tuple[Job, ...]], bool]) -> tuple[Job, ...]:
        with self._changed:
            assert self._changed.wait_for(lambda: holds(self.jobs), LONG), self.jobs
            return self.jobs


class Gate:
    """Work that goes on when it is let go."""

    def __init__(self) -> None:
        self.open = threading.Event()

    def __call__(self, report: JobReport) -> str:
        assert self.open.wait(LONG)
        report.step("behind the gate")
        return "through"


def states(jobs: tuple[Job, ...]) -> list[str]:
    return [job.state.value for job in jobs]


def on(module: str, run: Callable[[JobReport], str]) -> JobSpec:
    return JobSpec(f"work on {module}", run, module, frozenset({module_key(module)}))


def test_two_on_one_module_go_one_after_the_other_and_others_side_by_side() -> None:
    seen, gate = Seen(), Gate()
    jobs = JobRunner(seen, width=2)
    for module in ("keda", "keda", "istio", "nats"):
        jobs.start(on(module, gate))
    assert states(seen.jobs) == ["running", "queued", "running", "queued"]
    assert seen.jobs[1].waits_for == "#1 work on keda (both change module keda)"
    assert seen.jobs[3].waits_for == "#1 work on keda"
    gate.open.set()
    assert seen.until(lambda all_of: states(all_of) == ["done"] * 4)[0].message == "through"
    assert jobs.wait(LONG)


def test_who_lets_go_of_something_lets_others_begin() -> None:
    seen, gate = Seen(), threading.Event()

    def run(report: JobReport) -> str:
        report.let_go(KYMA_KEY)
        gate.wait(LONG)
        return "followed to its end"

    jobs = JobRunner(seen)
    jobs.start(JobSpec("enable keda", run, keeps=frozenset({KYMA_KEY, module_key("keda")})))
    jobs.start(JobSpec("enable nats", lambda report: "edited", keeps=frozenset({KYMA_KEY})))
    jobs.start(JobSpec("disable keda", lambda report: "edited", keeps=frozenset({KYMA_KEY, module_key("keda")})))
    seen.until(lambda all_of: states(all_of) == ["running", "done", "queued"])
    gate.set()
    seen.until(lambda all_of: states(all_of) == ["done"] * 3)


def test_what_a_run_says_of_itself_is_seen() -> None:
    seen, gate = Seen(), threading.Event()

    def run(report: JobReport) -> str:
        report.step("apply")
        report.progress(Progress("created", None, 3, 27))
        waited = "Keda a/b: not deleted yet, held by x"
        report.progress(Progress("waiting for the deletion of Keda a/b", waits=Actor.MANAGER, waits_for=waited))
        gate.wait(LONG)
        raise PartlyDoneError("half of it", hint="run the command again")

    jobs = JobRunner(seen)
    jobs.start(JobSpec("install", run, steps=("look", "apply")))
    (job,) = seen.until(lambda all_of: bool(all_of and all_of[0].waits_for))
    assert (job.done, job.total, job.actor) == (3, 27, Actor.MANAGER)
    assert job.waits_for == "Keda a/b: not deleted yet, held by x"
    assert [step.state.value for step in job.steps] == ["done", "running"]
    gate.set()
    (job,) = seen.until(lambda all_of: all_of[0].is_over)
    assert (job.state, job.message, job.hint) == (JobState.PARTLY, "half of it", "run the command again")
    assert [line.message for line in job.log][:3] == ["apply", "created", "Keda a/b: not deleted yet, held by x"]


def test_a_cancelled_job_ends_at_its_next_step_and_a_queued_one_never_begins() -> None:
    seen, gate = Seen(), Gate()
    jobs = JobRunner(seen)
    first, second = jobs.start(on("keda", gate)), jobs.start(on("keda", gate))
    jobs.cancel(second.number)
    jobs.cancel(first.number)
    assert states(seen.jobs) == ["stopping", "cancelled"]
    gate.open.set()
    assert states(seen.until(lambda all_of: all_of[0].is_over)) == ["cancelled", "cancelled"]
    assert seen.jobs[0].message == "stopped before: behind the gate"
    jobs.cancel(first.number)
    assert states(jobs.all) == ["cancelled", "cancelled"]


def test_a_defect_in_a_job_ends_that_job_and_no_other() -> None:
    seen = Seen()
    jobs = JobRunner(seen)

    def broken(report: JobReport) -> str:
        raise ZeroDivisionError("division by zero")

    jobs.start(on("keda", broken))
    jobs.start(on("keda", lambda report: "well"))
    found = seen.until(lambda all_of: states(all_of) == ["failed", "done"])
    assert (found[0].message, found[0].hint) == (
        "ZeroDivisionError: division by zero",
        "this is a bug in kymatui; please report it",
    )


def test_read_only_begins_nothing() -> None:
    jobs = JobRunner(lambda _: None, read_only=lambda: True)
    with pytest.raises(ReadOnlyError, match="work on keda is not started"):
        jobs.start(on("keda", lambda report: ""))
    assert jobs.all == ()


def test_whoever_leaves_stops_everything_and_hears_nothing_more() -> None:
    seen, begun, ended = Seen(), threading.Event(), threading.Event()

    def run(report: JobReport) -> str:
        begun.set()
        assert report.cancel.wait(LONG)
        ended.set()
        raise CancelledError("stopped")

    jobs = JobRunner(seen)
    jobs.start(on("keda", run))
    jobs.start(on("keda", run))
    assert begun.wait(LONG)
    jobs.close()
    assert ended.wait(LONG)
    assert jobs.wait(LONG)
    assert states(seen.jobs) == ["running", "queued"]
    assert jobs.find(2) is not None
