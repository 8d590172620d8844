"""Logins of people: plugins that print and wait, one after the other, with and without a terminal."""

from __future__ import annotations

import contextlib
import json
import os
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

import pytest

from kymatui.adapters.kube.auth.credentials import Credential, CredentialSource, read_user
from kymatui.adapters.kube.auth.endpoint import Endpoint
from kymatui.adapters.kube.auth.kubeconfig import KubeconfigEntry
from kymatui.engine.cluster.logins import LOGINS, Login, Logins, PluginResult, WaitLimit
from kymatui.errors import ConfigurationError
from tests.engine.places import eventually

API = "client.authentication.k8s.io/v1"
ENDPOINT = Endpoint("https://a.example")
ANSWER = f"print(json.dumps({ {'apiVersion': API, 'kind': 'ExecCredential', 'status': {'token': 't'}}!r}))\n"
ASK = "print('open http://localhost:8000/', file=sys.stderr, flush=True)\n"
WAIT = "while not os.path.exists(sys.argv[1]): time.sleep(0.01)\n"


class FrontEnd:
    """Keeps what it is told; lends a terminal if it has one."""

    def __init__(self) -> None:
        self.texts: list[tuple[str, str]] = []
        self.has_terminal = False
        self.printed = threading.Event()

    def changed(self, login: Login, text: str) -> None:
        self.texts.append((login.user, text))
        if text:
            self.printed.set()

    def lend_terminal(self, login: Login) -> AbstractContextManager[bool]:
        del login
        return nullcontext(self.has_terminal)


@pytest.fixture
def front_end() -> Iterator[FrontEnd]:
    before, LOGINS.front_end = LOGINS.front_end, FrontEnd()
    yield LOGINS.front_end
    LOGINS.front_end = before


class Plugin:
    """A plugin that asks, and waits until `go` is called."""

    def __init__(self, folder: Path, script: str = ASK + WAIT + ANSWER, **more: Any) -> None:
        self._gate = folder / "gate"
        file = folder / "plugin.py"
        file.write_text("import json, os, sys, time\n" + script)
        arguments = [str(file), str(self._gate)]
        self.body = {"exec": {"apiVersion": API, "command": sys.executable, "args": arguments, **more}}
        self._folder = folder

    def go(self) -> None:
        self._gate.touch()

    def credential(self, user: str = "ann") -> Credential:
        entry = KubeconfigEntry(user, self.body, self._folder / "config")
        return read_user(entry, ENDPOINT, KubeconfigEntry("c", {}, self._folder / "config"))()


@contextlib.contextmanager
def in_thread(plugin: Plugin, *users: str) -> Iterator[list[object]]:
    """Log users in, each in a thread; yields what comes of it."""
    results: list[object] = []

    def run(user: str) -> None:
        try:
            results.append(plugin.credential(user))
        except ConfigurationError as error:
            results.append(error)

    threads = [threading.Thread(target=run, args=(user,)) for user in users or ("ann",)]
    for thread in threads:
        thread.start()
    try:
        yield results
    finally:
        plugin.go()
        for thread in threads:
            thread.join(20)


def test_what_a_plugin_prints_is_displayed_while_it_waits(tmp_path: Path, front_end: FrontEnd) -> None:
    plugin = Plugin(tmp_path)
    with in_thread(plugin) as results:
        assert front_end.printed.wait(20)
        (login,) = LOGINS.running
        assert login.text.strip() == "open http://localhost:8000/"
        assert results == []
    assert isinstance(results[0], Credential)
    assert LOGINS.running == ()
    assert not login.is_running


def test_a_person_can_cancel_a_login_and_nothing_is_left_running(tmp_path: Path, front_end: FrontEnd) -> None:
    mark = tmp_path / "ended"
    script = "import signal\ndef end(*_): open(sys.argv[1] + '.ended', 'w'); sys.exit(1)\n"
    plugin = Plugin(tmp_path, script + "signal.signal(signal.SIGTERM, end)\n" + ASK + WAIT + ANSWER)
    with in_thread(plugin) as results:
        assert front_end.printed.wait(20)
        LOGINS.running[0].cancel()
        until = time.monotonic() + 20
        while not results and time.monotonic() < until:
            time.sleep(0.01)
        assert "was cancelled" in str(results[0])
    assert mark.with_name("gate.ended").exists()


def test_contexts_of_one_plugin_log_in_one_after_the_other(tmp_path: Path, front_end: FrontEnd) -> None:
    plugin = Plugin(tmp_path)
    with in_thread(plugin, "ann", "bob", "cyd") as results:
        assert front_end.printed.wait(20)
        time.sleep(0.3)  # the others could have begun
        assert len(LOGINS.running) == 1
    assert len(results) == 3
    begun = [user for user, text in front_end.texts if text.strip()]
    assert sorted(begun) == ["ann", "bob", "cyd"]


def test_no_login_that_waits_for_its_turn_begins_at_the_end_of_the_process(monkeypatch: pytest.MonkeyPatch) -> None:
    logins, begun, ended = Logins(), [], []
    monkeypatch.setattr("kymatui.engine.cluster.logins.LOGINS", logins)

    def log_in(user: str) -> None:
        login = Login("p", user, 600.0)

        def start(_: bool) -> PluginResult:
            begun.append(user)
            while not login.is_cancelled:
                time.sleep(0.01)
            return PluginResult(1, b"")

        with contextlib.suppress(ConfigurationError):
            logins.run(login, start, terminal=False)
        ended.append(user)

    threads = [threading.Thread(target=log_in, args=(user,)) for user in ("ann", "bob", "cyd")]
    for thread in threads:
        thread.start()
    eventually(lambda: len(begun) == 1)
    logins.close()
    for thread in threads:
        thread.join(20)
    assert (len(begun), len(ended)) == (1, 3)


def test_the_time_of_a_login_is_not_that_of_the_server(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [1000.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    logins = Logins()
    monkeypatch.setattr("kymatui.engine.cluster.logins.LOGINS", logins)
    limit = WaitLimit(30.0)
    now[0] += 10
    with logins.entered(Login("p", "ann", 600.0)), logins.entered(Login("p", "bob", 600.0)):
        now[0] += 300
        assert limit.remaining == 20
    now[0] += 5
    assert limit.remaining == 15
    assert WaitLimit(30.0).remaining == 30


def test_dozens_of_requests_see_one_failed_login(tmp_path: Path) -> None:
    count = tmp_path / "count"
    plugin = Plugin(
        tmp_path, f"open({str(count)!r}, 'a').write('x'); print('no network', file=sys.stderr); sys.exit(1)"
    )
    source = CredentialSource(plugin.credential)
    for _ in range(20):
        with pytest.raises(ConfigurationError, match="exit status 1: no network"):
            source.present()
    assert count.read_text() == "x"
    source.retry()
    with pytest.raises(ConfigurationError):
        source.present()
    assert count.read_text() == "xx"


def test_the_error_of_a_plugin_has_its_last_lines(tmp_path: Path) -> None:
    script = "[print(f'line {n}', file=sys.stderr) for n in range(50)]; sys.exit(3)"
    with pytest.raises(ConfigurationError) as caught:
        Plugin(tmp_path, script).credential()
    assert str(caught.value).endswith("line 45\nline 46\nline 47\nline 48\nline 49")
    assert "line 44" not in str(caught.value)


def test_a_credential_that_has_expired_is_refused(tmp_path: Path) -> None:
    script = ANSWER.replace("'t'", "'t', 'expirationTimestamp': '2020-01-01T00:00:00Z'")
    with pytest.raises(ConfigurationError, match="expired at 2020-01-01T00:00:00Z"):
        Plugin(tmp_path, script).credential()


READ = """
info = json.loads(os.environ["KUBERNETES_EXEC_INFO"])
token = json.dumps([info["spec"]["interactive"], sys.stdin.readline()])
print(json.dumps({"apiVersion": info["apiVersion"], "kind": "ExecCredential", "status": {"token": token}}))
"""


@pytest.mark.parametrize(
    ("mode", "has_terminal", "expected"),
    [
        ("IfAvailable", True, [True, "typed\n"]),
        (None, True, [True, "typed\n"]),
        ("Always", True, [True, "typed\n"]),
        ("Never", True, [False, ""]),
        ("IfAvailable", False, [False, ""]),
        ("Never", False, [False, ""]),
    ],
)
def test_a_plugin_gets_the_terminal_that_its_mode_asks_for(
    mode: str | None, has_terminal: bool, expected: list[Any], tmp_path: Path, front_end: FrontEnd
) -> None:
    reading, writing = os.pipe()
    os.write(writing, b"typed\n")
    kept = os.dup(0)
    os.dup2(reading, 0)
    front_end.has_terminal = has_terminal
    try:
        more = {"interactiveMode": mode} if mode else {}
        credential = Plugin(tmp_path, READ, **more).credential()
    finally:
        os.dup2(kept, 0)
        for descriptor in (reading, writing, kept):
            os.close(descriptor)
    assert json.loads(dict(credential.headers)["Authorization"].removeprefix("Bearer ")) == expected


def test_a_plugin_that_needs_a_terminal_is_refused_without_one(tmp_path: Path, front_end: FrontEnd) -> None:
    with pytest.raises(ConfigurationError, match="needs a terminal"):
        Plugin(tmp_path, READ, interactiveMode="Always").credential()
    assert [text for _, text in front_end.texts if text] == []


@pytest.mark.parametrize("text", ["soon", "0", "-1", "nan", "inf"])
def test_a_limit_of_logins_is_a_number_of_seconds(text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KYMATUI_LOGIN_TIMEOUT", text)
    with pytest.raises(ConfigurationError, match="KYMATUI_LOGIN_TIMEOUT"):
        Plugin(tmp_path, ANSWER).credential()


class Renewed:
    """A source whose credentials are valid for 100 s; `gate` opens for each of them but the first."""

    def __init__(self, error: str = "") -> None:
        self.now, self.made, self.error = 0.0, 0, error
        self.gate = threading.Event()
        self.renewals: list[bool] = []
        self.source = CredentialSource(self._make, clock=lambda: self.now)

    def _make(self) -> Credential:
        self.renewals.append(LOGINS.is_renewing)
        if self.renewals[1:]:
            self.gate.wait(20)
            if self.error:
                raise ConfigurationError(self.error)
        self.made += 1
        return Credential((("Authorization", f"Bearer {self.made}"),), expires=self.now + 100)

    @property
    def token(self) -> str:
        return self.source.present().headers[0][1].removeprefix("Bearer ")


def test_a_credential_is_renewed_before_it_ends_while_requests_still_use_it() -> None:
    renewed = Renewed()
    assert renewed.token == "1"
    renewed.now = 79.0
    assert renewed.token == "1"
    assert renewed.renewals == [False], "there is time"
    renewed.now = 81.0
    began = time.monotonic()
    assert [renewed.token for _ in range(5)] == ["1"] * 5
    assert time.monotonic() - began < 5, "no request waits for the person"
    renewed.gate.set()
    until = time.monotonic() + 20
    while renewed.token != "2" and time.monotonic() < until:
        time.sleep(0.01)
    assert renewed.token == "2"
    assert renewed.renewals == [False, True], "one renewal, which does not hide the screen"


def test_a_request_waits_for_the_renewal_that_is_on_its_way() -> None:
    renewed = Renewed()
    assert renewed.token == "1"
    renewed.now = 81.0
    assert renewed.token == "1"
    renewed.now = 95.0
    assert renewed.token == "1", "it is valid to its end"
    renewed.now = 101.0
    tokens: list[str] = []
    waiting = threading.Thread(target=lambda: tokens.append(renewed.token))
    waiting.start()
    time.sleep(0.2)
    assert tokens == []
    renewed.gate.set()
    waiting.join(20)
    assert (tokens, renewed.made) == (["2"], 2)


def test_a_renewal_that_fails_is_reported_when_the_credential_has_ended() -> None:
    renewed = Renewed("the plugin wants a person")
    renewed.gate.set()
    assert renewed.token == "1"
    renewed.now = 81.0
    assert renewed.token == "1"
    renewed.now = 95.0
    assert renewed.token == "1", "it is valid to its end"
    renewed.now = 100.0
    renewed.source.retry()
    with pytest.raises(ConfigurationError, match="the plugin wants a person"):
        assert renewed.token
    assert {*renewed.renewals[1:-1]} == {True}
    renewed.source.retry()
    renewed.error = ""
    assert renewed.token == "2"
    assert renewed.renewals[-1] is False, "a person asked for it"


def test_a_plugin_that_hangs_delays_no_other_plugin(tmp_path: Path, front_end: FrontEnd) -> None:
    (tmp_path / "other").mkdir()
    hanging, other = Plugin(tmp_path), Plugin(tmp_path / "other", ANSWER)
    command = tmp_path / "other-command"
    command.symlink_to(sys.executable)
    other.body["exec"]["command"] = str(command)
    with in_thread(hanging) as results:
        assert front_end.printed.wait(20)
        assert dict(other.credential("bob").headers) == {"Authorization": "Bearer t"}
        assert results == []
