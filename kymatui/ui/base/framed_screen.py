"""Base of all screens: the frame, navigation to other screens and back, and a complete help."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, cast, runtime_checkable

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.widget import Widget

from kymatui.domain.kubernetes.terminal_text import sanitize
from kymatui.ui.base.screen_app import ScreenApp, ScreenPart
from kymatui.ui.base.screen_keys import DisabledKeysScreen, key_help, why_no_step
from kymatui.ui.navigation.command_table import (
    ScreenCommand,
    UnknownCommand,
    completion_candidates,
    completions,
    find_command,
)
from kymatui.ui.navigation.history import LOGS, OBJECT_LOGS, ScreenStep
from kymatui.ui.terminal.file_saving import as_file_name
from kymatui.ui.terminal.plain_widgets import Static
from kymatui.ui.widgets.live_table import LiveTable
from kymatui.ui.widgets.status_line import KeyBar
from kymatui.ui.widgets.top_line import FrameFacts, TopLine

if TYPE_CHECKING:
    from textual.screen import Screen

    from kymatui.ui.widgets.prompt import Mode, Prompt


class FramedScreen(ScreenPart, DisabledKeysScreen[None]):
    """Screen with the frame; subclasses return `step`, `body` and why an action is disabled."""

    # What opens a field comes before all other keys: text that is typed right after it would run keys otherwise.
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("slash", "filter", "Filter", id="app.filter", priority=True),
        Binding("colon", "command", "Command", id="app.command", priority=True),
        Binding("question_mark", "help", "Help", id="app.help", key_display="?", priority=True),
        Binding("escape", "back", "Back", id="app.back"),
        Binding("left_square_bracket", "history('back')", "Back in history", show=False, id="app.history-back"),
        Binding(
            "right_square_bracket", "history('forward')", "Forward in history", show=False, id="app.history-forward"
        ),
        Binding("minus", "history('toggle')", "Switch to last view", show=False, id="app.history-toggle"),
        Binding("M", "open('channels')", "Compare channels", show=False, id="app.channels"),
        Binding("P", "open('problems')", "Problems", show=False, id="app.problem-list"),
        Binding("H", "open('changes')", "Changes", show=False, id="app.changes"),
        Binding("J,ctrl+o", "open('jobs')", "Jobs", show=False, id="app.jobs"),
        Binding("ctrl+s", "save", "Save to a file", show=False, id="app.save", priority=True),
    ]

    WRITES: ClassVar[frozenset[str]] = frozenset()
    """The actions that change a cluster; they are off wherever nothing may be written."""

    KIND: ClassVar[str]
    """The kind of the step that opens this screen, where it needs no more."""
    name_in_help: ClassVar[str] = "This screen"

    def __init__(self) -> None:
        super().__init__()
        self.frame = ScreenFrame(self)
        self.filter_line = FilterLine(self.main_widget)
        self.command_line = CommandLine(
            self, self.commands, self.filter_line, lambda: self.set_focus(self.main_widget())
        )

    # for subclasses

    @property
    def step(self) -> ScreenStep:
        """Return the step that opens this screen again."""
        return ScreenStep(self.KIND)

    def body(self) -> ComposeResult:
        """Yield the widgets between the top line and the key bar."""
        raise AssertionError(f"{type(self).__name__} has no body")

    def main_widget(self) -> Widget:
        """Return the widget that has the focus by default."""
        return self

    def commands(self) -> Sequence[ScreenCommand]:
        """Return the commands of this screen without those of the app."""
        return ()

    def show_catalog(self) -> None:
        """Draw the current state of the app; called after every change."""

    def why_off(self, action: str, choice: object = "") -> str:
        """Return why an action with its first parameter is disabled now; "" where it is enabled."""
        if action == "history":
            return why_no_step(self.kymatui.ways.visits, choice)
        if action == "open":
            return self.kymatui.ways.why_no_list(str(choice))
        if action == "plugin":
            return str(self.kymatui.plugins.why_off(choice))
        if action in self.WRITES:
            return self.kymatui.why_no_writes
        table = self.filter_line.table
        if action == "reorder" and (table is None or table.order is None):
            return "fixed order"
        return ""

    def exports(self) -> Mapping[str, Callable[[], str]]:
        """Return the exports of this screen by file suffix."""
        from kymatui.ui.viewmodels.table_export import FORMATS, export_table

        table = self.filter_line.table
        exports: dict[str, Callable[[], str]] = {}
        if table is not None:
            exports = {form: partial(export_table, table.grid.columns, table.rows, form) for form in FORMATS}
        return {**exports, "svg": partial(self.app.export_screenshot, title="kymatui", simplify=True)}

    # the frame

    def compose(self) -> ComposeResult:
        yield TopLine(id="top")
        yield Static("", id="banner")
        yield from self.body()
        if self.kymatui.has_begun:  # not before the first paint of the first screen
            yield self.command_line.new_prompt()
        yield KeyBar(id="keys")

    def on_mount(self) -> None:
        self.frame.show(self.kymatui.frame_facts)

    def catch_up(self) -> None:
        """Draw everything as it is now."""
        if self.frame.is_whole:
            self.frame.show(self.kymatui.frame_facts)
            self.show_catalog()

    def on_screen_resume(self) -> None:
        """Draw the changes that came while the screen was hidden; hidden screens are not drawn."""
        self.catch_up()
        self.refresh_bindings()

    def on_top_line_chosen(self, event: TopLine.Chosen) -> None:
        """Go to the crumb that was clicked."""
        self.kymatui.ways.climb_to(event.number)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action in ("filter", "command") and self.command_line.is_typing:
            return False
        return None if self.why_off(action, *parameters[:1]) else True

    # filters and commands

    async def action_filter(self) -> None:
        await self.command_line.open_filter()

    async def action_command(self, text: str = "") -> None:
        await self.command_line.open_command(text)

    async def action_save(self) -> None:
        form = "csv" if self.filter_line.table is not None else "svg"
        await self.command_line.open_command(f"save {as_file_name(self.step.crumb)}.{form}")

    # help and other screens

    def action_open(self, kind: str) -> None:
        """Open another screen; logs are those of what this screen is about."""
        navigation = self.kymatui.ways
        navigation.open(
            ScreenStep(kind, self.step.about) if kind in (LOGS, OBJECT_LOGS) else navigation.step_here(kind)
        )

    def action_history(self, step: str) -> None:
        navigation = self.kymatui.ways
        {"back": navigation.back, "forward": navigation.forward, "toggle": navigation.toggle}[step]()

    def action_back(self) -> None:
        """Clear the filter, else close the screen; do nothing on the first screen."""
        if self.filter_line.text:
            self.filter_line.set("")
        else:
            self.kymatui.ways.climb()

    def action_help(self) -> None:
        from kymatui.ui.base.help_screen import HelpScreen

        crumbs = " › ".join(step.crumb for step in self.kymatui.ways.trail_to(self))
        keys = key_help(self, self.name_in_help, self.why_off)
        self.app.push_screen(HelpScreen(f"Keys › {crumbs}", keys, self.command_line.commands()))


# Frame around every full screen: top line, banner and key bar.


@runtime_checkable
class HasTabs(Protocol):
    """Screen with tabs that a step can name."""

    async def show_tab(self, tab: str) -> None: ...


@runtime_checkable
class AsksAgain(Protocol):
    """Screen with unwatched content, which it reads again on request."""

    def ask_again(self) -> None: ...


class ScreenFrame:
    """Frame of one screen."""

    def __init__(self, screen: Screen[Any]) -> None:
        self._screen = screen

    @property
    def is_whole(self) -> bool:
        """Return whether the frame's widgets exist; False during composition and removal.

        Called for every key that is drawn, so it searches nothing: the widgets are children of the screen.
        """
        return self._screen.is_mounted and {TopLine, KeyBar} <= {type(child) for child in self._screen.children}

    def show(self, facts: FrameFacts) -> None:
        trail = cast("ScreenApp", self._screen.app).ways.trail_to(self._screen)
        self._screen.query_one(TopLine).facts = facts.with_trail(*(step.crumb for step in trail))
        banner = self._screen.query_one("#banner", Static)
        banner.display = bool(facts.banner)
        if facts.banner:
            banner.update(facts.banner)


class ListScreen(FramedScreen):
    """Screen whose table has the focus and takes filters, orders and exports."""

    TABLE_OPENS: ClassVar[bool] = True
    """Whether a row leads to another screen."""

    def on_mount(self) -> None:
        super().on_mount()
        self.show_catalog()
        self.set_focus(self.main_widget())

    def main_widget(self) -> LiveTable:
        return self.query_one(LiveTable)

    def open_module(self, name: str, tab: str) -> None:
        """Open a module unless it has left the catalog."""
        catalog = self.kymatui.catalog
        if catalog is not None and catalog.row(name) is not None:
            self.kymatui.ways.open(ScreenStep("module", name, tab))
        else:
            message = f"{sanitize(name)} is not in this catalog" if name else "this line has no module"
            self.notify(message, timeout=3)


# Prompt at the bottom of a screen: a filter (`/`) applies on each key, a command (`:`) on Enter.


_SUGGESTED = 12  # commands on one line; an ellipsis stands for the others


@runtime_checkable
class Filterable(Protocol):
    """Widget with a filter: a table hides rows, a document marks matches."""

    @property
    def filter_text(self) -> str: ...

    def set_filter(self, text: str) -> str:
        """Apply a filter; return the problem with it, or ""."""


class FilterLine:
    """Filter of the focused widget, or of the default widget."""

    def __init__(self, main_widget: Callable[[], Widget]) -> None:
        self._main_widget = main_widget

    @property
    def target(self) -> Filterable | None:
        main = self._main_widget()
        return main if isinstance(main, Filterable) else None

    @property
    def table(self) -> LiveTable | None:
        """Return the table that filters, orders and exports apply to."""
        main = self._main_widget()
        return main if isinstance(main, LiveTable) else None

    @property
    def text(self) -> str:
        return self.target.filter_text if self.target is not None else ""

    def set(self, text: str) -> str:
        """Apply a filter; return the problem with it, or ""."""
        return self.target.set_filter(text) if self.target is not None else ""


class CommandLine:
    """Prompt of one screen with the commands that it runs."""

    def __init__(
        self,
        screen: Screen[None],
        commands: Callable[[], Sequence[ScreenCommand]],
        filter_line: FilterLine,
        leave: Callable[[], object],
    ) -> None:
        """Take `commands` of the screen alone; `leave` returns the focus."""
        self._screen = screen
        self._own_commands = commands
        self._filter = filter_line
        self._leave = leave
        self._prompt: Prompt | None = None

    @property
    def _app(self) -> ScreenApp:
        return cast("ScreenApp", self._screen.app)

    def commands(self) -> Sequence[ScreenCommand]:
        """Return every command of the screen and of the app."""
        return [*self._own_commands(), *self._app.commands()]

    @property
    def is_typing(self) -> bool:
        """Return whether a text input has the focus."""
        focused = self._screen.focused
        return focused is not None and focused.has_class("typing")

    async def open_filter(self) -> None:
        (await self._mounted()).open("filter", self._filter.text)

    async def open_command(self, text: str = "") -> None:
        (await self._mounted()).open("command", text, candidates=completion_candidates(self.commands()))

    async def prepare(self) -> None:
        """Mount the prompt before it is needed, unless the screen is being closed."""
        if self._screen.is_attached:
            await self._mounted()

    def new_prompt(self) -> Prompt:
        from kymatui.ui.widgets.prompt import Prompt

        self._prompt = Prompt(self)
        return self._prompt

    async def _mounted(self) -> Prompt:
        if self._prompt is None:
            await self._screen.mount(self.new_prompt(), before="#keys")
        assert self._prompt is not None
        return self._prompt

    # typed text

    def changed(self, prompt: Prompt, mode: Mode, text: str) -> None:
        prompt.note(self._filter.set(text) if mode == "filter" else self._hint(text))

    def cancelled(self, prompt: Prompt, mode: Mode) -> None:
        if mode == "filter":
            self._filter.set("")
        self._close(prompt)

    def submitted(self, prompt: Prompt, mode: Mode, text: str) -> None:
        self._close(prompt)
        if mode == "command" and text.strip():
            self.run(text)

    def _close(self, prompt: Prompt) -> None:
        prompt.close()
        self._leave()

    def _hint(self, line: str) -> str:
        """Return the usage of the command, or similar commands."""
        commands = self.commands()
        offered = completions(commands, line)
        if len(offered) > 1:
            more = " …" if len(offered) > _SUGGESTED else ""
            return "  ".join(offered[:_SUGGESTED]) + more
        match = find_command(commands, line)
        return "" if isinstance(match, UnknownCommand) else match[0].usage or match[0].help

    def run(self, line: str) -> None:
        """Run one command line; report a wrong line and change nothing."""
        match = find_command(self.commands(), line)
        if isinstance(match, UnknownCommand):
            self._app.problem(str(match))
            return
        command, words = match
        refusal = self._app.why_no_writes if command.writes else ""
        if refusal:
            self._app.problem(f"`:{command.name}` is disabled: {refusal}")
        else:
            command.run(words)
