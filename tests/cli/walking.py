"""Walks over every screen, read-only: presses the keys and types the commands that they offer.

Keys are taken from the bindings that are active, commands from the screens themselves, and the screens from their
modules, so that new ones are walked, too.
"""

from __future__ import annotations

import contextlib
import importlib
import pkgutil
from collections.abc import Iterator
from pathlib import Path

from textual.app import App
from textual.binding import ActiveBinding
from textual.pilot import Pilot
from textual.screen import ModalScreen, Screen

from kymatui.sessions.cluster.catalog_session import open_session
from kymatui.sessions.cluster.session_options import RemoteOptions, SessionOptions
from kymatui.sessions.control_plane.remote_session import RemoteSession
from kymatui.settings.config_file import Settings
from kymatui.ui import screens
from kymatui.ui.application.fleet_app import FleetApp
from kymatui.ui.application.kymatui_app import KymatuiApp
from kymatui.ui.base.framed_screen import FramedScreen
from kymatui.ui.navigation.command_table import ScreenCommand
from kymatui.ui.screens.fleet.fleet_list_screens import FleetProblemsScreen
from tests.adapters.clusters import Cluster, Exchange, serving, write_kubeconfig
from tests.sessions.worlds import KYMAS, kyma_cluster, named
from tests.ui.driving import until
from tests.ui.test_flow_snapshots import form

LEAVING = ("quit", "interrupt", "suspend_process")
SIZE = (120, 40)


@contextlib.contextmanager
def small_cluster() -> Iterator[Cluster]:
    """A cluster with a Kyma and two modules, that does whatever it is asked."""
    found = kyma_cluster(3)
    modules = [{"name": "moduleaa"}, {"name": "moduleac", "managed": False}]
    found.put(KYMAS, {"metadata": named("default"), "spec": {"channel": "regular", "modules": modules}})
    try:
        yield found
    finally:
        found.close()


class Tried:
    """What was walked over."""

    def __init__(self) -> None:
        self.screens: set[str] = set()
        self.keys: set[tuple[str, str, str]] = set()
        self.commands: set[tuple[str, str]] = set()
        self.asked: list[tuple[str, str]] = []
        """Method and path of every request that reached the server."""


class Walker:
    """Presses and types everything that a screen offers, and follows every way to another screen."""

    def __init__(self, pilot: Pilot[int], tried: Tried) -> None:
        self.pilot = pilot
        self.tried = tried
        self._walked: list[Screen[object]] = []
        self._left = False

    @property
    def app(self) -> KymatuiApp:
        app = self.pilot.app
        assert isinstance(app, KymatuiApp)
        return app

    async def walk(self) -> None:
        """The screen that is seen, and those behind it, until no key and no command is left that was not tried."""
        screen = self.app.screen
        if screen in self._walked:
            return
        self._walked.append(screen)
        self.tried.screens.add(type(screen).__name__)
        while (key := self._fresh_key(screen)) is not None:
            await self._press(screen, key)
            if screen not in self.app.screen_stack:  # a question that was answered: whoever asked it, asks again
                self._left = True
                break
        for owner, command in self._commands(screen):
            if screen in self.app.screen_stack and (owner, command.name) not in self.tried.commands:
                self.tried.commands.add((owner, command.name))
                for line in lines(command):
                    await self._run(screen, line)
        self._walked.remove(screen)

    async def _press(self, screen: Screen[object], key: str) -> None:
        """As often as a question behind the key has answers that were not tried."""
        for _ in range(20):
            self._left = False
            await self.pilot.press(key)
            await self._settle(screen)
            if not self._left or screen not in self.app.screen_stack:
                return

    def _fresh_key(self, screen: Screen[object]) -> str | None:
        """A key whose action was not tried here with what has the focus now."""
        for key, active in screen.active_bindings.items():
            if action_of(active) in LEAVING:
                continue
            here = (*doer_of(active, screen), active.binding.action)
            if here not in self.tried.keys:
                self.tried.keys.add(here)
                return key
        return None

    def _commands(self, screen: Screen[object]) -> list[tuple[str, ScreenCommand]]:
        """With whose they are: the screen's own, or the app's, which are the same everywhere."""
        if not isinstance(screen, FramedScreen):
            return []
        own = [(type(screen).__name__, command) for command in screen.commands()]
        return own + [("app", command) for command in self.app.commands()]

    async def _run(self, screen: Screen[object], line: str) -> None:
        if isinstance(screen, FramedScreen):
            screen.command_line.run(line)
            await self.pilot.pause()
            await self._settle(screen)

    async def _settle(self, screen: Screen[object] | FramedScreen) -> None:
        """Walks what has opened, and comes back; a flow opens its screens when it has asked the server."""
        while True:
            await until(self.pilot, lambda: not self.app.jobs.busy or isinstance(self.app.screen, ModalScreen))
            top = self.app.screen
            if top is screen or top in self._walked:
                return
            await self.walk()
            if self.app.screen is top:
                await self._close(top)

    async def _close(self, top: Screen[object]) -> None:
        if isinstance(top, ModalScreen):
            await self.pilot.press("escape")
        else:
            self.app.pop_screen()
        await self.pilot.pause()


def doer_of(active: ActiveBinding, screen: Screen[object]) -> tuple[str, str]:
    """What a key sets going: the method of an app or a screen, wherever it is pressed; a widget on its screen."""
    if isinstance(active.node, App | Screen):
        method = getattr(type(active.node), f"action_{action_of(active)}", None)
        return ("", getattr(method, "__qualname__", type(active.node).__name__))
    return (type(screen).__name__, type(active.node).__name__)


def action_of(active: ActiveBinding) -> str:
    return active.binding.action.partition("(")[0].rpartition(".")[2]


def lines(command: ScreenCommand) -> Iterator[str]:
    """The command alone, and with its first argument."""
    if command.name in LEAVING:
        return
    yield command.name
    for argument in list(command.arguments())[:1]:
        yield f"{command.name} {argument}"


def all_screens() -> set[str]:
    """The names of the screens that are defined, but for those that others are made of."""
    for module in pkgutil.iter_modules(screens.__path__, f"{screens.__name__}."):
        importlib.import_module(module.name)
    waiting: list[type[object]] = [Screen]
    found = set[str]()
    while waiting:
        one = waiting.pop()
        waiting += one.__subclasses__()
        if one.__module__.startswith(f"{screens.__name__}.") and not one.__subclasses__():
            found.add(one.__name__)
    return found


@contextlib.contextmanager
def read_only(folder: Path, tried: Tried) -> Iterator[SessionOptions]:
    """Options of a read-only session with the small cluster, which notes what it is asked."""
    with small_cluster() as cluster:

        def respond(exchange: Exchange) -> None:
            tried.asked.append((exchange.method, exchange.path))
            cluster.respond(exchange)

        with serving(respond) as address:
            yield SessionOptions(str(write_kubeconfig(folder, address)), read_only=True)
            cluster.close()


async def walk_catalog(folder: Path, tried: Tried) -> None:
    """The catalog and what is behind it, and then the form of a source that this cluster does not have."""
    with read_only(folder, tried) as options:
        app = KymatuiApp(lambda: open_session(options), read_only=True, settings=Settings())
        app.animation_level = "none"
        async with app.run_test(size=SIZE) as pilot:
            walker = Walker(pilot, tried)
            await until(pilot, lambda: app.catalog is not None and bool(app.catalog.rows))
            await walker.walk()
            await app.push_screen(form())
            await walker.walk()


async def walk_fleet(folder: Path, tried: Tried) -> None:
    """The cluster as a fleet, and what is behind it."""
    with read_only(folder, tried) as options:
        app = FleetApp(lambda: RemoteSession(RemoteOptions(options, by_hand=options)), settings=Settings())
        app.animation_level = "none"
        async with app.run_test(size=SIZE) as pilot:
            await until(pilot, lambda: app.fleet is not None and bool(app.fleet.rows))
            walker = Walker(pilot, tried)
            await walker.walk()
            await pilot.press("P")  # the key was tried on the catalog, where another screen is behind it
            await until(pilot, lambda: isinstance(app.screen, FleetProblemsScreen))
            await walker.walk()
