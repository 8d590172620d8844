"""A server that hangs with open connections (SIGSTOP): what is displayed is stale, writes are off, until it is back."""

from __future__ import annotations

import os
import re
import signal
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml

from kymatui.adapters.kube.transport.heartbeat import Heartbeat, HeartbeatTiming
from kymatui.adapters.kube.transport.transport import Transport
from kymatui.adapters.kube.watch.watch_reader import WatchTiming
from kymatui.cli.main import main
from kymatui.domain.snapshot.snapshots import RUNTIME_FEED, Feed, FeedState
from kymatui.errors import KymatuiError
from kymatui.sandbox.fault_client import FaultClient
from kymatui.sandbox.sandbox_process import RunningSandbox, start_sandbox
from kymatui.sessions.cluster.catalog_session import CatalogSession, open_session
from kymatui.sessions.cluster.cluster_access import open_cluster
from kymatui.sessions.cluster.session_options import SessionOptions
from kymatui.sessions.control_plane.fleet_session import FleetSession
from kymatui.sessions.control_plane.runtime_session import RuntimeSession
from kymatui.ui.application.kymatui_app import KymatuiApp
from kymatui.ui.connection.connection_status import describe_connection
from tests.integration.embedded import eventually
from tests.ui.driving import SIZE, ready, until

pytestmark = pytest.mark.xdist_group("frozen")
SILENCE = re.compile("did not (answer GET /|complete the TLS handshake within )")
"""What is known of a server that hangs: a request without an answer, or a new connection that does not come."""
QUICK = WatchTiming(pulse=HeartbeatTiming(quiet=0.4, timeout=1.5, again=0.1))


@pytest.fixture(scope="module")
def sandbox() -> Iterator[RunningSandbox]:
    with start_sandbox(clusters=("kcp", "skr"), fleet=3, settled=True) as running:
        yield running


@pytest.fixture(scope="module")
def runtime_sandbox() -> Iterator[RunningSandbox]:
    with start_sandbox(clusters=("alone",)) as running:
        yield running


@contextmanager
def frozen(running: RunningSandbox) -> Iterator[None]:
    os.kill(running.process.pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(running.process.pid, signal.SIGCONT)


@contextmanager
def session_on(running: RunningSandbox, context: str = "kcp") -> Iterator[CatalogSession]:
    session = open_session(SessionOptions(str(running.kubeconfig), context), QUICK)
    session.start(lambda: None)
    try:
        assert session.wait_complete(30)
        yield session
    finally:
        session.close()


def word(session: CatalogSession | RuntimeSession) -> str:
    return describe_connection(session.snapshot().feeds, time.time()).word.partition(" ")[0]


def test_a_frozen_server_is_reported_within_twenty_seconds() -> None:
    pulse = WatchTiming().pulse
    assert pulse.quiet + 2 * pulse.timeout < 19


def test_a_frozen_server_is_stale_and_live_again_by_itself(sandbox: RunningSandbox) -> None:
    with session_on(sandbox) as session:
        eventually(lambda: word(session) == "live")
        with frozen(sandbox):
            stopped = time.time()
            eventually(lambda: word(session) == "stale")
            found, noticed = describe_connection(session.snapshot().feeds, time.time()), time.time()
            # what was sent before the stop may be read after it, and the silence is noticed after a whole request
            assert stopped - 10 < found.stale_since <= noticed - QUICK.pulse.timeout
            assert SILENCE.search(found.why), found.why
        eventually(lambda: word(session) == "live")


@pytest.mark.parametrize("fault", ["error", "hang"])
def test_a_server_without_storage_is_stale_until_it_is_ready_whatever_its_watches_send(
    sandbox: RunningSandbox, fault: str
) -> None:
    """As with etcd stopped: watches of the cache stay open and send bookmarks, `/readyz` fails or is silent."""
    timing = WatchTiming(pulse=HeartbeatTiming(quiet=0.4, timeout=0.3, again=0.1, ready=0.3))
    faults = FaultClient.for_kubeconfig(sandbox.kubeconfig, "kcp")
    session = open_session(SessionOptions(str(sandbox.kubeconfig), "kcp"), timing)
    session.start(lambda: None)
    try:
        assert session.wait_complete(30)
        eventually(lambda: word(session) == "live")
        faults.send(fault, {"verb": "get"})
        eventually(lambda: word(session) == "stale")
        words = []
        for _ in range(150):
            session.client.transport._hear()  # as every byte of a watch does
            words.append(word(session))
            time.sleep(0.02)
        assert set(words) == {"stale"}, "it changes to and fro"
    finally:
        faults.send("clear", {})
        eventually(lambda: word(session) == "live")
        session.close()


def test_a_server_that_sends_and_is_not_ready_is_not_live(sandbox: RunningSandbox) -> None:
    timing = WatchTiming(pulse=HeartbeatTiming(quiet=60.0, timeout=0.3, again=0.1, ready=0.3))
    faults = FaultClient.for_kubeconfig(sandbox.kubeconfig, "kcp")
    session = open_session(SessionOptions(str(sandbox.kubeconfig), "kcp"), timing)
    session.start(lambda: None)
    try:
        assert session.wait_complete(30)
        eventually(lambda: word(session) == "live")
        faults.send("error", {"verb": "get"})
        eventually(lambda: word(session) == "stale")
    finally:
        faults.send("clear", {})
        eventually(lambda: word(session) == "live")
        session.close()


def test_a_server_that_freezes_before_its_lists_came_is_not_loading(sandbox: RunningSandbox) -> None:
    faults = FaultClient.for_kubeconfig(sandbox.kubeconfig, "kcp")
    faults.send("latency", {"resource": "deployments.apps", "seconds": 60.0})
    session = open_session(SessionOptions(str(sandbox.kubeconfig), "kcp"), QUICK)
    try:
        session.start(lambda: None)
        eventually(lambda: sum(one.state is FeedState.LIVE for one in session.feeds.values()) > 3)
        assert session.feeds["deployments.apps"].state is FeedState.SYNCING
        with frozen(sandbox):
            eventually(lambda: session.feeds["deployments.apps"].state is FeedState.FAILED)
            assert word(session) == "stale"
            assert session.client.heartbeat.silence is not None
    finally:
        session.close()
        faults.send("clear", {})


def test_a_server_of_which_no_list_came_is_offline_and_not_partly_live() -> None:
    feeds = {"a": Feed(FeedState.FAILED, 1.0, "silent"), "b": Feed(FeedState.ABSENT), "c": Feed(FeedState.FORBIDDEN)}
    assert describe_connection(feeds, 2.0).word == "offline"
    assert describe_connection({**feeds, "d": Feed(FeedState.LIVE)}, 2.0).word == "partly live"


def test_a_server_is_asked_only_while_no_watch_sends_anything(
    sandbox: RunningSandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[float] = []
    ask = Heartbeat._ask

    def counting(beat: Heartbeat, pulse: HeartbeatTiming, stopped: threading.Event) -> KymatuiError | None:
        asked.append(time.monotonic())
        return ask(beat, pulse, stopped)

    monkeypatch.setattr(Heartbeat, "_ask", counting)
    with session_on(sandbox) as session:
        eventually(lambda: bool(asked))
        for _ in range(20):
            if hear_without_pause(session, asked):
                break
        else:
            raise AssertionError("this machine paused the test each time")
        assert not asked
    asked.clear()
    time.sleep(1.0)
    assert not asked, "nobody asks behind the end of a session"


def hear_without_pause(session: CatalogSession, asked: list[float]) -> bool:
    """Hear from the server for 1.5 s; return whether the machine never made a pause in which it may be asked."""
    session.client.transport._hear()
    asked.clear()
    last = began = time.monotonic()
    longest = 0.0
    while last < began + 1.5:
        time.sleep(0.02)
        session.client.transport._hear()  # as every byte of a watch does
        longest, last = max(longest, time.monotonic() - last), time.monotonic()
    return longest < QUICK.pulse.quiet / 2


def test_one_thread_listens_to_a_control_plane_and_none_to_runtimes_that_are_not_displayed(
    sandbox: RunningSandbox,
) -> None:
    before = threads()
    home = open_cluster(SessionOptions(str(sandbox.kubeconfig), "kcp"))
    fleet = FleetSession(home, timing=QUICK)
    fleet.start(lambda: None)
    runtime = RuntimeSession(home, ("kcp-system", "skr"), SessionOptions(), timing=QUICK)
    try:
        assert fleet.wait_complete(30)
        assert len(fleet.picture().runtimes) == 3
        assert threads() - before == 1
        runtime.start(lambda: None)
        eventually(lambda: runtime.inner is not None)
        eventually(lambda: threads() - before == 2)
    finally:
        runtime.close()
        fleet.close()
    eventually(lambda: threads() == before)


def threads() -> int:
    return sum(thread.name == "heartbeat" for thread in threading.enumerate())


def test_a_frozen_runtime_is_stale_behind_its_control_plane(
    sandbox: RunningSandbox, runtime_sandbox: RunningSandbox
) -> None:
    home = open_cluster(SessionOptions(str(sandbox.kubeconfig), "kcp"))
    by_hand = SessionOptions(str(runtime_sandbox.kubeconfig), "alone")
    runtime = RuntimeSession(home, ("kcp-system", "skr"), SessionOptions(), by_hand=by_hand, timing=QUICK)
    runtime.start(lambda: None)
    try:
        eventually(lambda: word(runtime) == "live")
        with frozen(runtime_sandbox):
            eventually(lambda: runtime.snapshot().feeds[RUNTIME_FEED].state is FeedState.STALE)
            assert word(runtime) == "stale"
        eventually(lambda: word(runtime) == "live")
        with frozen(sandbox):
            eventually(lambda: word(runtime) == "stale")
            assert runtime.snapshot().feeds[RUNTIME_FEED].state is FeedState.LIVE
        eventually(lambda: word(runtime) == "live")
    finally:
        runtime.close()
        home.client.transport.close()


async def test_nothing_can_be_written_on_the_screen_while_the_server_is_frozen(sandbox: RunningSandbox) -> None:
    options = SessionOptions(str(sandbox.kubeconfig), "kcp")
    app = KymatuiApp(lambda: open_session(options, QUICK))
    async with app.run_test(size=SIZE) as pilot:
        await ready(pilot)
        await until(pilot, lambda: app.view.connection.word == "live")
        assert app.why_no_writes == ""
        with frozen(sandbox):
            await until(pilot, lambda: app.view.connection.word.startswith("stale"))
            assert app.why_no_writes == "the data is out of date"
        await until(pilot, lambda: app.view.connection.word == "live")
        assert app.why_no_writes == ""


def test_a_command_ends_with_the_reason_where_the_server_hangs(
    sandbox: RunningSandbox,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    requested: list[float],
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("KUBECONFIG", str(sandbox.kubeconfig))
    took = 0.0
    with frozen(sandbox):
        for words in (["catalog"], ["enable", "nats", "--yes"]):
            requested.clear()
            assert main(["--context", "kcp", *words]) == 1
            took += time.monotonic() - requested[0]
            said = capsys.readouterr().err
            assert SILENCE.search(said) or "accepts no connection" in said, said
    assert took < 45


@pytest.fixture
def requested(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The times of all requests: a server may take its time, and so may a busy machine before it is asked."""
    times: list[float] = []
    once = Transport._once

    def noting_once(transport: Transport, *given: Any, **named: Any) -> Any:
        times.append(time.monotonic())
        return once(transport, *given, **named)

    monkeypatch.setattr(Transport, "_once", noting_once)
    return times


@pytest.fixture
def silent(tmp_path: Path) -> Iterator[Path]:
    """The kubeconfig of a server that accepts connections and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        server = f"http://127.0.0.1:{listener.getsockname()[1]}"
        document = {
            "clusters": [{"name": "silent", "cluster": {"server": server}}],
            "contexts": [{"name": "silent", "context": {"cluster": "silent", "user": "me"}}],
            "users": [{"name": "me", "user": {"token": "t"}}],
            "current-context": "silent",
        }
        path = tmp_path / "silent.yaml"
        path.write_text(yaml.safe_dump(document))
        yield path


SOON = 20.0


@pytest.mark.parametrize("words", [["catalog"], ["check", "keda"], ["delete", "keda", "--dry-run"]])
def test_a_command_says_within_twenty_seconds_that_a_server_never_answered(
    silent: Path, words: list[str], capsys: pytest.CaptureFixture[str], requested: list[float]
) -> None:
    assert main(["--kubeconfig", str(silent), *words]) == 1
    assert time.monotonic() - requested[0] < SOON
    assert "did not answer" in capsys.readouterr().err


async def test_the_screen_says_within_twenty_seconds_that_a_server_never_answered(
    silent: Path, requested: list[float]
) -> None:
    options = SessionOptions(str(silent), "")
    app = KymatuiApp(lambda: open_session(options))
    async with app.run_test(size=SIZE) as pilot:
        await until(pilot, lambda: app.view.connection.word == "offline")
        assert time.monotonic() - requested[0] < SOON
        await until(pilot, lambda: "did not answer GET" in displayed(app))


def displayed(app: KymatuiApp) -> str:
    return "\n".join("".join(part.text for part in line) for line in app.screen._compositor.render_strips())
