"""Six themes. Colour never carries a meaning alone: every state has a sign and a word.

The states of a module have five colours that differ in 256 and in true colours; `mono` has none. On terminals with 16
or 8 colours the screen starts with `terminal`, as others would fold into each other there.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from textual.app import App
from textual.theme import Theme

from kymatui.errors import ConfigurationError

_COLOURS = (
    "primary",
    "secondary",
    "accent",
    "success",
    "warning",
    "error",
    "foreground",
    "background",
    "surface",
    "panel",
)


def _theme(name: str, colours: str, states: str, *, dark: bool = True, **more: Any) -> Theme:
    """Return a theme of `_COLOURS` in their order, and those of the states processing and deleting."""
    variables = dict(zip(("state-processing", "state-deleting"), states.split(), strict=True))
    named: dict[str, Any] = dict(zip(_COLOURS, colours.split(), strict=True))
    return Theme(name=f"kymatui-{name}", dark=dark, variables=variables, **named, **more)


DARK = _theme(
    "dark", "#5aa9e6 #7fc8a9 #f2a65a #6fcf97 #f2c94c #f2777a #d7dee8 #10151c #161d26 #202a36", "#f2a65a #b794f6"
)
LIGHT = _theme(
    "light",
    "#0b5cad #0f766e #b45309 #15703d #8a5a00 #b42318 #1c2733 #fbfcfd #f1f4f7 #e1e7ee",
    "#0369a1 #7e22ce",
    dark=False,
)
HIGH_CONTRAST = _theme(
    "high-contrast",
    "#00d7ff #00ff87 #ffff00 #00ff00 #ffff00 #ff5f5f #ffffff #000000 #000000 #1c1c1c",
    "#00d7ff #ff87ff",
    text_alpha=1.0,
)
# Okabe and Ito's palette: distinct with every common form of colour blindness
COLOUR_BLIND = _theme(
    "colour-blind", "#56b4e9 #35b79a #cc79a7 #56b4e9 #f0e442 #e69f00 #e6e6e6 #121212 #1a1a1a #262626", "#cc79a7 #35b79a"
)
MONO = _theme(
    "mono", "#d0d0d0 #b0b0b0 #ffffff #e0e0e0 #ffffff #ffffff #d0d0d0 #101010 #181818 #282828", "#ffffff #b0b0b0"
)

# The terminal's own sixteen colours
TERMINAL = Theme(
    name="kymatui-terminal",
    primary="ansi_blue",
    secondary="ansi_cyan",
    accent="ansi_magenta",
    success="ansi_green",
    warning="ansi_yellow",
    error="ansi_red",
    foreground="ansi_default",
    background="ansi_default",
    surface="ansi_default",
    panel="ansi_default",
    boost="ansi_default",
    ansi=True,
    variables={
        "state-processing": "ansi_cyan",
        "state-deleting": "ansi_magenta",
        "ansi-background": "ansi_black",
        "ansi-foreground": "ansi_white",
        "border-blurred": "ansi_bright_black",
        "block-cursor-foreground": "ansi_black",
        "block-cursor-background": "ansi_white",
        "input-cursor-background": "ansi_black",
        "input-cursor-foreground": "ansi_bright_white",
        "input-cursor-text-style": "none",
        "input-selection-background": "ansi_bright_blue",
        "input-selection-foreground": "ansi_black",
        "screen-selection-background": "ansi_bright_blue",
        "screen-selection-foreground": "ansi_black",
    },
)

THEMES = (DARK, LIGHT, HIGH_CONTRAST, COLOUR_BLIND, MONO, TERMINAL)
DEFAULT = DARK.name


def default_state_colours(_: App[Any]) -> dict[str, str]:
    """Return the states' colours for themes of Textual, which have none."""
    return dict(DARK.variables)


def begin_with_theme(app: App[Any], name: str) -> None:
    """Set the theme of an app before its first paint.

    Assigning a theme makes Textual parse all styles a second time before the first paint. Dark themes with the
    terminal colours that an app has at the start are therefore put in place directly.
    """
    theme = app.available_themes[name]
    if not theme.dark or theme.ansi:
        app.theme = name
        return
    app.set_reactive(App.theme, name)
    app.stylesheet.set_variables(app.get_css_variables())
    app.update_classes({f"-theme-{name}": True, "-dark-mode": True}, update=False)


def styles_dir() -> Path:
    """Return the folder of the stylesheets.

    Raises ConfigurationError if the installation lacks it.
    """
    packaged = Path(__file__).resolve().parents[2] / "styles"
    for folder in (packaged, packaged.parents[1] / "styles"):
        if (folder / "app.tcss").is_file():
            return folder
    raise ConfigurationError(f"no stylesheets in {packaged}", hint="reinstall kymatui")
