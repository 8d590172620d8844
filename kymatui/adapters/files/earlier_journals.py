"""Journals of earlier versions, which wrote three kinds: jobs of a front end, runs of modules, edits of a fleet.

They are read, so that what an update of kymatui finds interrupted can be continued, and never written.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby
from pathlib import Path
from typing import Final

from msgspec.structs import replace

from kymatui.adapters.files.journal_path import folder_name, journals_folder
from kymatui.domain.plans.jobs import RUNTIMES, JobState
from kymatui.engine.jobs.job_records import RUNTIME_STEP, JobRecord
from kymatui.engine.jobs.journal import JobHeading, JournalEntry, JournalMark, read_journal
from kymatui.errors import ConfigurationError
from kymatui.json_input import read_json

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
    last: dict[str, JournalEntry] = {}
    for entry in _entries(folder / _JOBS):
        last[entry.on] = entry
    for entry in last.values():
        title, given = _read_purpose(entry.message)
        chosen = {_NAMES.get(name, name): value for name, value in given.items() if value and value != _UNSET}
        options = {name: _VALUES.get(value, value) for name, value in chosen.items()}
        heading = JobHeading(entry.what, tuple(entry.on.split(",")), options, title, cluster)
        yield _record(heading, entry, is_open=entry.mark is JournalMark.BEGUN)


def _read_purpose(text: str) -> tuple[str, Mapping[str, str]]:
    try:
        found = read_json(text)
    except ValueError:  # no JSON, so the text itself is the title
        return text, {}
    given = found.get("given") if isinstance(found, dict) else None
    title = str(found.get("title") or "") if isinstance(found, dict) else ""
    return title, {str(k): str(v) for k, v in given.items()} if isinstance(given, dict) else {}


def _run_record(cluster: str, path: Path) -> JobRecord | None:
    """Return the last run of a module."""
    entries = _entries(path)
    if not entries or any(entry.job is not None for entry in entries):
        return None
    own = [entry for entry in entries if entry.run == entries[-1].run]
    steps = {(entry.what, entry.on): entry for entry in own}
    whole = next((entry for key, entry in steps.items() if key[0] == _RUN), None)
    single = tuple(entry for key, entry in steps.items() if key[0] != _RUN)
    is_open = any(entry.mark is JournalMark.BEGUN for entry in steps.values())
    begun = {entry.what for entry in single}
    kind = whole.on.partition(" ")[0] if whole is not None else ""
    if not kind:
        kind = "delete" if begun & _OF_DELETION or begun == {"delete"} else "install"
    options = {"namespace": path.parent.name}
    heading = JobHeading(kind, (path.stem,), options, whole.on if whole is not None else "", cluster)
    return _record(heading, own[0], single, is_open=is_open)


def _campaign_records(cluster: str, folder: Path) -> Iterator[JobRecord]:
    """Yield one record for each edit of a fleet: with the runtimes on which it began, and on which it is done."""
    last: dict[str, JournalEntry] = {}
    for entry in _entries(folder / _FLEET):
        last[entry.on] = entry
    ordered = sorted(last.values(), key=lambda one: (one.on.partition(" ")[0], one.what, one.run))
    for (module, what, _), some in groupby(ordered, key=lambda one: (one.on.partition(" ")[0], one.what, one.run)):
        edits = list(some)
        verb, _, rest = what.partition(" ")
        channel, _, policy = rest.partition(" ")
        options = {key: value for key, value in (("channel", channel), ("policy", policy)) if value}
        runtimes = [entry.on.partition(" ")[2] for entry in edits]
        heading = JobHeading(verb, (module,), {**options, RUNTIMES: ",".join(runtimes)}, "", cluster)
        steps = [_runtime_step(entry) for entry in edits]
        is_open = any(entry.mark is JournalMark.BEGUN for entry in edits)
        yield _record(heading, min(edits, key=lambda one: one.time), steps, is_open=is_open)


def _runtime_step(entry: JournalEntry) -> JournalEntry:
    return JournalEntry(entry.time, entry.run, entry.mark, RUNTIME_STEP, entry.on.partition(" ")[2])
