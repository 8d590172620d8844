"""Logs on a screen: of a module and of an object; followed, searched, filtered, chosen, saved; and never in the way."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, cast

import pytest
from textual.pilot import Pilot

from kymatui.domain.logs.log_query import LogQuery
from kymatui.domain.snapshot.snapshots import Feed, FeedState, Snapshot, namespaced_feed
from kymatui.engine.cluster.ports import Cluster
from kymatui.errors import ForbiddenError, InvalidError, KymatuiError
from kymatui.ui.application.kymatui_app import KymatuiApp
from kymatui.ui.connection.cluster_link import ClusterConnection
from kymatui.ui.logs.log_text import LogText
from kymatui.ui.logs.logs_screen import LogsScreen
from kymatui.ui.navigation.history import ScreenStep
from tests.ui.conftest import Compare
from tests.ui.driving import SIZE, ready, shown, table, text, until
from tests.ui.worlds import OWNED, StillSession, app_on, owned, world

POD, SECOND_POD = "istio-manager-7d4b-x2x", "istio-manager-7d4b-q9q"


class LogServer:
    """Containers whose logs grow when a test says so; a KymatuiError refuses a Pod's log."""

    name = "prod-eu"

    def __init__(self) -> None:
        self.lines: dict[tuple[str, str], list[bytes]] = {}
        self.previous: dict[str, list[bytes]] = {}
        self.refused: dict[str, KymatuiError] = {}
        self.queries: list[LogQuery] = []
        self.open = 0
        self._grown = threading.Condition()

    def write(self, pod: str, *texts: str, second: int = 0, container: str = "manager") -> None:
        with self._grown:
            lines = self.lines.setdefault((pod, container), [])
            for number, one in enumerate(texts):
                lines.append(f"2026-03-01T12:{second // 60:02}:{second % 60:02}.{number:09}Z {one}\n".encode())
            self._grown.notify_all()

    def open_log(self, query: LogQuery, *, cancel: object = None) -> _OpenLog:
        del cancel
        self.queries.append(query)
        if (error := self.refused.get(query.pod)) is not None:
            raise error
        if query.options.previous:
            return _OpenLog(self, self.previous.get(query.pod, []), follow=False)
        return _OpenLog(self, self.lines.setdefault((query.pod, query.container), []), follow=query.options.follow)


class _OpenLog:
    def __init__(self, server: LogServer, lines: Sequence[bytes], *, follow: bool) -> None:
        self._server = server
        self._lines = lines
        self._follow = follow
        self._closed = False
        server.open += 1

    def chunks(self) -> Iterator[bytes]:
        sent = 0
        while not self._closed:
            with self._server._grown:
                if sent == len(self._lines):
                    if not self._follow:
                        return
                    self._server._grown.wait(60)
                news, sent = self._lines[sent:], len(self._lines)
            if news and not self._closed:
                yield b"".join(news)

    def close(self) -> None:
        with self._server._grown:
            self._server.open -= not self._closed
            self._closed = True
            self._server._grown.notify_all()


class LoggingSession(StillSession):
    """A session whose cluster has logs."""

    def __init__(self, snapshot: Snapshot) -> None:
        super().__init__(snapshot)
        self.logs = LogServer()

    @property
    def cluster(self) -> Cluster:
        return cast("Cluster", self.logs)

    @property
    def home(self) -> Cluster:
        return super().cluster


def second_pod() -> dict[str, Any]:
    statuses: list[dict[str, Any]] = [{"name": name, "state": {"running": {}}} for name in ("manager", "istio-proxy")]
    return owned("Pod", "v1", SECOND_POD, "p2", "rs1", status={"phase": "Running", "containerStatuses": statuses})


@pytest.fixture
def session() -> LoggingSession:
    found = LoggingSession(world())
    found.logs.write(POD, *(f'level=info msg="reconciled" loop={number}' for number in range(100)))
    return found


async def open_logs(pilot: Pilot[Any], about: str = "istio") -> KymatuiApp:
    app = await ready(pilot)
    app.ways.open(ScreenStep("logs", about))
    await until(pilot, lambda: isinstance(app.screen, LogsScreen))
    return app


def log(app: KymatuiApp) -> LogText:
    return app.screen.query_one(LogText)


def lines(app: KymatuiApp) -> list[str]:
    with log(app)._link.lock:
        return [line.text for line in log(app).window.lines]


def on_screen(app: KymatuiApp) -> list[str]:
    """The rows of the log as they are drawn."""
    width, height = log(app).size
    return [
        "".join(segment.text for segment in strip).rstrip()
        for strip in log(app).render_lines(log(app).size.region)[:height]
        if width
    ]


def state(app: KymatuiApp) -> str:
    return text(app, "#logs-state")


async def test_another_session_with_the_same_cluster_reads_on(session: LoggingSession) -> None:
    async with app_on(session).run_test(size=SIZE) as pilot:
        app = await open_logs(pilot)
        await until(pilot, lambda: len(lines(app)) == 100)
        again = LoggingSession(world())
        again.logs.write(POD, "level=info through the new connection")
        app.open_context(lambda: again, ClusterConnection("prod-eu", "", read_only=False), again=True)
        await until(pilot, lambda: lines(app) == ["level=info through the new connection"])
        assert session.logs.open == 0


async def test_l_opens_the_managers_log_and_escape_leads_back(session: LoggingSession) -> None:
    async with app_on(session).run_test(size=SIZE) as pilot:
        app = await ready(pilot)
        table(app).move_to("istio")
        await pilot.press("l")
        await until(pilot, lambda: isinstance(app.screen, LogsScreen) and len(lines(app)) == 100)
        assert text(app, "#logs-title") == f"{POD}/manager · last 1,000 lines"
        assert on_screen(app)[-1] == ' level=info msg="reconciled" loop=99'
        assert session.logs.queries[0].options.tail == 1000
        await pilot.press("escape")
        await until(pilot, lambda: app.shown is not None and app.shown.step.kind == "modules")
        await until(pilot, lambda: session.logs.open == 0)
        assert table(app).cursor_key == "istio"


async def test_new_lines_are_displayed_while_it_follows(session: LoggingSession) -> None:
    async with app_on(session).run_test(size=SIZE) as pilot:
        app = await open_logs(pilot)
        await until(pilot, lambda: len(lines(app)) == 100)
        session.logs.write(POD, "new line", second=1)
        await until(pilot, lambda: on_screen(app)[-1] == " new line")
        await pilot.press("k")
        session.logs.write(POD, "unseen line", second=2)
        await until(pilot, lambda: "102 lines" in state(app))
        assert "stopped (f follows)" in state(app)
        assert on_screen(app)[-1] == ' level=info msg="reconciled" loop=99'
        await pilot.press("f")
        await until(pilot, lambda: on_screen(app)[-1] == " unseen line" and "following" in state(app))


async def test_pods_of_one_workload_are_interleaved_with_labels_and_new_pods_join(session: LoggingSession) -> None:
    async with app_on(session).run_test(size=SIZE) as pilot:
        app = await open_logs(pilot)
        await until(pilot, lambda: len(lines(app)) == 100)
        session.logs.write(SECOND_POD, "from the second Pod", second=1)
        session.show(owned=(*OWNED, second_pod()))
        await until(pilot, lambda: len(lines(app)) == 101)
        session.logs.write(POD, "from the first Pod", second=2)
        await until(pilot, lambda: len(lines(app)) == 102)
        assert [row.split() for row in on_screen(app)[-2:]] == [
            ["q9q", "from", "the", "second", "Pod"],
            ["x2x", "from", "the", "first", "Pod"],
        ]
        assert text(app, "#logs-title").startswith("2 containers of 2 Pods")


async def test_the_containers_are_chosen_in_a_dialog(session: LoggingSession) -> None:
    session.show(owned=(*OWNED, second_pod()))
    session.logs.write(SECOND_POD, "from the proxy", container="istio-proxy")
    async with app_on(session).run_test(size=SIZE) as pilot:
        app = await open_logs(pilot)
        await until(pilot, lambda: len(lines(app)) == 100)
        await pilot.press("o")
        await until(pilot, lambda: bool(app.screen.query("#choice-container")))
        await pilot.press("tab", "G", "k", "enter")
        await until(pilot, lambda: isinstance(app.screen, LogsScreen) and lines(app) == ["from the proxy"])
        assert text(app, "#logs-title") == f"{SECOND_POD}/istio-proxy · last 1,000 lines"


async def test_p_reads_the_instance_before_the_last_restart_and_back(session: LoggingSession) -> None:
    session.logs.previous[POD] = [b"2026-03-01T11:00:00Z panic: no memory\n"]
    async with app_on(session).run_test(size=SIZE) as pilot:
        app = await open_logs(pilot)
        await until(pilot, lambda: len(lines(app)) == 100)
        await pilot.press("p")
        await until(pilot, lambda: lines(app) == ["panic: no memory"])
        assert "before the last restart" in text(app, "#logs-title")
        await pilot.press("p")
        await until(pilot, lambda: len(lines(app)) == 100)


async def test_since_is_chosen_in_a_dialog(session: LoggingSession) -> None:
    async with app_on(session).run_test(size=SIZE) as pilot:
        app = await open_logs(pilot)
        await until(pilot, lambda: len(lines(app)) == 100)
        await pilot.press("s")
        await until(pilot, lambda: bool(app.screen.query("#choice-since")))
        await pilot.press("j", "j", "enter")
        await until(pilot, lambda: isinstance(app.screen, LogsScreen) and "last 5m" in text(app, "#logs-title"))
        await until(pilot, lambda: session.logs.queries[-1].options.since == 300)
        assert session.logs.queries[-1].options.tail is None


async def test_search_marks_and_moves_and_the_filter_hides(session: LoggingSession) -> None:
    async with app_on(session).run_test(size=SIZE) as pilot:
        app = await open_logs(pilot)
        await until(pilot, lambda: len(lines(app)) == 100)
        await pilot.press("slash", *"loop=7", "enter")
        await until(pilot, lambda: any(row.endswith("loop=79") for row in on_screen(app)))
        assert "/loop=7" in state(app)
        await pilot.press(*["N"] * 10)
        await until(pilot, lambda: any(row.endswith("loop=7") for row in on_screen(app)))
        await pilot.press("n", "ampersand")
        await until(pilot, lambda: app.focused is not None and app.focused.has_class("typing"))
        await pilot.press(*"loop=7$|loop=99", "enter")
        await until(pilot, lambda: len(lines(app)) == 2)
        assert "filter loop=7$|loop=99: 2 shown" in state(app)
        session.logs.write(POD, "hidden", second=3)
        await until(pilot, lambda: "101 lines" in state(app))
        assert len(lines(app)) == 2
        await pilot.press("escape")
        await until(pilot, lambda: "/loop=7" not in state(app))
        await pilot.press("escape")
        await until(pilot, lambda: len(lines(app)) == 101)
        assert isinstance(app.screen, LogsScreen)


async def test_a_wrong_pattern_is_a_message_and_changes_nothing(session: LoggingSession) -> None:
    async with app_on(session).run_test(size=SIZE) as pilot:
        app = await open_logs(pilot)
        await until(pilot, lambda: len(lines(app)) == 100)
        app.shown.command_line.run("filter [")  # type: ignore[union-attr]
        await pilot.pause()
        assert "invalid regular expression" in app.problems[-1]
        assert len(lines(app)) == 100


async def test_times_and_wrapping(session: LoggingSession) -> None:
    session.logs.write(POD, "x" * 300, second=5)
    async with app_on(session).run_test(size=SIZE) as pilot:
        app = await open_logs(pilot)
        await until(pilot, lambda: len(lines(app)) == 101)
        assert len(on_screen(app)[-1]) == 120
        await pilot.press("w")
        await until(pilot, lambda: on_screen(app)[-1] == " " + "x" * (300 - 2 * 119))
        await pilot.press("w", "t")
        await until(pilot, lambda: on_screen(app)[-1].startswith(" 2026-03-01T12:00:05.000000000Z xxx"))
        await pilot.press("right")
        await until(pilot, lambda: on_screen(app)[-1].startswith(" 000000000Z xxx"))


async def test_the_displayed_lines_are_copied_and_all_lines_saved(session: LoggingSession, tmp_path: Path) -> None:
    async with app_on(session).run_test(size=SIZE) as pilot:
        app = await open_logs(pilot)
        await until(pilot, lambda: len(lines(app)) == 100)
        await pilot.press("g", "c")
        await until(pilot, lambda: app.clipboard.startswith('level=info msg="reconciled" loop=0\n'))
        assert app.clipboard.count("\n") + 1 == len(on_screen(app))
        target = tmp_path / "istio.log"
        app.shown.command_line.run(f"save {target}")  # type: ignore[union-attr]
        await until(pilot, target.exists)
        assert len(target.read_text().splitlines()) == 100


async def test_a_line_of_the_tree_has_the_logs_of_its_own_pods(session: LoggingSession) -> None:
    async with app_on(session).run_test(size=SIZE) as pilot:
        app = await ready(pilot)
        app.ways.open(ScreenStep("module", "istio", "resources"))
        await until(pilot, lambda: bool(app.screen.query("#tree")) and bool(table(app).rows))
        for end, about in ((f"Pod.:kyma-system:{POD}", POD), ("ConfigMap.:kyma-system:istio-config", "istio")):
            table(app).move_to(next(key for key in shown(app) if key.endswith(end)))
            await pilot.press("l")
            await until(pilot, lambda: isinstance(app.screen, LogsScreen) and len(lines(app)) == 100)
            assert app.shown is not None
            assert app.shown.step.crumb == f"logs {about}"
            await pilot.press("escape")
            await until(pilot, lambda: bool(app.screen.query("#tree")))


@pytest.mark.parametrize("kind", ["delete", "problems"])
async def test_other_screens_lead_to_the_log(session: LoggingSession, kind: str) -> None:
    async with app_on(session).run_test(size=SIZE) as pilot:
        app = await ready(pilot)
        app.ways.open(ScreenStep(kind, "istio" if kind == "delete" else ""))
        await until(pilot, lambda: app.shown is not None and app.shown.step.kind == kind)
        if kind == "problems":
            await until(pilot, lambda: bool(table(app).rows))
            table(app).move_to(next(key for key in shown(app) if "istio" in key))
        await pilot.press("l")
        await until(pilot, lambda: isinstance(app.screen, LogsScreen) and len(lines(app)) == 100)


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (ForbiddenError('pods/log is forbidden: User "viewer" cannot get'), f"forbidden: {POD}/manager: pods/log is"),
        (InvalidError("container is waiting to start: ContainerCreating"), f"waiting: {POD}/manager: container is"),
    ],
)
async def test_what_cannot_be_read_is_said(session: LoggingSession, error: KymatuiError, words: str) -> None:
    session.logs.refused[POD] = error
    async with app_on(session).run_test(size=SIZE) as pilot:
        app = await open_logs(pilot)
        await until(pilot, lambda: words in state(app))
        assert lines(app) == []


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"owned": ()}, "The manager of istio has no Pods."),
        ({"owned": (OWNED[0], {**OWNED[1], "status": {"phase": "Pending"}})}, f"No container has started yet: {POD}"),
        (
            {"owned": (), "feeds": {namespaced_feed("pods", "kyma-system"): Feed(FeedState.SYNCING)}},
            "Pods: loading (pods in kyma-system)",
        ),
    ],
)
async def test_no_containers_have_a_reason(session: LoggingSession, changes: dict[str, Any], words: str) -> None:
    session.show(**changes)
    async with app_on(session).run_test(size=SIZE) as pilot:
        app = await open_logs(pilot)
        await until(pilot, lambda: words in text(app, "#logs-title"))


async def test_a_module_without_a_manager_has_no_log_of_it(session: LoggingSession) -> None:
    async with app_on(session).run_test(size=SIZE) as pilot:
        app = await open_logs(pilot, "serverless")
        await until(pilot, lambda: text(app, "#logs-title") == "serverless has no manager here; see all Pods (o).")


async def test_hostile_lines_do_nothing_to_the_terminal(session: LoggingSession) -> None:
    session.logs.write(POD, "\x1b]0;owned\x07\x1b[2Jclear\u202e", second=9)
    async with app_on(session).run_test(size=SIZE) as pilot:
        app = await open_logs(pilot)
        await until(pilot, lambda: len(lines(app)) == 101)
        assert lines(app)[-1] == "clear "


@pytest.mark.parametrize("size", [(120, 40), (80, 24)], ids=["120x40", "80x24"])
def test_pictures(size: tuple[int, int], compare: Compare, session: LoggingSession) -> None:
    session.show(owned=(*OWNED, second_pod()))
    session.logs.write(SECOND_POD, "warning: 2 retries left", 'level=error msg="no route"', second=1)
    session.logs.write(POD, "panic: " + "x" * 200, second=2)

    async def walk(pilot: Pilot[Any]) -> None:
        app = await open_logs(pilot)
        await until(pilot, lambda: len(lines(app)) == 103)
        await pilot.press("slash", *"retries", "enter")
        await until(pilot, lambda: "/retries" in state(app))

    assert compare(app_on(session), size, walk)
