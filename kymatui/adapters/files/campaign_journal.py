"""Journal of a campaign: the runtimes on which an edit started and finished, on disk for a restart.

The clusters show which Kymas are edited, but not whether the module became ready. Without the journal, a canary that
was edited and never became ready would count as done in the next run.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from kymatui.adapters.files.journal_path import journal_path
from kymatui.engine.jobs.identity import is_dead, own_identity
from kymatui.engine.jobs.journal import Journal, JournalEntry, JournalMark, read_journal
from kymatui.errors import ConfigurationError

if TYPE_CHECKING:
    from kymatui.domain.kyma_edit.module_edit import ModuleEdit


class CampaignJournal:
    """Journal entries of one edit over the runtimes of a control plane; threads may share it."""

    def __init__(self, context: str, toggle: ModuleEdit) -> None:
        self._path = _path(context)
        self._what = " ".join((toggle.verb.value, toggle.channel or "", str(toggle.policy or "")))
        self._module = toggle.module
        self._journal: Journal | None = None

    def open(self) -> None:
        """Open the file. Raise ConfigurationError if it is not writable: then the campaign does not start."""
        self._journal = Journal(self._path, own_identity(), time.time)

    def begun(self, runtime: str) -> None:
        self._write(JournalMark.BEGUN, runtime)

    def done(self, runtime: str) -> None:
        self._write(JournalMark.DONE, runtime)

    def failed(self, runtime: str) -> None:
        self._write(JournalMark.FAILED, runtime)

    def close(self) -> None:
        if self._journal is not None:
            self._journal.close()
            self._journal = None

    def unfinished(self) -> frozenset[str]:
        """Return the runtimes whose last edit of the module is this one and has not finished."""
        last: dict[str, tuple[str, JournalMark]] = {}
        try:
            for entry in read_journal(self._path) if self._path.exists() else ():
                module, _, runtime = entry.on.partition(" ")
                if module == self._module:
                    last[runtime] = (entry.what, entry.mark)
        except ConfigurationError:  # an unreadable journal says nothing; the clusters still do
            return frozenset()
        return _left(last, self._what)

    def _write(self, mark: JournalMark, runtime: str) -> None:
        if self._journal is not None:
            self._journal.write(mark, self._what, f"{self._module} {runtime}")


class InterruptedCampaign(Struct, frozen=True):
    """An edit of a fleet whose process ended: verb, module and the unfinished runtimes."""

    verb: str
    module: str
    runtimes: tuple[str, ...]


def interrupted_campaigns(context: str) -> tuple[InterruptedCampaign, ...]:
    """Return the campaigns on a control plane whose process on this machine died before the end."""
    path, last, found = _path(context), dict[str, JournalEntry](), defaultdict[tuple[str, str], list[str]](list)
    try:
        for entry in read_journal(path) if path.exists() else ():
            last[entry.on] = entry
    except ConfigurationError:  # offering to resume is a convenience, and no reason to fail a start
        return ()
    for entry in last.values():
        if entry.mark is JournalMark.BEGUN and is_dead(entry.run):
            module, _, runtime = entry.on.partition(" ")
            found[entry.what.partition(" ")[0], module].append(runtime)
    return tuple(InterruptedCampaign(verb, module, tuple(names)) for (verb, module), names in found.items())


def _left(last: Mapping[str, tuple[str, JournalMark]], what: str) -> frozenset[str]:
    return frozenset(runtime for runtime, (done, mark) in last.items() if done == what and mark is not JournalMark.DONE)


def _path(context: str) -> Path:
    return journal_path(context, "_", "_").parents[1] / "fleet.jsonl"
