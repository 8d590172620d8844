"""Application on many contexts: the first screen is the fleet of their clusters, below it each has its catalog."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from kymatui.adapters.files.context_memory import FLEET_OF_CONTEXTS, ContextMemory
from kymatui.domain.fleet.fleet_tracker import RuntimeKey
from kymatui.domain.snapshot.snapshots import FeedState
from kymatui.settings.options_schema import ACCENTS
from kymatui.ui.application.fleet_app import ANYWHERE, AT_RUNTIME, FleetApp
from kymatui.ui.application.kymatui_app import KymatuiApp
from kymatui.ui.connection.cluster_link import ClusterConnection
from kymatui.ui.connection.cluster_view import ClusterView
from kymatui.ui.connection.fleet_view import ContextsView, RuntimeViews
from kymatui.ui.connection.mailbox import Mailbox
from kymatui.ui.flows.flow_app import Favourites, selected_context
from kymatui.ui.navigation.command_table import ScreenCommand, unknown_name
from kymatui.ui.navigation.history import WHATIF
from kymatui.ui.presenters.fleet.runtime_rows import count_contexts
from kymatui.ui.widgets.top_line import FrameFacts

if TYPE_CHECKING:
    from kymatui.sessions.context_fleet import ContextFleet

_REPLACED = frozenset({*AT_RUNTIME, *ANYWHERE, WHATIF, "runtime", "ns", "ctx", "modules"})
"""Commands of a control plane, and of one context."""


class ContextsApp(FleetApp):
    """Fleet without a control plane: what is displayed below it is a context, with its own settings."""

    has_contexts = True
    subject = "context"

    def first_view(self, connect: Callable[[], Any], mailbox: Mailbox) -> ClusterView:
        self._shown_key: RuntimeKey | None = None
        self.source: ContextFleet | None = None

        def opened() -> ContextFleet:
            self.source = connect()
            return self.source

        self.runtimes = RuntimeViews(mailbox, self.clock, busy=self._is_busy, new_view=ClusterView)
        self.fleet_view = ContextsView(opened, mailbox, self.clock, self.runtimes.close)
        self._went_straight = False
        return self.fleet_view

    def on_mount(self) -> None:
        self.left = Favourites(self, ContextMemory(), lambda: self.jobs, self.redraw)
        self.jobs.run_beside(self.left.load(FLEET_OF_CONTEXTS))

    # displayed context

    def _arrive(self, connection: ClusterConnection) -> None:
        """Take the fleet's own mode, and report its interrupted jobs; its name is no context."""
        self._apply_context()
        self.jobs.run_beside(KymatuiApp.look_back(self, connection))

    async def look_back(self, connection: ClusterConnection) -> None:
        """Report what an earlier run left unfinished in the context that was opened, and read its row again."""
        if self.source is not None and ("", connection.context) in self.runtimes.feeds():
            self.source.read_again(connection.context)
        await KymatuiApp.look_back(self, connection)

    def _follow_context(self) -> None:
        """Take name, mode, colours and pins of the context that the screens are about, when it is another one."""
        if self.runtime_key != self._shown_key:
            self._shown_key = self.runtime_key
            self._apply_context()

    def _apply_context(self) -> None:
        key, source, accent = self._shown_key, self.source, ""
        forced = self.is_audit or (source is not None and source.read_only)
        self._place, self.read_only = source.name if source is not None else "contexts", forced
        if key is not None and source is not None:
            entry = source.entry(key[1])
            self._place, self.read_only, accent = entry.name, forced or entry.read_only, entry.accent
            self.jobs.run_beside(self.favourites.load(entry.name))
        for name in ACCENTS:
            self.set_class(name == accent, f"-accent-{name}")

    @property
    def frame_facts(self) -> FrameFacts:
        self._follow_context()
        facts = super(FleetApp, self).frame_facts  # how a context is connected is its own, as for a single one
        if self.runtime_key is not None or self.fleet is None:
            return facts
        return replace(facts, counts=count_contexts(self.fleet.picture.clusters.values()))

    @property
    def why_no_writes(self) -> str:
        feed = self.runtime_feed
        if self.runtime_key is not None and feed is not None and feed.state is not FeedState.LIVE:
            return "still loading" if feed.state is FeedState.SYNCING else "cannot read the context"
        return super().why_no_writes

    def commands(self) -> Sequence[ScreenCommand]:
        """Return the commands of the fleet without those that need a control plane."""
        own = [command for command in super().commands() if command.name not in _REPLACED]
        opening = ScreenCommand(
            "ctx [NAME]",
            "open the catalog of a context; without a name the fleet",
            partial(_open, self),
            aliases=("context", "contexts"),
            arguments=partial(_names, self),
        )
        catalog = ScreenCommand(
            "catalog", "open the catalog of the context under the cursor", partial(_catalog, self), aliases=("modules",)
        )
        return (catalog, opening, *own)


def _names(app: ContextsApp) -> Sequence[str]:
    return [name for _, name in app.fleet.picture.clusters] if app.fleet is not None else ()


def _open(app: ContextsApp, words: Sequence[str]) -> None:
    names = _names(app)
    if not words:
        app.ways.climb_to(0)
    elif words[0] not in names:
        app.problem(unknown_name("context", words[0], names, "ctx [NAME]"))
    else:
        app.ways.climb_to(0)
        app.look_at(("", words[0]))


def _catalog(app: ContextsApp, words: Sequence[str]) -> None:
    del words
    if app.runtime_key is not None:
        app.ways.climb_to_catalog()
        return
    if context := selected_context(app):
        app.look_at(("", context))
    else:
        app.problem("select a context first, or type `:ctx NAME`")
