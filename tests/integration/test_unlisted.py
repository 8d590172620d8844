"""A list that is forbidden, or held back by the server: no screen and no command states what it would have to tell."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from kymatui.adapters.kube.watch import watch_reader
from kymatui.cli.main import main
from kymatui.cli.options.direct_install import LISTED
from kymatui.domain.snapshot.missing_lists import ListGap
from kymatui.domain.snapshot.snapshots import FeedState
from kymatui.sessions.cluster.catalog_session import open_session
from kymatui.sessions.cluster.session_options import SessionOptions
from kymatui.sessions.feeds.feeds import DEFINITIONS
from kymatui.ui.application.kymatui_app import KymatuiApp
from kymatui.ui.navigation.history import ScreenStep
from kymatui.ui.widgets.top_line import TopLine
from tests.integration.embedded import KYMAS, MANIFESTS, METAS, TEMPLATES, Embedded
from tests.integration.test_rights import ALPHAS, EVERYTHING, cluster, with_manager
from tests.ui.driving import SIZE, cell, text, until

__all__ = ["cluster", "with_manager"]
NAMING = (KYMAS, TEMPLATES, METAS, MANIFESTS)
INSTALLATIONS = ("configmaps", "secrets")  # of which the catalog says what is unknown (tests/cli/test_installed.py)
HIDDEN = (*NAMING, "deployments.apps", ALPHAS)
TOLD_BY = {  # the cells of the catalog that a missing list leaves open, at least
    KYMAS: {"channel"},
    TEMPLATES: {"newest"},
    METAS: {"desired"},
    MANIFESTS: set[str](),
    "deployments.apps": set[str](),
    ALPHAS: {"checks"},
}


@pytest.fixture(params=["forbidden", "loading"])
def hide(request: pytest.FixtureRequest, cluster: Embedded) -> Iterator[Callable[[str], ListGap]]:
    def hidden(name: str) -> ListGap:
        forbidden = request.param == "forbidden"
        cluster.grant("test-view", *(one for one in EVERYTHING if one != name or not forbidden))
        if not forbidden:
            cluster.fault("hang", resource=name)
        return ListGap.FORBIDDEN if forbidden else ListGap.LOADING

    yield hidden
    cluster.clear()


def run(cluster: Embedded, capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    at = ["--read-only", "--kubeconfig", str(cluster.kubeconfig_of_viewer()), "--context", cluster.name]
    status = main([*at, *words, "--timeout", "3"])
    said = capsys.readouterr()
    return status, said.out, said.err


@pytest.mark.parametrize("name", HIDDEN)
async def test_no_screen_states_what_a_missing_list_would_tell(
    cluster: Embedded, hide: Callable[[str], ListGap], name: str
) -> None:
    gap = hide(name)
    options = SessionOptions(str(cluster.kubeconfig_of_viewer()), cluster.name, read_only=True)
    app = KymatuiApp(lambda: open_session(options))
    async with app.run_test(size=SIZE) as pilot:
        await until(pilot, lambda: _settled(app, name, gap))
        facts = app.screen.query_one(TopLine).facts
        assert facts.manager == (f"manager {gap}" if name in (KYMAS, MANIFESTS) else "managed by lifecycle-manager")
        count = "modules 1+" if name in NAMING and gap is ListGap.FORBIDDEN else "modules 1 "
        assert facts.counts.startswith("modules loading" if name in NAMING and gap is ListGap.LOADING else count)
        assert ("problems loading" in facts.counts) is (gap is ListGap.LOADING)
        for column in TOLD_BY[name]:
            assert cell(app, "alpha", column) == gap.value, column
        for tab in ("overview", "resources", "checks", "versions", "events", "yaml", "history"):
            app.ways.open(ScreenStep("module", "alpha", tab))
            await until(pilot, lambda: app.shown is not None and app.shown.step.kind == "module")
            await pilot.pause()
        app.ways.open(ScreenStep("channels"))
        await pilot.pause()
        app.ways.open(ScreenStep("problems"))
        await until(pilot, lambda: bool(app.screen.query("#counts")))
        await pilot.pause()
        listed = [row.cells["object"].text for row in app.screen.query_one("#problems").rows]  # type: ignore[attr-defined]
        assert app.view.snapshot is not None
        loading = app.view.snapshot.feeds[name].state is FeedState.SYNCING  # one that hangs fails after a while
        assert (name in listed) is not loading
        assert ("so far, loading" in text(app, "#counts")) is loading


def _settled(app: KymatuiApp, name: str, gap: ListGap) -> bool:
    """Whether every list came but the one that is hidden."""
    feeds = app.view.snapshot.feeds if app.view.snapshot is not None else {}
    wanted = {"forbidden": "forbidden", "loading": "syncing"}[gap.value]
    others = all(feed.state.value in ("live", "absent") for one, feed in feeds.items() if one != name)
    listed = name in feeds and feeds[name].state.value == wanted and others
    return (
        listed and app.catalog is not None and app.catalog.row("alpha") is not None and app.view.management is not None
    )


@pytest.mark.parametrize("name", HIDDEN)
def test_no_command_states_what_a_missing_list_would_tell(
    cluster: Embedded, hide: Callable[[str], ListGap], name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    gap = hide(name)
    status, out, err = run(cluster, capsys, "catalog", "-o", "json")
    assert status == 0, err
    found: dict[str, Any] = json.loads(out)
    assert found["lists"][name]["state"] == gap.value
    assert (found["unknown"].get("modules") is not None) is (name in NAMING)
    assert (found["counts"]["problems"] is None) is (gap is ListGap.LOADING)
    (module,) = found["modules"]
    for why in module["unknown"].values():
        assert (why["state"], why["lists"]) == (gap.value, [name])
    status, out, _ = run(cluster, capsys, "module", "alpha", "-o", "json")
    assert {**module, **json.loads(out)} == json.loads(out) | {key: json.loads(out)[key] for key in module}
    status, out, _ = run(cluster, capsys, "drift")
    known = "drift" not in module["unknown"] and name not in NAMING
    assert (status, "no module drifts" in out) == ((0, True) if known else (1, False))
    status, out, _ = run(cluster, capsys, "checks", "alpha")
    assert (f"module CRs {gap}" in out) is (name in (ALPHAS, TEMPLATES))  # a template names the kind


def test_a_command_waits_longer_for_a_list_than_the_list_for_the_server() -> None:
    """Else it were chance whether a command says that it waited, or which list failed."""
    assert LISTED > watch_reader.LIST_SILENCE


@pytest.mark.parametrize("verb", ["delete", "disable"])
def test_what_takes_a_module_away_names_the_kinds_that_nobody_could_look_for(
    cluster: Embedded,
    hide: Callable[[str], ListGap],
    verb: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Without CRDs nobody knows which kinds the module manages, so nobody knows that no object is in the way."""
    monkeypatch.setattr(watch_reader, "LIST_SILENCE", 3.0)
    cluster.grant("test-view", *EVERYTHING)
    whole = run(cluster, capsys, verb, "alpha", "--dry-run")
    assert DEFINITIONS not in "".join(map(str, whole))
    gap = hide(DEFINITIONS)
    status, out, err = run(cluster, capsys, verb, "alpha", "--dry-run")
    why = ListGap.FORBIDDEN if gap is ListGap.FORBIDDEN else ListGap.UNKNOWN  # a list that hangs fails after a while
    assert (status, f"{DEFINITIONS} ({why}" in out + err) == (2, True), (out, err)


@pytest.mark.parametrize("name", [DEFINITIONS, *NAMING])
@pytest.mark.parametrize("verb", ["delete", "disable"])
def test_a_list_that_breaks_off_once_changes_no_plan(
    cluster: Embedded, verb: str, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    cluster.grant("test-view", *EVERYTHING, verbs=("get", "list", "watch", "patch", "delete"))
    whole = run(cluster, capsys, verb, "alpha", "--dry-run")
    assert whole[0] == 0
    cluster.fault("drop", resource=name, count=1)
    found = run(cluster, capsys, verb, "alpha", "--dry-run")
    assert (found[0], _without_ages(found[1]), found[2]) == (0, _without_ages(whole[1]), "")


def _without_ages(text: str) -> str:
    return re.sub(r" +\d+s +", " AGE ", text)


@pytest.mark.parametrize("name", [one for one in EVERYTHING if one not in INSTALLATIONS])
def test_every_command_says_once_which_list_is_forbidden_and_what_it_would_tell(
    cluster: Embedded, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    cluster.grant("test-view", *EVERYTHING)
    commands = (["module", "alpha"], ["checks", "alpha"], ["drift"], ["versions", "alpha"])
    for words in commands:
        assert "you may not list" not in "".join(map(str, run(cluster, capsys, *words)))
    cluster.grant("test-view", *(one for one in EVERYTHING if one != name))
    for words in (*commands, *([*words, "-o", "json"] for words in commands)):
        _, _, err = run(cluster, capsys, *words)
        assert err.count(f"kymatui: you may not list {name}") == 1, words
        assert (f"you may not list {name}, so it is unknown wh" in err) is (name != ALPHAS), words


def test_versions_that_could_not_be_listed_are_not_said_to_be_none(
    cluster: Embedded, capsys: pytest.CaptureFixture[str]
) -> None:
    cluster.grant("test-view", *(one for one in EVERYTHING if one != TEMPLATES))
    _, out, _ = run(cluster, capsys, "versions", "alpha")
    assert out == f"versions of alpha: forbidden (you may not list {TEMPLATES})\n"
    found = json.loads(run(cluster, capsys, "versions", "alpha", "-o", "json")[1])
    assert (found["versions"], found["unknown"]["versions"]["state"]) == (None, "forbidden")
    cluster.grant("test-view", *EVERYTHING)
    found = json.loads(run(cluster, capsys, "versions", "alpha", "-o", "json")[1])
    assert (len(found["versions"]), found["unknown"]) == (1, {})
