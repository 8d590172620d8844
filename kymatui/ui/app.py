"""The application: one connection, a stack of screens, themes, problems. Screens have the rest."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar

from textual.app import App
from textual.binding import Binding, BindingType

from kymatui.errors import ConfigurationError, KymatuiError
from kymatui.settings.loading import Settings
from kymatui.settings.schema import ACCENTS
from kymatui.ui.commands import ScreenCommand
from kymatui.ui.glyphs import ASCII, UNICODE
from kymatui.ui.link import CATALOG, CLUSTER, FAILURE, ClusterLink, Place, Seen, Session
from kymatui.ui.mailbox import Mailbox
from kymatui.ui.presenters.connection import Connection, describe
from kymatui.ui.screens.catalog import CatalogScreen
from kymatui.ui.screens.framed import FramedScreen
from kymatui.ui.stylesheets import styles_dir
from kymatui.ui.themes import THEMES
from kymatui.ui.widgets.frame import FrameFacts

if TYPE_CHECKING:
    from kymatui.domain.refs import ObjectRef
    from kymatui.domain.remembering import Memory
    from kymatui.domain.rows import Catalog
    from kymatui.domain.snapshots import Snapshot


class KymatuiApp(App[int]):
    """`connect` opens the session; it is called in a thread after the first paint."""

    TITLE = "kymatui"
    CSS_PATH = [styles_dir() / "app.tcss"]  # noqa: RUF012 (Textual declares it so)
    ENABLE_COMMAND_PALETTE = True
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (100, "-wide")]  # noqa: RUF012
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("q", "quit", "Quit", id="app.quit"),
        Binding("ctrl+r", "reconnect", "Ask the server again", show=False, id="app.refresh"),
        Binding("ctrl+p", "command_palette", "Command palette", show=False, id="app.palette"),
        Binding("ctrl+c", "interrupt", "Quit (twice)", show=False, id="app.interrupt", priority=True),
    ]

    def __init__(
        self,
        connect: Callable[[], Session],
        *,
        context: str = "",
        namespace: str = "",
        read_only: bool = False,
        settings: Settings | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        super().__init__()
        for look in THEMES:
            self.register_theme(look)
        self.settings = settings or Settings()
        self.theme = f"kymatui-{self.settings.theme}"
        self.set_keymap(self.settings.keys)
        self.clock = clock
        self.glyphs: Mapping[str, str] = ASCII if self.settings.ascii else UNICODE
        self.fatal: KymatuiError | None = None
        self.snapshot: Snapshot | None = None
        self.catalog: Catalog | None = None
        self.failure: KymatuiError | None = None
        self.problems: list[str] = []
        self._place, self._namespace, self._read_only = context, namespace, read_only
        self._mailbox = Mailbox(self._deliver)
        self._link = ClusterLink(connect, self._read, self._mailbox)
        self._memory: Memory | None = None
        self._looked_at: dict[object, tuple[ObjectRef, ...]] = {}
        self._interrupted_at = float("-inf")

    def _read(self, snapshot: Snapshot) -> Catalog:
        """Runs in the link's thread, and so do the imports, which the first paint must not wait for."""
        import kymatui.ui.presenters.catalog  # noqa: F401
        from kymatui.domain.catalog import catalog
        from kymatui.domain.remembering import Memory

        if self._memory is None:
            self._memory = Memory()

        return catalog(snapshot, self.clock(), memory=self._memory)

    # life

    def on_mount(self) -> None:
        self.set_class(self.settings.ascii, "-ascii")
        self.push_screen(CatalogScreen())
        self.call_after_refresh(self._begin)

    def _begin(self) -> None:
        self._mailbox.open()
        self._link.start()
        self.set_interval(1, self._tick)

    def on_unmount(self) -> None:
        self._mailbox.close()
        self._link.close()

    def follow_events(self, looker: object, refs: tuple[ObjectRef, ...]) -> None:
        """A screen says whose events it shows; with none it shows them no longer. The last to come is served first."""
        if self._looked_at.get(looker, ()) == refs:
            return
        self._looked_at.pop(looker, None)
        if refs:
            self._looked_at[looker] = refs
        self._link.follow_events(tuple(ref for found in reversed(self._looked_at.values()) for ref in found))

    def _tick(self) -> None:
        """Ages move only where something is stale; a live picture costs nothing while nothing happens."""
        if self.connection.stale_since:
            self.show_frame()

    # what arrives from the cluster

    def _deliver(self, values: Mapping[str, object]) -> None:
        place = values.get(CLUSTER)
        if isinstance(place, Place):
            self._arrive(place)
        failure = values.get(FAILURE)
        if isinstance(failure, KymatuiError):
            self._failed(failure)
        seen = values.get(CATALOG)
        if isinstance(seen, Seen):
            self.snapshot, self.catalog, self.failure = seen.snapshot, seen.catalog, None
        self.show_frame()
        for screen in self.screen_stack:
            if isinstance(screen, FramedScreen):
                screen.show_catalog()

    def _arrive(self, place: Place) -> None:
        """The accent of the context colours the frame, so that production looks like production."""
        self._place = self._place or place.context
        self._namespace, self._read_only = place.namespace, place.read_only
        accent = self.settings.context(place.context).accent
        for name in ACCENTS:
            self.set_class(name == accent, f"-accent-{name}")

    def _failed(self, failure: KymatuiError) -> None:
        self.failure = failure
        if isinstance(failure, ConfigurationError):  # there is nothing to wait for: the words belong on the terminal
            self.fatal = failure
            self.exit(failure.exit_code, return_code=failure.exit_code)

    @property
    def connection(self) -> Connection:
        if self.failure is not None:
            return Connection("offline", "error")
        return describe(self.snapshot.feeds if self.snapshot else {}, self.clock())

    @property
    def frame_facts(self) -> FrameFacts:
        connection = self.connection
        counts = ""
        if self.catalog is not None:
            counts = f"modules {len(self.catalog.rows)}  problems {len(self.catalog.problems)}"
        return FrameFacts(
            cluster=self._place or (self.snapshot.cluster if self.snapshot else ""),
            namespace=self._namespace,
            mode="READ-ONLY" if self._read_only else "RW",
            connection=connection.word,
            tone=connection.tone,
            counts=counts,
            sign=self.glyphs.get(connection.tone, ""),
        )

    def show_frame(self) -> None:
        facts = self.frame_facts
        for screen in self.screen_stack:
            if isinstance(screen, FramedScreen) and screen.is_mounted:
                screen.show_frame(facts)

    # what the person asks for

    def commands(self) -> Sequence[ScreenCommand]:
        """The commands that work on every screen."""
        names = tuple(theme.name.removeprefix("kymatui-") for theme in THEMES)
        return (
            ScreenCommand("quit", "leave kymatui", lambda _: self.exit(0), aliases=("q", "q!")),
            ScreenCommand("help", "every key and command", lambda _: self._help()),
            ScreenCommand("theme", "change the look", self._theme, usage="theme NAME", arguments=lambda: names),
            ScreenCommand("refresh", "ask the server again", lambda _: self.action_reconnect()),
        )

    def _help(self) -> None:
        if isinstance(self.screen, FramedScreen):
            self.screen.action_help()

    def _theme(self, words: Sequence[str]) -> None:
        name = f"kymatui-{words[0]}" if words else ""
        if name in {theme.name for theme in THEMES}:
            self.theme = name
        else:
            self.problem("which theme? " + ", ".join(theme.name.removeprefix("kymatui-") for theme in THEMES))

    def problem(self, text: str) -> None:
        """Says what went wrong and keeps it: a toast is easy to miss."""
        self.problems.append(text)
        self.notify(text, severity="warning", markup=False)

    def action_reconnect(self) -> None:
        self._link.retry()

    def action_interrupt(self) -> None:
        now = self.clock()
        if now - self._interrupted_at < 2:
            self.exit(130, return_code=130)
            return
        self._interrupted_at = now
        self.notify("press ctrl-c again to quit", timeout=2)

    async def action_quit(self) -> None:
        self.exit(0)
