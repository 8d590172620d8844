"""Restore from backups on the screen: the choice of a deletion, the plan, the job."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from functools import partial

from kymatui.actions.jobs import JobReport, JobSpec
from kymatui.actions.restore import (
    Restoration,
    RestorationItem,
    RestorationPlan,
    find_deletion,
    is_backup_file,
    list_deletions,
    plan_restoration,
    read_recorded,
    restoration_item,
    restore_options,
)
from kymatui.actions.restored_objects import RestoreStep, RestoreVerdict
from kymatui.adapters.files import backups
from kymatui.domain.kubernetes.terminal_text import format_count
from kymatui.domain.kyma.problems import Actor
from kymatui.domain.plans.backups import BackupInfo, DeletionBackups
from kymatui.domain.plans.jobs import JobPurpose, module_key
from kymatui.domain.plans.plan_preview import Consent, PlannedChange, Preview, PreviewLine, PreviewVerdict
from kymatui.engine.cluster.ports import Cluster, cluster_identity
from kymatui.errors import ConfigurationError
from kymatui.ui.dialogs.choice_dialog import ChoiceScreen
from kymatui.ui.dialogs.plan_dialog import PlanScreen
from kymatui.ui.flows.batch_job import run_batch_job
from kymatui.ui.flows.deletion_reader import delete_action
from kymatui.ui.flows.flow_app import FlowApp
from kymatui.ui.presenters.plans.install_preview import changed_fields
from kymatui.ui.viewmodels.display_text import ChoiceOption, Question, shorten_path

_STEP = "create missing objects"
_STAYS = "created objects stay; restore again to create the rest"
_WAIT_SECONDS = 300.0  # for CRDs, namespaces and objects that are still being deleted


def why_not_restorable(app: FlowApp, names: Sequence[str]) -> str:
    """Return why no module can be restored; "" where this machine has a backup of one."""
    del app
    saved = {backup.module for backup in backups.list_backups()}
    return "" if saved.intersection(names) else "no backup on this machine"


async def run_restore_command(app: FlowApp, words: Sequence[str]) -> None:
    """Run `restore [NAME|FILE]`: offer the deletions of all modules or of one, or restore a file."""
    word = words[0] if words else ""
    if word and is_backup_file(word):
        cluster = delete_action(app).cluster
        await _restore(app, await app.jobs.in_thread(lambda: find_deletion(backups, word, cluster)))
    else:
        await choose_backup(app, word)


async def resume_restore(app: FlowApp, options: Mapping[str, str]) -> None:
    """Plan an interrupted restore again, with all its backups."""
    cluster = delete_action(app).cluster
    await _restore(app, await app.jobs.in_thread(lambda: read_recorded(backups, options, cluster)))


async def choose_backup(app: FlowApp, module: str = "") -> None:
    """Run the flow from the choice of a deletion to the job."""
    cluster = delete_action(app).cluster
    deletions = await app.jobs.in_thread(lambda: list_deletions(backups, cluster))
    deletions = [deletion for deletion in deletions if module in ("", deletion[0].module)]
    if not deletions:
        of_it = f" of {module}" if module else ""
        hint = "ctrl-d deletes a module step by step and saves a backup"
        raise ConfigurationError(f"no backup{of_it} in {backups.backups_folder()}", hint=hint)
    identity = await app.jobs.in_thread(lambda: cluster_identity(cluster))
    question = deletion_question(deletions, cluster.name, identity)
    while True:
        chosen = await app.push_screen_wait(ChoiceScreen("Restore from a backup", [question]))
        if chosen is None:
            return
        deletion = next(deletion for deletion in deletions if str(deletion[0].path) == chosen["backup"])
        if await _restore(app, deletion) is not PreviewVerdict.EDITED:
            return


async def _restore(app: FlowApp, deletion: DeletionBackups) -> PreviewVerdict:
    """Display the plan, and start the job once it is accepted; planned again, it leaves what exists by then."""
    cluster = delete_action(app).cluster
    plan = await app.jobs.in_thread(lambda: plan_restoration(backups, deletion, cluster, app.catalog))
    answer = await app.push_screen_wait(PlanScreen(preview_restore(plan, cluster.name, str(app.view.management or ""))))
    if answer.is_yes:
        keeps = frozenset({module_key(plan.module)}) if plan.module else frozenset()
        run = partial(_run_restoration, plan, cluster)
        purpose = JobPurpose("restore", (plan.module,) if plan.module else (), restore_options(plan.backups))
        job = JobSpec(restore_title(deletion[0]), run, plan.module, keeps, (_STEP,), _STAYS, purpose)
        app.jobs.start(job, partial(_restore, app, deletion))
    return answer.verdict


def _run_restoration(plan: RestorationPlan, cluster: Cluster, report: JobReport) -> str:
    done = 0

    def report_line(text: str) -> None:
        nonlocal done
        done += 1
        report.log(text, done=done, total=len(plan.objects))

    def wait(text: str) -> None:
        report.wait(text, Actor.YOU)

    verb = Restoration(backups, cluster, report_line, wait, _WAIT_SECONDS)
    return run_batch_job([restoration_item(plan)], verb, report, _result_line, lambda _: _STEP)


def _result_line(item: RestorationItem) -> str:
    plan, result = item.required_plan, item.result
    assert result is not None
    adopt = f"; run `:adopt {plan.module}` so that kymatui manages it again" if plan.awaits_adoption(result) else ""
    return f"{result.summary}{adopt}"


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
