"""Commands of the user's own: where they run, what they are told, and what they cannot do."""

from __future__ import annotations

import contextlib
import time
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from kymatui.adapters.files.plugin_process import PluginProcess
from kymatui.domain.kubernetes.refs import GroupVersionKind, ObjectRef
from kymatui.settings.config_file import Settings
from kymatui.ui.application.fleet_app import FleetApp
from kymatui.ui.application.kymatui_app import KymatuiApp
from kymatui.ui.application.plugins import Plugins
from kymatui.ui.base.screen_keys import key_help
from kymatui.ui.dialogs.choice_dialog import ConfirmScreen
from kymatui.ui.dialogs.output_dialog import OutputScreen
from kymatui.ui.navigation.history import ScreenStep, object_step
from kymatui.ui.widgets.document import Document
from tests.domain import builders as b
from tests.engine.places import eventually
from tests.ui.driving import SIZE, ready, table, until
from tests.ui.fleets import StillFleet, contexts_app
from tests.ui.test_toggling import leave_terminal
from tests.ui.worlds import StillSession, app_on, world

MANAGER = ObjectRef(GroupVersionKind("apps", "v1", "Deployment"), "kyma-system", "istio-manager")


def plugins(command: str, **fields: Any) -> dict[str, Any]:
    return {"tell": {"command": command, "key": "ctrl+k", "output": "pane", "help": "tell what it is told", **fields}}


def why_off(app: KymatuiApp) -> str:
    assert app.plugins is not None
    return str(app.plugins.why_off("tell"))


async def output(pilot: Pilot[Any]) -> tuple[str, str]:
    """Return what the dialog displays once the plugin has ended, and its last word about it; close it."""
    await until(pilot, lambda: isinstance(pilot.app.screen, OutputScreen))
    screen = pilot.app.screen
    await until(pilot, lambda: "running" not in str(screen.query_one("#output").border_subtitle))
    found = screen.query_one(Document).text.strip(), str(screen.query_one("#output").border_subtitle)
    await pilot.press("escape")
    await until(pilot, lambda: pilot.app.screen is not screen)
    return found


@pytest.mark.parametrize(
    ("step", "told"),
    [
        (ScreenStep("module", "istio"), "istio kyma-system prod-eu /somewhere/config - - -"),
        (object_step(MANAGER), "- kyma-system prod-eu /somewhere/config - Deployment istio-manager"),
    ],
)
async def test_a_plugin_is_told_what_the_screen_is_about(
    monkeypatch: pytest.MonkeyPatch, step: ScreenStep, told: str
) -> None:
    monkeypatch.setenv("KUBECONFIG", "/somewhere/config")
    monkeypatch.setenv("RUNTIME", "of another program")
    names = ("MODULE", "NAMESPACE", "CONTEXT", "KUBECONFIG", "RUNTIME", "KIND", "NAME")
    script = f'for name in {" ".join(names)}; do printf "%s " "$(printenv $name || echo -)"; done; exit 3'
    app = app_on(StillSession(world()), plugins=plugins(script))
    async with app.run_test(size=SIZE) as pilot:
        await ready(pilot)
        app.ways.open(step)
        await pilot.pause()
        await pilot.press("ctrl+k")
        assert await output(pilot) == (told, "exit status 3 · c copy · esc close")


async def test_what_the_line_does_not_have_and_another_screen_are_reasons() -> None:
    app = app_on(StillSession(world()), plugins=plugins("echo $KIND ${RUNTIME}", scope=["module", "tree"]))
    async with app.run_test(size=SIZE) as pilot:
        await ready(pilot)
        await pilot.press("ctrl+k")
        app.ways.open(ScreenStep("module", "istio"))
        await pilot.pause()
        await pilot.press("ctrl+k")
        assert app.problems == [
            "tell is disabled: only on: module, tree",
            "tell is disabled: $KIND, $RUNTIME unknown here",
        ]
        keys = {key.id: key for key in key_help(app.screen, "Module", app.screen.why_off)}  # type: ignore[attr-defined]
        listed = keys["plugin.tell"]
        assert (listed.keys, listed.label, listed.group) == ("ctrl-k", "tell what it is told", "Your plugins")
        assert listed.off == "$KIND, $RUNTIME unknown here"


async def test_a_hostile_name_is_not_run(tmp_path: Path) -> None:
    name = f"x; touch {tmp_path}/ran; $(touch {tmp_path}/ran)"
    session = StillSession(world())
    session.target = type(session.target)(name)
    app = app_on(session, plugins=plugins('echo $CONTEXT; echo "$CONTEXT"'))
    async with app.run_test(size=SIZE) as pilot:
        await ready(pilot)
        app.shown.command_line.run("tell")  # type: ignore[union-attr]
        assert (await output(pilot))[0].splitlines() == [name, name]
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize(
    ("audit", "reads_only", "why"),
    [(True, True, "an audit only reads"), (False, False, "kymatui runs read-only"), (False, True, "")],
)
async def test_a_plugin_that_may_write_does_not_run_read_only(audit: bool, reads_only: bool, why: str) -> None:
    session = StillSession(world())
    session.read_only = True
    settings = Settings(plugins=plugins("echo read", reads_only=reads_only))
    app = KymatuiApp(lambda: session, clock=lambda: b.NOW, audit=audit, read_only=not audit, settings=settings)
    async with app.run_test(size=SIZE) as pilot:
        await ready(pilot)
        assert why_off(app) == why


async def test_it_asks_first_and_gets_the_terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    command = f'echo "$MODULE" >> {tmp_path}/ran; exit 7'
    app = app_on(StillSession(world()), plugins=plugins(command, output="terminal", confirm=True))
    async with app.run_test(size=SIZE) as pilot:
        await ready(pilot)
        for key in ("n", "y"):
            await pilot.press("ctrl+k")
            await until(pilot, lambda: isinstance(app.screen, ConfirmScreen))
            await pilot.press(key)
            await until(pilot, lambda: not app.jobs.busy)
        assert app.problems == ['this terminal cannot run another program. set output = "pane"']
        leave_terminal(monkeypatch)
        await pilot.press("ctrl+k")
        await until(pilot, lambda: isinstance(app.screen, ConfirmScreen))
        await pilot.press("y")
        await until(pilot, lambda: len(app.problems) == 2)
        assert app.problems[1] == "tell ended with status 7"
        assert (tmp_path / "ran").read_text() == f"{table(app).cursor_key}\n"


async def test_keys_and_names_of_kymatui_come_first_and_are_reported() -> None:
    both = {**plugins("true"), "modules": {"command": "true"}, "k": {"command": "true", "key": "a"}}
    app = app_on(StillSession(world()), plugins=both, keys={"app.jobs": "ctrl+k"})
    async with app.run_test(size=SIZE) as pilot:
        await ready(pilot)
        assert app.problems == [
            "plugins.tell: ctrl-k is the key of app.jobs; choose another one",
            "plugins.modules: `:modules` is a command of kymatui; rename the plugin",
            "plugins.k: a is the key of module.act; choose another one",
        ]


async def test_a_runtime_of_a_control_plane_has_a_name_and_no_context() -> None:
    fleet = StillFleet()
    app = FleetApp(lambda: fleet, clock=lambda: b.NOW, settings=Settings(plugins=plugins('echo "$RUNTIME"')))
    async with app.run_test(size=SIZE) as pilot:
        await ready(pilot)
        key = table(app).cursor_key
        await pilot.press("ctrl+k")
        assert (await output(pilot))[0] == key
        assert app.shown is not None
        app.settings = Settings(plugins=plugins('kubectl --context "$CONTEXT" get pods'))
        app.plugins = Plugins(app)
        assert why_off(app) == ""
        await pilot.press("enter")
        await until(pilot, lambda: app.runtime_key is not None and app.catalog is not None)
        assert why_off(app) == "$CONTEXT unknown here"


async def test_a_context_that_is_read_only_gets_no_plugin_that_may_write() -> None:
    """On the list of several contexts, the one under the cursor decides."""
    app = contexts_app()
    async with app.run_test(size=SIZE) as pilot:
        await ready(pilot)
        answers = {}
        for reads_only in (False, True):
            app.settings = Settings(plugins=plugins("echo $CONTEXT", reads_only=reads_only))
            app.plugins = Plugins(app)
            for name in ("prod-eu", "prod-us"):
                table(app).move_to(f"/{name}")
                await pilot.pause()
                answers[name, reads_only] = why_off(app)
        assert answers == {
            ("prod-eu", False): "this context is read-only",
            ("prod-eu", True): "",
            ("prod-us", False): "",
            ("prod-us", True): "",
        }


def test_the_output_is_bounded_and_closing_ends_all_that_it_has_started(tmp_path: Path) -> None:
    process = PluginProcess("head -c 3000000 /dev/zero | tr '\\0' x", {"PATH": "/usr/bin:/bin"})
    eventually(lambda: process.status is not None, "it has ended")
    assert len(process.text) < 1_100_000
    assert process.text.endswith("(the output is cut after 1 MiB)")
    endless = f"(while true; do echo >> {tmp_path}/beat; sleep 0.05; done) & wait"
    process = PluginProcess(endless, {"PATH": "/usr/bin:/bin"})
    eventually((tmp_path / "beat").exists, "it runs")
    process.close()
    eventually(lambda: process.status is not None, "it has ended")
    size = (tmp_path / "beat").stat().st_size
    time.sleep(0.3)
    with contextlib.suppress(FileNotFoundError):
        assert (tmp_path / "beat").stat().st_size <= size + 1
