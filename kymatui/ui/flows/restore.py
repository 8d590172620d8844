"""Restore from a backup on the screen: the choice of a backup, the plan, the job."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kymatui.actions.jobs import JobReport, JobSpec
from kymatui.actions.restore import RestoreStep, needs_module, plan_restore, restore, was_installed_here
from kymatui.adapters.files.backups import (
    BackupInfo,
    backups_folder,
    list_backups,
    read_backup,
    read_heading,
)
from kymatui.domain.kyma.problems import Actor
from kymatui.domain.plans.jobs import module_key
from kymatui.domain.plans.plan_preview import PreviewVerdict
from kymatui.engine.cluster.cluster_identity import cluster_identity
from kymatui.errors import ConfigurationError, PartlyDoneError
from kymatui.ui.dialogs.choice_dialog import ChoiceScreen
from kymatui.ui.dialogs.plan_dialog import PlanScreen
from kymatui.ui.flows.deletion_reader import delete_action
from kymatui.ui.presenters.plans.restore_preview import backup_question, preview_restore, restore_title

if TYPE_CHECKING:
    from kymatui.engine.cluster.ports import Cluster
    from kymatui.ui.flows.flow_app import FlowApp

Object = dict[str, Any]
_STEP = "create missing objects"
_STAYS = "created objects stay; restore again to create the rest"
_PATIENCE = 300.0  # seconds for CRDs, namespaces and objects that are still being deleted


def why_not_restorable(app: FlowApp, names: Sequence[str]) -> str:
    """Return why no module can be restored; "" where this machine has a backup of one."""
    del app
    kept = {one.module for one in list_backups()}
    return "" if kept.intersection(names) else "no backup on this machine"


async def run_restore_command(app: FlowApp, words: Sequence[str]) -> None:
    """Run `restore [NAME|FILE]`: offer the backups of all modules or of one, or restore a file."""
    word = words[0] if words else ""
    path = Path(word).expanduser()
    if word and (path.suffix or len(path.parts) > 1):
        await _restore(app, await app.jobs.in_thread(lambda: read_heading(path)))
    else:
        await choose_backup(app, word)


async def choose_backup(app: FlowApp, module: str = "") -> None:
    """Run the flow from the choice of a backup to the job."""
    cluster = delete_action(app).cluster
    found = [one for one in await app.jobs.in_thread(list_backups) if module in ("", one.module)]
    if not found:
        of_it = f" of {module}" if module else ""
        hint = "ctrl-d deletes a module step by step and saves a backup"
        raise ConfigurationError(f"no backup{of_it} in {backups_folder()}", hint=hint)
    identity = await app.jobs.in_thread(lambda: cluster_identity(cluster))
    asked = backup_question(found, cluster.name, identity)
    while True:
        chosen = await app.push_screen_wait(ChoiceScreen("Restore from a backup", [asked]))
        if chosen is None:
            return
        backup = next(one for one in found if str(one.path) == chosen["backup"])
        if await _restore(app, backup) is not PreviewVerdict.EDITED:
            return


async def _restore(app: FlowApp, backup: BackupInfo) -> PreviewVerdict:
    jobs, cluster = app.jobs, delete_action(app).cluster
    objects = await jobs.in_thread(lambda: read_backup(backup.path))
    stranger = backup.not_of(cluster.name, await jobs.in_thread(lambda: cluster_identity(cluster)))
    seen = await jobs.in_thread(lambda: plan_restore(objects, cluster))
    management = str(app.view.management) if app.view.management is not None else ""
    enables = needs_module(app.catalog, backup.module, by_klm=backup.by_klm)
    shown = preview_restore(backup, seen, cluster.name, stranger, management, enables=enables)
    answer = await app.push_screen_wait(PlanScreen(shown))
    if answer.is_yes:
        keeps = frozenset({module_key(backup.module)}) if backup.module else frozenset()
        run = partial(_carry_out, objects, backup.module, cluster, seen)
        jobs.start(
            JobSpec(restore_title(backup), run, backup.module, keeps, (_STEP,), _STAYS), partial(_again, app, backup)
        )
    return answer.verdict


async def _again(app: FlowApp, backup: BackupInfo) -> None:
    """Plan the restore again; objects that exist by now are left unchanged."""
    await _restore(app, backup)


def _carry_out(
    objects: Sequence[Object], module: str, cluster: Cluster, plan: Sequence[RestoreStep], report: JobReport
) -> str:
    report.step(_STEP)
    done = 0

    def report_line(words: str) -> None:
        nonlocal done
        done += 1
        report.log(words, done=done, total=len(objects))

    def wait(words: str) -> None:
        report.wait(words, Actor.YOU)

    ended = restore(objects, cluster, plan, report=report_line, wait=wait, cancel=report.cancel, timeout=_PATIENCE)
    words = ended.summary
    if ended.made and module and was_installed_here(objects):
        words = f"{words}; run `:adopt {module}` so that kymatui manages it again"
    if ended.failed:
        said = "; ".join(f"{ref}: {reason}" for ref, reason in ended.failed[:5])
        hint = "install the module (or its CRDs and namespaces) first, then restore again"
        raise PartlyDoneError(f"{words}: {said}", hint=hint)
    return words
