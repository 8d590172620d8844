"""Which runtimes an edit of a fleet was begun on, and on which it came to its end; on disk, to go on after a kill.

The clusters say which Kymas are edited; that the module came to be ready nobody may have seen. A canary that was edited
and never got well must not count as done because somebody ran the same again.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from kymatui.errors import ConfigurationError

if TYPE_CHECKING:
    from kymatui.domain.kyma_edit.module_edit import ModuleEdit
    from kymatui.engine.jobs.journal import Journal, JournalMark


class CampaignJournal:
    """Lines about one edit over the runtimes of one control plane. May be written by several threads."""

    def __init__(self, context: str, toggle: ModuleEdit) -> None:
        self._path = _path(context)
        self._what = " ".join((toggle.verb.value, toggle.channel or "", str(toggle.policy or "")))
        self._module = toggle.module
        self._journal: Journal | None = None

    def open(self) -> None:
        """Raises ConfigurationError where nothing can be written down: then nothing is begun."""
        from kymatui.engine.jobs.identity import own_identity
        from kymatui.engine.jobs.journal import Journal

        self._journal = Journal(self._path, own_identity(), time.time)

    def begun(self, runtime: str) -> None:
        from kymatui.engine.jobs.journal import JournalMark

        self._write(JournalMark.BEGUN, runtime)

    def done(self, runtime: str) -> None:
        from kymatui.engine.jobs.journal import JournalMark

        self._write(JournalMark.DONE, runtime)

    def failed(self, runtime: str) -> None:
        from kymatui.engine.jobs.journal import JournalMark

        self._write(JournalMark.FAILED, runtime)

    def close(self) -> None:
        if self._journal is not None:
            self._journal.close()
            self._journal = None

    def unfinished(self) -> frozenset[str]:
        """The runtimes on which this very edit was the last one of the module, and was not seen to its end."""
        from kymatui.engine.jobs.journal import read_journal

        last: dict[str, tuple[str, JournalMark]] = {}
        try:
            for entry in read_journal(self._path) if self._path.exists() else ():
                module, _, runtime = entry.on.partition(" ")
                if module == self._module:
                    last[runtime] = (entry.what, entry.mark)
        except ConfigurationError:  # a book that cannot be read tells nothing; the clusters do
            return frozenset()
        return _left(last, self._what)

    def _write(self, mark: JournalMark, runtime: str) -> None:
        if self._journal is not None:
            self._journal.write(mark, self._what, f"{self._module} {runtime}")


@dataclass(frozen=True, slots=True)
class InterruptedCampaign:
    """An edit over a fleet whose program ended: what of which module, and the runtimes that it was at then."""

    verb: str
    module: str
    runtimes: tuple[str, ...]


def interrupted_campaigns(context: str) -> tuple[InterruptedCampaign, ...]:
    """The edits over the runtimes of a control plane that were cut off with their program on this machine."""
    from kymatui.engine.jobs.identity import is_dead
    from kymatui.engine.jobs.journal import JournalEntry, JournalMark, read_journal

    path, last, found = _path(context), dict[str, JournalEntry](), defaultdict[tuple[str, str], list[str]](list)
    try:
        for entry in read_journal(path) if path.exists() else ():
            last[entry.on] = entry
    except ConfigurationError:
        return ()
    for entry in last.values():
        if entry.mark is JournalMark.BEGUN and is_dead(entry.run):
            module, _, runtime = entry.on.partition(" ")
            found[entry.what.partition(" ")[0], module].append(runtime)
    return tuple(InterruptedCampaign(verb, module, tuple(names)) for (verb, module), names in found.items())


def _left(last: Mapping[str, tuple[str, JournalMark]], what: str) -> frozenset[str]:
    from kymatui.engine.jobs.journal import JournalMark

    return frozenset(runtime for runtime, (done, mark) in last.items() if done == what and mark is not JournalMark.DONE)


def _path(context: str) -> Path:
    from kymatui.adapters.sessions.cluster.cluster_access import journal_path

    return journal_path(context, "_", "_").parents[1] / "fleet.jsonl"
