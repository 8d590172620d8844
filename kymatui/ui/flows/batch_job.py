"""The plan of a batch before it is accepted, and its run in a job of the screen."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic

from msgspec.structs import replace

from kymatui.actions.batch import BatchItem, BatchJob, Items, Plan, Result, Verb, run_items
from kymatui.actions.git_sources import duration_line, read_durations
from kymatui.actions.jobs import JobReport
from kymatui.domain.gitops import GitChanges
from kymatui.domain.plans.plan_preview import Preview
from kymatui.errors import PartlyDoneError
from kymatui.ui.flows.flow_app import FlowApp


async def with_durations(app: FlowApp, preview: Preview, changes: GitChanges) -> Preview:
    """Return the preview with for how long changes last that come from Git."""
    session = app.view.writing
    if not changes or session is None:
        return preview
    durations = await app.jobs.in_thread(lambda: read_durations(changes, session.cluster))
    lines = (duration_line(source, until) for source, until in durations.items())
    return replace(preview, warnings=(*preview.warnings, *lines))


class ScreenRenderer(Generic[Plan, Result]):
    """The steps of a job: `step` names what begins with an item, "" where the verb reports its own steps."""

    def __init__(self, report: JobReport, step: Callable[[Items[Plan, Result]], str] = lambda items: "") -> None:
        self._report, self._step = report, step

    def begin(self, items: Items[Plan, Result]) -> None:
        if step := self._step(items):
            self._report.step(step)

    def stop(self, items: Items[Plan, Result]) -> None:
        """Display nothing: the job has the error."""


def run_batch_job(
    items: Items[Plan, Result],
    verb: Verb[Plan, Result],
    report: JobReport,
    result_line: Callable[[BatchItem[Plan, Result]], str],
    step: Callable[[Items[Plan, Result]], str] = lambda items: "",
) -> str:
    """Run accepted items; return what became of them. Raise what kept one from its end, once the others have ended."""
    ended = run_items(items, verb, ScreenRenderer(report, step), BatchJob(report.cancel, report.journal))
    return format_end(ended, result_line)


def format_end(items: Items[Plan, Result], result_line: Callable[[BatchItem[Plan, Result]], str]) -> str:
    errors = [error for item in items if (error := item.error or item.refusal) is not None]
    lines = [result_line(item) for item in items if item.error is None and item.refusal is None]
    if not errors:
        return "; ".join(lines)
    if not items[1:]:
        raise errors[0]
    failed = f"{len(errors)} failed: {'; '.join(map(str, errors))}"
    raise PartlyDoneError("; ".join([*lines, failed]), hint="plan again to continue")
