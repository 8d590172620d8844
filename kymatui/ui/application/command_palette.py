"""Command palette: fuzzy search over the keys of the screen, the commands and the modules."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import cast

from msgspec import Struct
from textual.command import DiscoveryHit, Hit, Hits, Provider
from textual.content import Content
from textual.fuzzy import Matcher

from kymatui.domain.kubernetes.terminal_text import sanitize
from kymatui.ui.base.framed_screen import FramedScreen
from kymatui.ui.base.screen_keys import action_of
from kymatui.ui.flows.flow_app import FlowApp
from kymatui.ui.navigation.command_table import help_lines
from kymatui.ui.navigation.history import ScreenStep
from kymatui.ui.navigation.key_help import key_name

_MOVING = ("table.", "document.")  # keys that users try without a search


class PaletteEntry(Struct, frozen=True):
    """An entry of the palette with its help and callback; `first` entries are listed before you type."""

    text: str
    help: str
    run: Callable[[], object]
    first: bool = False


class CommandProvider(Provider):
    """Palette provider that also lists disabled keys; choosing a disabled key displays the reason."""

    async def discover(self) -> Hits:
        for entry in self._entries():
            if entry.first:
                yield DiscoveryHit(Content(entry.text), entry.run, entry.text, _help(entry))

    async def search(self, query: str) -> Hits:
        matcher = self.matcher(query)
        for entry in self._entries():
            score = matcher.match(entry.text)
            if score > 0:
                yield Hit(score, _with_marks(entry.text, matcher), entry.run, entry.text, _help(entry))

    def _entries(self) -> Iterator[PaletteEntry]:
        screen = self.screen
        if isinstance(screen, FramedScreen):
            yield from _keys(screen)
            yield from _commands(screen)
        app = cast("FlowApp", self.app)
        for row in app.catalog.rows if app.catalog is not None else ():
            yield PaletteEntry(
                f"module {row.name}", row.reason.text, partial(app.ways.open, ScreenStep("module", row.name))
            )


def _help(entry: PaletteEntry) -> str:
    """Return the help as Textual displays it unchanged: it reads a `str` as markup, and a `Content` as it is."""
    return Content(sanitize(entry.help))  # type: ignore[return-value]


def _with_marks(text: str, matcher: Matcher) -> Content:
    """Mark the matching letters, as `Matcher.highlight` does, which reads the text as markup."""
    content = Content(text)
    for offset in matcher.fuzzy_search.match(matcher.query, text)[1]:
        content = content.stylize(matcher.match_style, offset, offset + 1)
    return content


def _keys(screen: FramedScreen) -> Iterator[PaletteEntry]:
    descriptions = {"Command palette"}
    for key, active in screen.active_bindings.items():
        binding = active.binding
        if binding.system or not binding.description or not binding.id or binding.description in descriptions:
            continue
        descriptions.add(binding.description)
        off = screen.why_off(*action_of(binding))
        doing = partial(screen.app.run_action, binding.action, active.node)
        run: Callable[[], object] = (
            partial(screen.kymatui.problem, f"{binding.description} is disabled: {off}") if off else doing
        )
        yield PaletteEntry(
            binding.description,
            f"{key_name(key)}{f'   disabled: {off}' if off else ''}",
            run,
            first=not off and not binding.id.startswith(_MOVING),
        )


def _commands(screen: FramedScreen) -> Iterator[PaletteEntry]:
    for command in screen.command_line.commands():
        if command.name in ("module", "tree", "back", "forward", "filter", "save"):
            continue  # they need arguments, or are listed as keys or modules
        for line in help_lines(command) if command.name != "columns" else ():
            yield PaletteEntry(f":{line}", command.help, partial(screen.command_line.run, line))
