"""What all screens have in common: the frame, the way to other screens and back, and a help that is complete."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, ClassVar, cast

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.widgets import Static

from kymatui.ui.base.prompt_screen import PromptingScreen
from kymatui.ui.navigation.command_table import ScreenCommand
from kymatui.ui.navigation.history import ScreenStep
from kymatui.ui.navigation.key_help import KeyHelp, group_of, join_keys, key_name
from kymatui.ui.widgets.key_bar import KeyBar
from kymatui.ui.widgets.live_table import LiveTable
from kymatui.ui.widgets.top_line import FrameFacts, TopLine

if TYPE_CHECKING:
    from kymatui.ui.base.screen_app import ScreenApp

_HISTORY = {
    "history_back": "there is nothing before this",
    "history_forward": "you did not go back",
    "history_toggle": "you were nowhere else",
}


class FramedScreen(PromptingScreen):
    """A screen with the frame. Subclasses give their `step`, a `body`, and say why an action is off."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("question_mark", "help", "Help", id="app.help", key_display="?"),
        Binding("escape", "back", "Back", id="app.back"),
        Binding("left_square_bracket", "history_back", "Where you were before", show=False, id="app.history-back"),
        Binding("right_square_bracket", "history_forward", "Forward again", show=False, id="app.history-forward"),
        Binding("minus", "history_toggle", "Where you were last", show=False, id="app.history-toggle"),
        Binding("M", "open('channels')", "Channels side by side", show=False, id="app.channels"),
        Binding("P", "open('problems')", "Problems", show=False, id="app.problem-list"),
        Binding("H", "open('changes')", "What changed", show=False, id="app.changes"),
        Binding("J,ctrl+o", "open('jobs')", "Jobs", show=False, id="app.jobs"),
        Binding("ctrl+s", "save", "Save what is shown", show=False, id="app.save"),
    ]

    WRITES: ClassVar[frozenset[str]] = frozenset()
    """The actions that change a cluster; they are off wherever nothing may be written."""

    name_in_help: ClassVar[str] = "This screen"

    # what a screen gives

    @property
    def step(self) -> ScreenStep:
        """What leads here again."""
        raise AssertionError(f"{type(self).__name__} has no step")

    def body(self) -> ComposeResult:
        """The widgets between the top line and the keys."""
        raise AssertionError(f"{type(self).__name__} has no body")

    def commands(self) -> Sequence[ScreenCommand]:
        """Commands of this screen alone; those of the app come on top."""
        return ()

    def show_catalog(self) -> None:
        """Draws what the app knows now; called whenever that changed."""

    async def show_tab(self, tab: str) -> None:
        """Opens one of the screen's tabs, where it has any."""
        del tab

    def why_off(self, action: str) -> str:
        """Why an action can do nothing now; empty where it can."""
        visits = self.kymatui.ways.visits
        can = {
            "history_back": visits.can_go(-1),
            "history_forward": visits.can_go(1),
            "history_toggle": visits.can_toggle,
        }
        if not can.get(action, True):
            return _HISTORY[action]
        if action in self.WRITES:
            return self.why_no_writes()
        if action in ("sort_next", "sort_turn") and (self.table is None or self.table.order is None):
            return "this list has an order of its own"
        return ""

    def exports(self) -> Mapping[str, Callable[[], str]]:
        """What can be saved here, by the ending of the file's name."""
        from kymatui.ui.viewmodels.table_export import FORMATS, export_table

        table = self.table
        found: dict[str, Callable[[], str]] = {}
        if table is not None:
            found = {form: partial(export_table, table.columns, table.rows, form) for form in FORMATS}
        return {**found, "svg": partial(self.app.export_screenshot, title="kymatui", simplify=True)}

    # the frame

    def compose(self) -> ComposeResult:
        yield TopLine(id="top")
        yield Static("", id="banner")
        yield from self.body()
        if self.kymatui.has_begun:  # the first paint of the first screen does not wait for it
            yield self.new_prompt()
        yield KeyBar(id="keys")

    @property
    def kymatui(self) -> ScreenApp:
        return cast("ScreenApp", self.app)

    @property
    def table(self) -> LiveTable | None:
        """The table that filters, orders and exports are about."""
        main = self.main_widget()
        return main if isinstance(main, LiveTable) else None

    def on_mount(self) -> None:
        self.show_frame(self.kymatui.frame_facts)

    @property
    def is_whole(self) -> bool:
        """Whether the widgets are there: not yet while the screen is made, and no more while it is taken away.

        Asked for every key that is drawn, so nothing is searched: the frame's widgets are the screen's own children.
        """
        return self.is_mounted and {TopLine, KeyBar} <= {type(child) for child in self.children}

    def ask_again(self) -> None:
        """Asks anew for what is not followed; for screens that have such things."""

    def catch_up(self) -> None:
        """Shows everything as it is now."""
        if self.is_whole:
            self.show_frame(self.kymatui.frame_facts)
            self.show_catalog()

    def advance(self, now: float) -> None:
        """Let the ages in the tables advance; nothing else changes while nothing arrives."""
        for table in self.query(LiveTable):
            if table.is_on_screen:
                table.advance(now)

    def on_screen_resume(self) -> None:
        """Hidden screens are not drawn while the cluster changes; they catch up when they are seen again."""
        self.catch_up()
        self.refresh_bindings()

    def show_frame(self, facts: FrameFacts) -> None:
        self.query_one(TopLine).facts = facts.with_trail(*(step.crumb for step in self.kymatui.ways.trail_to(self)))
        banner = self.query_one("#banner", Static)
        banner.display = bool(facts.banner)
        if facts.banner:
            banner.update(facts.banner)

    def on_top_line_chosen(self, event: TopLine.Chosen) -> None:
        """A click on a crumb leads there."""
        self.kymatui.ways.climb_to(event.number)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """The keys that open the prompt come before all others, so that what is typed right behind them is not lost;
        where a text is being typed they are part of it."""
        del parameters
        if action in ("filter", "command") and self.is_typing:
            return False
        return None if self.why_off(action) else True

    # filters and commands

    def all_commands(self) -> list[ScreenCommand]:
        return [*self.commands(), *self.kymatui.commands()]

    @property
    def filter_text(self) -> str:
        return self.table.filter.text if self.table is not None else ""

    def filter_changed(self, text: str) -> str:
        return self.table.set_filter(text) if self.table is not None else ""

    def said(self, text: str) -> None:
        self.kymatui.problem(text)

    def why_no_writes(self) -> str:
        return self.kymatui.why_no_writes

    async def action_save(self) -> None:
        form = "csv" if self.table is not None else "svg"
        await self.action_command(f"save {self.step.crumb}.{form}")

    # help and other screens

    def action_open(self, kind: str) -> None:
        self.kymatui.ways.open(ScreenStep(kind))

    def action_history_back(self) -> None:
        self.kymatui.ways.back()

    def action_history_forward(self) -> None:
        self.kymatui.ways.forward()

    def action_history_toggle(self) -> None:
        self.kymatui.ways.toggle()

    def action_back(self) -> None:
        """A filter is taken away first; then up one step. On the first screen there is nothing above."""
        if self.filter_text:
            self.filter_changed("")
        else:
            self.kymatui.ways.climb()

    def action_help(self) -> None:
        from kymatui.ui.base.help_screen import HelpScreen

        crumbs = " › ".join(step.crumb for step in self.kymatui.ways.trail_to(self))
        self.app.push_screen(HelpScreen(f"Keys › {crumbs}", self.key_help(), self.all_commands()))

    def key_help(self) -> list[KeyHelp]:
        """One line an action; bindings of one action are joined."""
        found: dict[tuple[str, str, str], tuple[list[str], str]] = {}
        for key, active in self.active_bindings.items():
            binding = active.binding
            if binding.system or not binding.description or not binding.id:
                continue
            group, action = group_of(binding.id, self.name_in_help), binding.action.partition("(")[0]
            names, _ = found.setdefault((group, binding.description, action), ([], binding.id))
            names.append(key_name(key))
        return [
            KeyHelp(group, join_keys(names), label, self.why_off(action.rpartition(".")[2]), name)
            for (group, label, action), (names, name) in found.items()
        ]
