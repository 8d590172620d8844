"""List of backups, and the preview of a restore."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence

from kymatui.actions.restore import RestoreStep, RestoreVerdict, restore_refusal
from kymatui.adapters.files.backups import BackupInfo
from kymatui.domain.kubernetes.terminal_text import format_count
from kymatui.domain.plans.plan_preview import Consent, PlannedChange, Preview, PreviewLine
from kymatui.ui.presenters.plans.install_preview import changed_fields
from kymatui.ui.viewmodels.display_text import shorten_path
from kymatui.ui.viewmodels.questions import ChoiceOption, Question

_MARKS = {
    RestoreVerdict.CREATE: PlannedChange.CREATE,
    RestoreVerdict.THERE: PlannedChange.SAME,
    RestoreVerdict.BLOCKED: PlannedChange.CONFLICT,
}


def restore_title(backup: BackupInfo) -> str:
    """Return a title such as `restore keda 1.5.0`."""
    return f"restore {backup.module or backup.path.name} {backup.version}".strip()


def backup_question(found: Sequence[BackupInfo], name: str, identity: str) -> Question:
    """Return the backups as a question: this cluster's first, newest first; others name their cluster."""
    ordered = sorted(found, key=lambda one: bool(one.not_of(name, identity)))
    width = max(len(_module(one)) for one in ordered)
    return Question("backup", "backup", tuple(_option(one, width, name, identity) for one in ordered))


def _option(one: BackupInfo, width: int, name: str, identity: str) -> ChoiceOption:
    label = f"{_module(one):{width}}  {_moment(one)}"
    count = format_count(one.count, "object")
    whose = f", of {one.cluster}" if one.cluster else ""
    other = ", ANOTHER CLUSTER" if one.not_of(name, identity) else ""
    return ChoiceOption(str(one.path), label, f"{count}{whose}{other}")


def _module(one: BackupInfo) -> str:
    return f"{one.module} {one.version}".strip()


def _moment(one: BackupInfo) -> str:
    return time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(one.made_at))


def preview_restore(
    backup: BackupInfo, seen: Sequence[RestoreStep], name: str, stranger: str, management: str, *, enables: bool
) -> Preview:
    """Return the preview; `stranger` says why the backup is of another cluster than `name`, else "".

    `enables` means that the Kyma has to enable the module first.
    """
    return Preview(
        f"{restore_title(backup)}, deleted {_moment(backup)}",
        lines=tuple(map(_line, seen)),
        management=management,
        refusals=tuple(_refusals(seen, backup, enables=enables)),
        warnings=tuple(_warnings(backup, seen, stranger, enables=enables)),
        consents=(Consent("stranger", f"restore the backup of another cluster to {name}"),) if stranger else (),
        question=f"Restore missing objects in {name}?",
        editable=True,
    )


def _line(one: RestoreStep) -> PreviewLine:
    fields = changed_fields(one.changes)
    if one.fate is RestoreVerdict.THERE:  # the backup's content is displayed and not written
        fields = (f"  {line[2:]}{'   (in the backup)' if line.startswith('+ ') else ''}" for line in fields)
    return PreviewLine(_MARKS[one.fate], str(one.ref), one.reason, tuple(fields))


def _refusals(seen: Sequence[RestoreStep], backup: BackupInfo, *, enables: bool) -> Iterator[str]:
    if not seen:
        yield "the backup has no objects"
    elif all(one.fate is RestoreVerdict.THERE for one in seen):
        yield "no changes: all objects already exist"
    elif (enables or not backup.by_klm) and (refusal := restore_refusal(seen)):
        yield refusal


def _warnings(backup: BackupInfo, seen: Sequence[RestoreStep], stranger: str, *, enables: bool) -> Iterator[str]:
    if stranger:
        yield stranger
    if enables:
        yield f"lifecycle-manager installed {backup.module}: enable it first, then restore the objects of its users"
    blocked = sum(one.fate is RestoreVerdict.BLOCKED for one in seen)
    if blocked:
        yield (
            f"{format_count(blocked, 'object')} cannot be created now: kymatui waits, and reports what is not created"
        )
    yield f"existing objects stay unchanged; backup: {shorten_path(backup.path)}"
