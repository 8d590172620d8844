"""The pictures in `screenshots/`, which the README shows, are made here and must be what the screens look like.

KYMATUI_SCREENSHOTS=1 pytest tests/ui/test_screenshots.py     # draws them anew
"""

from __future__ import annotations

import asyncio
import os
import re
import sys
from pathlib import Path
from typing import Any, cast

import pytest
from msgspec.structs import replace
from textual.command import CommandList, CommandPalette
from textual.pilot import Pilot
from textual.widgets import Input

from kymatui.actions.edits.cluster_edits import ClusterKymaEdits
from kymatui.actions.modules.version_content import VersionReader
from kymatui.domain.plans.backups import BackupInfo, group_by_deletion
from kymatui.settings.config_file import Settings
from kymatui.ui.application.kymatui_app import KymatuiApp
from kymatui.ui.dialogs.action_menu import MenuScreen
from kymatui.ui.dialogs.choice_dialog import ChoiceScreen
from kymatui.ui.dialogs.plan_dialog import PlanScreen
from kymatui.ui.flows.restore import deletion_question
from kymatui.ui.screens.jobs_screen import JobsScreen
from tests.documents import DOCUMENTS
from tests.domain import builders as b
from tests.ui.conftest import DRAWN_ON
from tests.ui.driving import Walk, picture, table, until
from tests.ui.fleets import StillRuntime, contexts_app, fleet_app, two_sides
from tests.ui.previews import PREVIEW
from tests.ui.test_components import to_picture
from tests.ui.test_fleet_snapshots import pressing as fleet_pressing
from tests.ui.test_fleet_snapshots import put_catalog, source
from tests.ui.test_flow_snapshots import StillScreen, form, showing
from tests.ui.test_jobs import Deletion
from tests.ui.test_snapshots import pressing
from tests.ui.test_versions import changes, linked_templates, manifests
from tests.ui.worlds import StillSession, app_on, uninstall, world

FOLDER = Path(__file__).resolve().parents[2] / "screenshots"

PICTURES: dict[str, tuple[str, ...]] = {
    "catalog": ("j",),
    "module": ("j", "enter"),
    "checks": ("j", "j", "x"),
    "resources": tuple("jjjjjtjjjjjjj"),
    "yaml": ("j", "y", "slash", *"warning", "enter"),
    "columns": ("C",),
    "channels": ("M",),
    "problems": ("P",),
    "help": ("question_mark",),
}


async def _changed(pilot: Pilot[Any]) -> None:
    """A module that turns bad, and one that recovers, while the list of changes is open."""
    await pressing("H")(pilot)
    session = cast("KymatuiApp", pilot.app).view.session
    assert isinstance(session, StillSession)
    states = {"api-gateway": "Error", "istio": "Ready"}
    resources = {b.gvk(name): (b.resource(name, state),) for name, state in states.items()}
    workloads = [one for one in world().workloads if one["metadata"]["name"] != "istio-manager"]
    session.show(
        module_resources={**world().module_resources, **resources},
        workloads=(*workloads, b.deployment("istio", "1.20.3", uid="d1")),
    )
    list_of_changes = table(cast("KymatuiApp", pilot.app))
    await until(pilot, lambda: "state" in {row.cells["what"].text for row in list_of_changes.rows})
    await pilot.pause()


async def _versions(pilot: Pilot[Any]) -> None:
    """An upgrade that lets a module read Secrets."""
    await pressing()(pilot)
    app, found = cast("KymatuiApp", pilot.app), manifests()
    found.answers.set()
    app.view.versions = VersionReader(found)
    session = app.view.session
    assert isinstance(session, StillSession)
    session.show(templates=linked_templates())
    await pilot.press("j", "v")
    await until(pilot, lambda: "reads Secrets" in changes(app))


async def _palette(pilot: Pilot[Any]) -> None:
    await pressing("ctrl+p")(pilot)
    await until(pilot, lambda: isinstance(pilot.app.screen, CommandPalette))
    pilot.app.screen.query_one(Input).cursor_blink = False
    await pilot.press(*"che")
    await until(pilot, lambda: pilot.app.screen.query_one(CommandList).option_count > 0)


async def _plan(pilot: Pilot[Any]) -> None:
    """What two marked modules leave behind when they are disabled."""
    await pressing("space", "space", "colon", *"disable", "enter")(pilot)
    await until(pilot, lambda: isinstance(pilot.app.screen, PlanScreen))
    await pilot.press("n", "n")
    await pilot.pause()


async def _menu(pilot: Pilot[Any]) -> None:
    await pressing("j", "a")(pilot)
    await until(pilot, lambda: isinstance(pilot.app.screen, MenuScreen) and pilot.app.screen.is_complete)
    await pilot.pause()


HELD: list[Deletion] = []
"""Jobs that wait until their picture is drawn."""


async def _jobs(pilot: Pilot[Any]) -> None:
    """One that waits, one behind it, and one that is done."""
    await pressing()(pilot)
    app = cast("KymatuiApp", pilot.app)
    waiting, done = Deletion(), Deletion()
    done.go_on.set()
    app.jobs.start(replace(done.work("delete nats 1.1.0"), keeps=frozenset()))
    await until(pilot, lambda: bool(app.jobs.all) and not app.jobs.active)
    app.jobs.start(waiting.work())
    app.jobs.start(waiting.work("upgrade keda 1.6.0 → 1.8.2"))
    await until(pilot, lambda: len(app.jobs.all) == 3 and bool(app.jobs.all[1].waits_for))
    app.clear_notifications()
    await pilot.press("J", "j")
    await until(pilot, lambda: isinstance(app.screen, JobsScreen) and len(table(app).rows) == 3)
    await pilot.pause()
    HELD.append(waiting)


BACKUPS = [
    BackupInfo(Path(f"{module}.yaml"), module, version, cluster, "", b.NOW - hours * 3600, count)
    for module, version, cluster, hours, count in (
        ("keda", "1.6.0", "prod-eu", 2, 14),
        ("docker-registry", "0.11.0", "prod-eu", 71, 27),
        ("keda", "1.5.0", "dev-eu", 300, 9),
    )
]

DELETIONS = group_by_deletion(BACKUPS, "prod-eu", "")

SCENES: dict[str, Walk] = {
    **{name: pressing(*keys) for name, keys in PICTURES.items()},
    "changes": _changed,
    "versions": _versions,
    "component": to_picture,
    "palette": _palette,
    "plan": _plan,
    "menu": _menu,
    "jobs": _jobs,
    "deletion": showing(lambda: StillScreen("keda")),
    "form": showing(form),
    "upgrade": showing(lambda: PlanScreen(replace(PREVIEW, missing=())), "n"),
    "restore": showing(lambda: ChoiceScreen("Restore from a backup", [deletion_question(DELETIONS, "prod-eu", "")])),
    "audit": pressing("j"),
}

# of a fleet, with keys
FLEET_PICTURES = {
    "fleet": ("j",),
    "fleet-matrix": ("v", "j", "right"),
    "fleet-waits": ("w", "j"),
    "compare": ("j", "equals_sign", "j"),
    "whatif": ("colon", *"whatif catalog", "enter", *"jjj"),
}


# of many contexts, with keys
CONTEXT_PICTURES = {"contexts": ("j",), "contexts-matrix": ("v", "V")}


def _keep(name: str, drawn: str) -> None:
    path = FOLDER / f"{name}.svg"
    if os.environ.get("KYMATUI_SCREENSHOTS"):
        path.write_text(drawn)
    same = path.read_text() == drawn  # the difference of two pictures tells nobody anything, and takes seconds
    assert same, f"draw it anew: KYMATUI_SCREENSHOTS=1 pytest {Path(__file__).name}"


@pytest.mark.skipif(sys.version_info[:2] != DRAWN_ON, reason="pictures are drawn on one version of Python only")
@pytest.mark.parametrize("name", list(FLEET_PICTURES))
def test_the_picture_of_a_fleet_is_what_the_screen_looks_like(
    name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    put_catalog(tmp_path, monkeypatch)
    monkeypatch.setattr(StillRuntime, "pair", lambda _: two_sides(), raising=False)
    _keep(name, asyncio.run(picture(fleet_app(source()), (120, 24), fleet_pressing(*FLEET_PICTURES[name]))))


@pytest.mark.skipif(sys.version_info[:2] != DRAWN_ON, reason="pictures are drawn on one version of Python only")
@pytest.mark.parametrize("name", list(CONTEXT_PICTURES))
def test_the_picture_of_contexts_is_what_the_screen_looks_like(name: str) -> None:
    _keep(name, asyncio.run(picture(contexts_app(), (120, 24), fleet_pressing(*CONTEXT_PICTURES[name]))))


@pytest.mark.skipif(sys.version_info[:2] != DRAWN_ON, reason="pictures are drawn on one version of Python only")
@pytest.mark.parametrize("name", list(SCENES))
def test_the_picture_is_what_the_screen_looks_like(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ClusterKymaEdits, "may_write", lambda self, proposal: True)
    monkeypatch.setattr(ClusterKymaEdits, "uninstalls", lambda self, modules, *_: tuple(map(uninstall, modules)))
    managed = "btp-operator is managed by lifecycle-manager, which would revert this change"
    monkeypatch.setattr("kymatui.ui.flows.module_actions.why_not_installable", lambda app, names, upgrade: managed)
    monkeypatch.setattr("kymatui.adapters.files.backups.list_backups", list)
    try:
        drawn = asyncio.run(picture(_app(name), (120, 32), SCENES[name]))
    finally:
        while HELD:
            HELD.pop().go_on.set()
    _keep(name, drawn)


def _app(name: str) -> KymatuiApp:
    if name != "audit":
        return app_on(StillSession(world()))
    return KymatuiApp(lambda: StillSession(world()), settings=Settings(), clock=lambda: b.NOW, audit=True)


def test_the_documents_show_every_picture() -> None:
    shown = {name for text in DOCUMENTS.values() for name in re.findall(r"screenshots/([a-z-]+)\.svg", text)}
    assert shown == {*SCENES, *FLEET_PICTURES, *CONTEXT_PICTURES}
