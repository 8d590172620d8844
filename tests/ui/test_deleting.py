"""The guided deletion on the screen, in the sample world: keys pressed, the screen read, the cluster looked at."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from kymatui.domain.jobs import JobState
from kymatui.domain.refs import GroupVersionKind
from kymatui.engine.departing import Turn, Way
from kymatui.engine.ports import Cluster
from kymatui.sandbox.process import start_sandbox
from kymatui.ui.app import KymatuiApp
from kymatui.ui.screens.departing import DepartingScreen
from kymatui.ui.screens.plan import PlanScreen
from kymatui.wiring import SessionOptions, open_session
from kymatui.wiring.engine import open_cluster
from tests.ui.driving import SIZE
from tests.ui.test_toggling import Person

pytestmark = pytest.mark.xdist_group("deleting-screens")  # one sandbox for all of them

FUNCTION = GroupVersionKind("serverless.kyma-project.io", "v1alpha2", "Function")


@pytest.fixture(scope="module")
def options() -> Iterator[SessionOptions]:
    with start_sandbox(clusters=("kcp",), settled=True) as running:
        yield SessionOptions(str(running.kubeconfig))


@pytest.fixture
def cluster(options: SessionOptions) -> Cluster:
    return open_cluster(options)


@pytest.fixture(autouse=True)
def _own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.chdir(tmp_path)


def drawn(app: KymatuiApp) -> str:
    """Everything that stands on the screen, with one space where there are several."""
    lines = app.screen._compositor.render_strips()
    return " ".join(" ".join(strip.text for strip in lines).split())


def stepper(person: Person) -> DepartingScreen:
    assert isinstance(person.app.screen, DepartingScreen)
    return person.app.screen


async def enter(person: Person, module: str, turn: Turn) -> DepartingScreen:
    """From the catalog to the stepper of a module, until that has looked."""
    await person.at(module)
    await person.press("ctrl+d")
    await person.sees(DepartingScreen)
    await person.until(lambda: stepper(person).turn is turn)
    return stepper(person)


async def test_what_is_left_is_shown_deleted_and_then_the_kyma_lets_the_module_go(
    options: SessionOptions, cluster: Cluster, tmp_path: Path
) -> None:
    app = KymatuiApp(lambda: open_session(options))
    async with app.run_test(size=SIZE) as pilot:
        person = Person(pilot)
        await enter(person, "serverless", Turn.CLEAR)
        shown = drawn(app)
        assert "3 managed resources still exist" in shown
        assert "Function" in shown
        assert "▶ 3 Delete them" in shown
        assert "may create it again" in shown
        await person.press("enter")
        await person.sees(PlanScreen)
        assert "delete 3 objects that the module's users made" in drawn(app)
        await person.press("enter")
        assert cluster.list(FUNCTION), "nothing goes before it is agreed to"
        await person.press("space", "tab", *"serverless")
        await person.accepts()
        await person.until(lambda: bool(app.desk.jobs) and app.desk.jobs[-1].is_over)
        assert app.desk.jobs[-1].state is JobState.DONE, app.desk.jobs[-1]
        await person.sees(DepartingScreen)
        await person.until(lambda: stepper(person).turn is Turn.GONE)
        assert "nothing is left" in drawn(app)
    assert not cluster.list(FUNCTION)
    (kept,) = (tmp_path / "state").rglob("serverless-*.yaml")
    assert [body["kind"] for body in yaml.safe_load_all(kept.read_text())].count("Function") == 3


async def test_the_stepper_is_usable_in_a_narrow_terminal_and_offers_three_ways(options: SessionOptions) -> None:
    app = KymatuiApp(lambda: open_session(options))
    async with app.run_test(size=(60, 30)) as pilot:
        person = Person(pilot)
        screen = await enter(person, "btp-operator", Turn.LEAVE)
        assert "5 Remove from the Kyma" in drawn(app)
        await person.press("w")
        await person.until(lambda: screen.turn is Turn.IGNORE)
        await person.press("w")
        await person.until(lambda: screen.turn is Turn.UNMANAGE)
        assert screen.way is Way.UNMANAGE
        await person.press("enter")
        await person.sees(PlanScreen)
        assert "managed: false" in drawn(app)
        await person.press("escape", "escape")
        await person.until(lambda: not isinstance(app.screen, DepartingScreen))


async def test_read_only_shows_the_same_and_nothing_can_be_begun(options: SessionOptions) -> None:
    app = KymatuiApp(lambda: open_session(replace(options, read_only=True)), read_only=True)
    async with app.run_test(size=SIZE) as pilot:
        person = Person(pilot)
        await enter(person, "btp-operator", Turn.LEAVE)
        await person.press("enter")
        await person.sees(PlanScreen)
        await person.until(lambda: "off: kymatui runs read-only" in drawn(app))
