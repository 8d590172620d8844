"""Logins on the screen: a plugin that waits has a dialog with its address, its code and the time that is left."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from kymatui.adapters.kube.auth.credentials import Credential, read_user
from kymatui.adapters.kube.auth.endpoint import Endpoint
from kymatui.adapters.kube.auth.kubeconfig import KubeconfigEntry
from kymatui.domain.snapshot.snapshots import Feed, FeedState
from kymatui.engine.cluster.dials import Dial, DialPhase
from kymatui.engine.cluster.logins import LOGINS, Login
from kymatui.errors import ConfigurationError
from kymatui.ui.connection.connection_status import describe_connection
from kymatui.ui.dialogs.login_dialog import LoginScreen
from kymatui.ui.panes.runtimes_pane import fleet_notice
from kymatui.ui.presenters.catalog.table_notices import TableNotice, table_notice
from tests.ui.driving import until
from tests.ui.test_hostile_names import displayed

API = "client.authentication.k8s.io/v1"
SCRIPT = """import json, os, sys, time
print("Open https://login.example/device?a=b, and enter the code ABCD-EFGH.", file=sys.stderr, flush=True)
while not os.path.exists(sys.argv[1]): time.sleep(0.01)
print(json.dumps(ANSWER))
"""
ANSWER = {"apiVersion": API, "kind": "ExecCredential", "status": {"token": "t"}}


def log_in(folder: Path, script: str = SCRIPT, **more: Any) -> Credential:
    """Log a user in with a plugin that waits for the file `gate`."""
    file = folder / "plugin.py"
    file.write_text(script.replace("ANSWER", json.dumps(ANSWER)))
    arguments = [str(file), str(folder / "gate")]
    plan = {"apiVersion": API, "command": sys.executable, "args": arguments, **more}
    user = KubeconfigEntry("ann", {"exec": plan}, folder / "config")
    return read_user(user, Endpoint("https://a.example"), KubeconfigEntry("c", {}, folder / "config"))()


async def asked(pilot: Pilot[Any]) -> LoginScreen:
    await until(pilot, lambda: isinstance(pilot.app.screen, LoginScreen) and bool(pilot.app.screen.address))
    assert isinstance(pilot.app.screen, LoginScreen)
    return pilot.app.screen


async def test_the_dialog_has_address_and_code_and_closes_after_the_login(pilot: Pilot[Any], tmp_path: Path) -> None:
    login = asyncio.create_task(asyncio.to_thread(log_in, tmp_path))
    dialog = await asked(pilot)
    assert (dialog.address, dialog.code) == ("https://login.example/device?a=b", "ABCD-EFGH")
    await until(pilot, lambda: "https://login.example/device?a=b" in displayed(dialog))
    assert " left" in displayed(dialog)
    await pilot.press("c")
    assert pilot.app.clipboard == dialog.address
    await pilot.press("d")
    assert pilot.app.clipboard == "ABCD-EFGH"
    (tmp_path / "gate").touch()
    assert dict((await login).headers) == {"Authorization": "Bearer t"}
    await until(pilot, lambda: not isinstance(pilot.app.screen, LoginScreen))


async def test_a_dialog_below_another_one_closes_after_it(pilot: Pilot[Any]) -> None:
    logins = [Login("kubelogin", name, 60.0) for name in ("ann", "bob")]
    below, above = dialogs = [LoginScreen(login, lambda _: None) for login in logins]
    for dialog in dialogs:
        pilot.app.push_screen(dialog)
        await until(pilot, lambda: pilot.app.screen is dialog)  # noqa: B023 (awaited in the same turn)
    logins[0].is_running = False
    below.refresh_login()
    await pilot.pause()
    assert pilot.app.screen is above, "its login runs"
    logins[1].is_running = False
    above.refresh_login()
    await until(pilot, lambda: not {*dialogs}.intersection(pilot.app.screen_stack))


async def test_escape_cancels_the_login(pilot: Pilot[Any], tmp_path: Path) -> None:
    login = asyncio.create_task(asyncio.to_thread(log_in, tmp_path))
    await asked(pilot)
    await pilot.press("escape")
    with pytest.raises(ConfigurationError, match="was cancelled"):
        await login
    await until(pilot, lambda: not isinstance(pilot.app.screen, LoginScreen))


async def test_the_address_opens_in_the_browser_beside_the_terminal(
    pilot: Pilot[Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[str] = []
    monkeypatch.setattr(pilot.app, "open_url", lambda url, new_tab=True: opened.append(url))
    monkeypatch.setattr("kymatui.ui.flows.module_actions.has_browser", lambda: True)
    login = asyncio.create_task(asyncio.to_thread(log_in, tmp_path))
    dialog = await asked(pilot)
    await pilot.press("v")
    assert opened == [dialog.address]
    (tmp_path / "gate").touch()
    await login


async def test_a_login_behind_another_dialog_closes_with_it(pilot: Pilot[Any], tmp_path: Path) -> None:
    login = asyncio.create_task(asyncio.to_thread(log_in, tmp_path))
    await asked(pilot)
    await pilot.press("question_mark")
    (tmp_path / "gate").touch()
    await login
    while pilot.app.screen.is_modal and not isinstance(pilot.app.screen, LoginScreen):
        await pilot.press("escape")
    await until(pilot, lambda: not isinstance(pilot.app.screen, LoginScreen))


async def test_a_plugin_that_prints_nothing_and_is_quick_has_no_dialog(pilot: Pilot[Any], tmp_path: Path) -> None:
    quick = "import json\nprint(json.dumps(ANSWER))\n"
    await asyncio.to_thread(log_in, tmp_path, quick)
    await pilot.pause()
    assert not isinstance(pilot.app.screen, LoginScreen)


async def test_a_plugin_that_needs_a_terminal_is_refused_where_the_screen_cannot_be_suspended(
    pilot: Pilot[Any], tmp_path: Path
) -> None:
    with pytest.raises(ConfigurationError, match="needs a terminal"):
        await asyncio.to_thread(log_in, tmp_path, interactiveMode="Always")
    assert LOGINS.running == ()
    await pilot.pause()
    assert not isinstance(pilot.app.screen, LoginScreen)


@pytest.mark.parametrize(
    ("states", "word"),
    [
        ((), "logging in"),
        ((FeedState.SYNCING, FeedState.SYNCING), "logging in"),
        ((FeedState.LIVE, FeedState.SYNCING), "loading 1/2"),
        ((FeedState.STALE, FeedState.SYNCING), "stale 0s"),
    ],
)
def test_the_first_frame_says_that_a_person_logs_in(states: tuple[FeedState, ...], word: str) -> None:
    feeds = {str(number): Feed(state, 1000.0) for number, state in enumerate(states)}
    assert describe_connection(feeds, 1000.0, login=Login("kubelogin", "me", 60.0)).word == word


@pytest.mark.parametrize(
    ("phase", "word", "title"),
    [
        (DialPhase.RESOLVING, "resolving", "Resolving api.prod-eu.example.com …"),
        (DialPhase.CONNECTING, "connecting", "Connecting to api.prod-eu.example.com …"),
    ],
)
def test_the_first_frame_says_how_far_the_connection_is(phase: DialPhase, word: str, title: str) -> None:
    dial = Dial("api.prod-eu.example.com", phase)
    status = describe_connection({}, 1000.0, dial=dial)
    assert (status.word, status.tone) == (word, "processing")
    syncing = {"kymas": Feed(FeedState.SYNCING)}
    assert describe_connection(syncing, 1000.0, dial=dial) == status
    catalog = table_notice(None, None, None, shown=0, filtered=False, step=status.step)
    assert catalog == fleet_notice(None, None, 0, status.step) == TableNotice(title, tone="processing")
    for feeds in (syncing, {**syncing, "pods": Feed(FeedState.LIVE)}):
        loading = describe_connection(feeds, 1000.0, dial=dial if len(feeds) > 1 else None)
        assert (loading.word, loading.step) == (f"loading {len(feeds) - 1}/{len(feeds)}", "")


async def test_a_renewal_never_hides_the_screen(
    pilot: Pilot[Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A plugin that needs the terminal gets it when a person retries, and not while the person works."""
    monkeypatch.setattr(pilot.app, "suspend", lambda: pytest.fail("the screen was hidden"))

    def renew() -> Credential:
        with LOGINS.renewal():
            return log_in(tmp_path, "import sys; sys.exit('no terminal')", interactiveMode="IfAvailable")

    with pytest.raises(ConfigurationError, match="no terminal"):
        await asyncio.to_thread(renew)
