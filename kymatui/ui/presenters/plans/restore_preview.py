"""List of deletions with backups, and the preview of a restore."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence

from kymatui.actions.restore import RestorationPlan
from kymatui.actions.restored_objects import RestoreStep, RestoreVerdict
from kymatui.domain.kubernetes.terminal_text import format_count
from kymatui.domain.plans.backups import BackupInfo, DeletionBackups
from kymatui.domain.plans.plan_preview import Consent, PlannedChange, Preview, PreviewLine
from kymatui.ui.presenters.plans.install_preview import changed_fields
from kymatui.ui.viewmodels.display_text import ChoiceOption, Question, shorten_path

_MARKS = {
    RestoreVerdict.CREATE: PlannedChange.CREATE,
    RestoreVerdict.THERE: PlannedChange.SAME,
    RestoreVerdict.BLOCKED: PlannedChange.CONFLICT,
}


def restore_title(backup: BackupInfo) -> str:
    """Return a title such as `restore keda 1.5.0`."""
    return f"restore {backup.module or backup.path.name} {backup.version}".strip()


def deletion_question(deletions: Sequence[DeletionBackups], name: str, identity: str) -> Question:
    """Return the deletions as a question; those of another cluster than `name` name theirs."""
    width = max(len(_module(deletion[0])) for deletion in deletions)
    return Question("backup", "backup", tuple(_option(deletion, width, name, identity) for deletion in deletions))


def _option(deletion: DeletionBackups, width: int, name: str, identity: str) -> ChoiceOption:
    newest = deletion[0]
    label = f"{_module(newest):{width}}  {_moment(newest)}"
    several = f"{len(deletion)} backups of one deletion"
    count = format_count(newest.count, "object") if len(deletion) == 1 else several
    whose = f", of {newest.cluster}" if newest.cluster else ""
    other = ", ANOTHER CLUSTER" if newest.not_of(name, identity) else ""
    return ChoiceOption(str(newest.path), label, f"{count}{whose}{other}")


def _module(backup: BackupInfo) -> str:
    return f"{backup.module or backup.path.name} {backup.version}".strip()


def _moment(backup: BackupInfo) -> str:
    return time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(backup.made_at))


def preview_restore(plan: RestorationPlan, name: str, management: str) -> Preview:
    """Return the preview of a restore into the cluster `name`."""
    return Preview(
        f"{restore_title(plan.newest)}, deleted {_moment(plan.newest)}",
        lines=tuple(map(_line, plan.steps)),
        management=management,
        refusals=tuple(_refusals(plan)),
        warnings=tuple(_warnings(plan)),
        consents=(Consent("stranger", f"restore the backup of another cluster to {name}"),) if plan.stranger else (),
        question=f"Restore missing objects in {name}?",
        editable=True,
    )


def _line(step: RestoreStep) -> PreviewLine:
    fields = changed_fields(step.changes)
    if step.fate is RestoreVerdict.THERE:  # the backup's content is displayed and not written
        fields = (f"  {line[2:]}{'   (in the backup)' if line.startswith('+ ') else ''}" for line in fields)
    return PreviewLine(_MARKS[step.fate], str(step.ref), step.reason, tuple(fields))


def _refusals(plan: RestorationPlan) -> Iterator[str]:
    if not plan.steps:
        yield "the backup has no objects"
    elif plan.is_done:
        yield "no changes: all objects already exist"
    elif plan.refusal:
        yield plan.refusal


def _warnings(plan: RestorationPlan) -> Iterator[str]:
    if plan.stranger:
        yield plan.stranger
    if plan.enables:
        yield f"{plan.module} was enabled in the Kyma: enable it first, then restore the objects of its users"
    blocked = sum(step.fate is RestoreVerdict.BLOCKED for step in plan.steps)
    if blocked:
        yield (
            f"{format_count(blocked, 'object')} cannot be created now: kymatui waits, and reports what is not created"
        )
    paths = ", ".join(shorten_path(backup.path) for backup in plan.backups)
    yield f"existing objects stay unchanged; {'backup' if len(plan.backups) == 1 else 'backups'}: {paths}"
