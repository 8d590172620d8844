"""Jobs as data: steps, ends, what stands in whose way."""

from __future__ import annotations

import pytest

from kymatui.domain.plans.jobs import (
    MAX_LOG_LINES,
    Job,
    JobState,
    JobStep,
    LogLine,
    append_log,
    blocking_job,
    end_job,
    enter_step,
    format_job_counts,
    module_key,
    queued_behind,
    start_job,
)
from kymatui.errors import (
    CancelledError,
    ForbiddenError,
    KymatuiError,
    OutdatedError,
    PartlyDoneError,
    ReadOnlyError,
    RefusedError,
)

KEDA = frozenset({module_key("keda")})


def job(number: int = 1, **more: object) -> Job:
    return Job(number, f"job {number}", keeps=KEDA, **more)  # type: ignore[arg-type]


def steps(one: Job) -> list[tuple[str, str]]:
    return [(step.title, step.state.value) for step in one.steps]


THREE = (JobStep("look"), JobStep("write"), JobStep("wait"))


def test_steps_before_the_present_one_are_done_and_an_unannounced_one_comes_behind_them() -> None:
    one = enter_step(start_job(job(steps=THREE), 10.0), "write", 11.0)
    assert steps(one) == [("look", "done"), ("write", "running"), ("wait", "ahead")]
    more = enter_step(one, "write again", 12.0)
    assert steps(more) == [("look", "done"), ("write", "done"), ("write again", "running"), ("wait", "ahead")]
    assert more.step is not None
    assert more.step.began == 12.0


@pytest.mark.parametrize(
    ("outcome", "state", "at_the_end"),
    [
        ("27 written", JobState.DONE, ["done", "done", "done"]),
        (PartlyDoneError("no"), JobState.PARTLY, ["done", "failed", "left"]),
        (RefusedError("no"), JobState.REFUSED, ["done", "failed", "left"]),
        (OutdatedError("no"), JobState.REFUSED, ["done", "failed", "left"]),
        (ReadOnlyError("no"), JobState.REFUSED, ["done", "failed", "left"]),
        (CancelledError("no"), JobState.CANCELLED, ["done", "failed", "left"]),
        (ForbiddenError("no", status=403), JobState.FAILED, ["done", "failed", "left"]),
    ],
)
def test_how_it_ended_is_told_by_what_was_raised(
    outcome: str | KymatuiError, state: JobState, at_the_end: list[str]
) -> None:
    one = end_job(enter_step(start_job(job(steps=THREE), 1.0), "write", 2.0), 5.0, outcome)
    assert (one.state, one.is_over, one.elapsed(99.0)) == (state, True, 4.0)
    assert [word for _, word in steps(one)] == at_the_end
    assert one.log[-1].message == f"{state.value}: {outcome}"


def test_progress_is_whole_steps_and_a_part_of_the_present_one() -> None:
    assert job(done=3, total=4).share == 0.75
    one = enter_step(start_job(job(steps=THREE), 1.0), "write", 2.0)
    assert one.share == pytest.approx(1 / 3)
    half = Job(1, "half", steps=one.steps, done=5, total=10)
    assert half.share == pytest.approx(0.5)


def test_the_log_keeps_its_end_and_says_nothing_twice() -> None:
    one = job()
    for number in range(MAX_LOG_LINES + 3):
        one = append_log(append_log(one, LogLine(1.0, f"line {number}")), LogLine(2.0, f"line {number}"))
    assert (len(one.log), one.dropped) == (MAX_LOG_LINES, 3)
    assert one.log[-1] == LogLine(1.0, f"line {MAX_LOG_LINES + 2}")


def test_who_works_on_the_same_module_waits_for_whoever_came_before() -> None:
    other = Job(3, "elsewhere", keeps=frozenset({module_key("istio")}))
    first, second = start_job(job(1), 1.0), job(2)
    assert blocking_job(first, (first, second, other)) is None
    assert blocking_job(second, (first, second, other)) == first
    assert blocking_job(other, (first, second, other)) is None
    assert queued_behind(second, first).waits_for == "#1 job 1 (both change module keda)"
    assert blocking_job(second, (end_job(first, 2.0, "done"), second)) is None


def test_what_is_counted() -> None:
    jobs = (end_job(start_job(job(1), 1.0), 2.0, ""), start_job(job(2), 1.0), job(3), job(4))
    assert format_job_counts(jobs) == "2 queued  1 running  1 done"
