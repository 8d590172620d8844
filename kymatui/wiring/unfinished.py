"""Runs that were cut off: their journals end in the middle of a step, and whoever wrote them is gone."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from kymatui.errors import ConfigurationError

_OF_DELETION: Final = frozenset({"forget", "let go", "drop finalizers"})


@dataclass(frozen=True, slots=True)
class CutOff:
    """One run on a module that did not come to its end; `began` in seconds of the Unix clock.

    `steps` are those of which nobody knows whether they were done, as in "create Deployment kyma-system/keda".
    """

    name: str
    namespace: str
    deletion: bool
    began: float
    steps: tuple[str, ...]


def cut_off(context: str) -> tuple[CutOff, ...]:
    """The runs of this machine on a cluster that were cut off, the last one first."""
    from kymatui.wiring.engine import journal_path

    folder = journal_path(context, "_", "_").parents[1]
    found = [one for path in sorted(folder.glob("*/*.jsonl")) for one in _read(path)]
    return tuple(sorted(found, key=lambda one: -one.began))


def _read(path: Path) -> Iterator[CutOff]:
    from kymatui.engine.identities import is_dead
    from kymatui.engine.journals import Mark, read_journal, unfinished

    try:
        entries = list(read_journal(path))
    except ConfigurationError:  # a journal that cannot be read tells nothing, and keeps nobody from working
        return
    left = unfinished(iter(entries))
    if not left or not is_dead(left[-1].run):
        return
    own = [entry for entry in entries if entry.run == left[-1].run]
    begun = {entry.what for entry in own if entry.mark is Mark.BEGUN}
    deletion = bool(begun & _OF_DELETION) or begun == {"delete"}
    yield CutOff(
        path.stem, path.parent.name, deletion, own[0].time, tuple(f"{one.what} {one.on}".strip() for one in left)
    )
