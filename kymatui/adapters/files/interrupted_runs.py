"""Interrupted runs: journals with a start, no end, and a dead process."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from msgspec import Struct, field
from msgspec.structs import replace

from kymatui.adapters.files.job_journal import InterruptedJob, interrupted_jobs
from kymatui.adapters.files.journal_path import journal_path
from kymatui.engine.jobs.identity import is_dead
from kymatui.engine.jobs.journal import RUN_STEP, JournalMark, read_journal, unfinished_steps
from kymatui.errors import ConfigurationError

_OF_RUNS: Final = ("install", "upgrade", "adopt", "delete")
_OF_DELETION: Final = frozenset({"forget", "let go", "drop finalizers"})


class InterruptedRun(Struct, frozen=True):
    """One interrupted run; `began` in Unix seconds.

    steps    with unknown outcome, as in "create Deployment kyma-system/keda"; none if interrupted between two
    kind     "install", "upgrade", "delete", "enable" …; "" if the journal does not say
    modules  if it concerns more than `name`; `given` are the options that the user chose
    """

    name: str
    namespace: str
    deletion: bool
    began: float
    steps: tuple[str, ...]
    kind: str = ""
    modules: tuple[str, ...] = ()
    given: Mapping[str, str] = field(default_factory=dict)
    title: str = ""


def interrupted_runs(context: str) -> tuple[InterruptedRun, ...]:
    """Return the interrupted runs of this machine on a cluster, newest first, one per module."""
    folder = journal_path(context, "_", "_").parents[1]
    found = {one.name: one for path in sorted(folder.glob("*/*.jsonl")) for one in _read(path)}
    for left in reversed(interrupted_jobs(context)):
        name = " ".join(left.purpose.modules)
        if not _was_finished(left, folder):
            found[name] = _joined(left, name, found.get(name))
    return tuple(sorted(found.values(), key=lambda one: -one.began))


def runtimes_with_interrupted_runs(control: str) -> tuple[str, ...]:
    """Return the runtimes (`namespace/name`) of a control plane with interrupted runs of this machine."""
    root = journal_path(control, "_", "_").parents[2]
    start = journal_path(f"{control}/", "_", "_").parents[1].name
    folders = (path.name.removeprefix(start) for path in root.glob(f"{start}*"))
    # Neither namespaces nor names contain the `_` that separates them in a folder's name.
    names = sorted(name.replace("_", "/") for name in folders if name.count("_") == 1)
    return tuple(name for name in names if interrupted_runs(f"{control}/{name}"))


def _was_finished(left: InterruptedJob, folder: Path) -> bool:
    """Return whether a run on the module finished since: the job's own, or a later one on this machine."""
    if left.purpose.kind not in _OF_RUNS:
        return False
    for path in folder.glob(f"*/{left.purpose.modules[0]}.jsonl"):
        try:
            entries = list(read_journal(path))
        except ConfigurationError:  # an unreadable journal proves no finished run, so the job is offered again
            continue
        if entries and entries[-1].time > left.began and not unfinished_steps(iter(entries)):
            return entries[-1].mark is JournalMark.DONE
    return False


def _joined(left: InterruptedJob, name: str, run: InterruptedRun | None) -> InterruptedRun:
    """Return the run of a job, with its steps if it had started any."""
    purpose = left.purpose
    made = run if run is not None else InterruptedRun(name, "", False, left.began, ())
    return replace(
        made,
        deletion=purpose.kind == "delete",
        began=left.began,
        kind=purpose.kind,
        modules=purpose.modules,
        given=purpose.given,
        title=left.title,
    )


def _read(path: Path) -> Iterator[InterruptedRun]:
    try:
        entries = list(read_journal(path))
    except ConfigurationError:  # an unreadable journal says nothing, and must not block the user
        return
    left = unfinished_steps(iter(entries))
    if not left or not is_dead(left[-1].run):
        return
    own = [entry for entry in entries if entry.run == left[-1].run]
    begun = {entry.what for entry in own if entry.mark is JournalMark.BEGUN and entry.what != RUN_STEP}
    purpose = next((entry.on for entry in left if entry.what == RUN_STEP), "")
    kind = purpose.partition(" ")[0]
    deletion = kind == "delete" if kind else bool(begun & _OF_DELETION) or begun == {"delete"}
    steps = tuple(f"{one.what} {one.on}".strip() for one in left if one.what != RUN_STEP)
    yield InterruptedRun(path.stem, path.parent.name, deletion, own[0].time, steps, kind, title=purpose)
