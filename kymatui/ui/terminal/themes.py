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

DARK = Theme(
    name="kymatui-dark",
    primary="#5aa9e6",
    secondary="#7fc8a9",
    accent="#f2a65a",
    success="#6fcf97",
    warning="#f2c94c",
    error="#f2777a",
    foreground="#d7dee8",
    background="#10151c",
    surface="#161d26",
    panel="#202a36",
    dark=True,
    variables={"state-processing": "#f2a65a", "state-deleting": "#b794f6"},
)

LIGHT = Theme(
    name="kymatui-light",
    primary="#0b5cad",
    secondary="#0f766e",
    accent="#b45309",
    success="#15703d",
    warning="#8a5a00",
    error="#b42318",
    foreground="#1c2733",
    background="#fbfcfd",
    surface="#f1f4f7",
    panel="#e1e7ee",
    dark=False,
    variables={"state-processing": "#0369a1", "state-deleting": "#7e22ce"},
)

HIGH_CONTRAST = Theme(
    name="kymatui-high-contrast",
    primary="#00d7ff",
    secondary="#00ff87",
    accent="#ffff00",
    success="#00ff00",
    warning="#ffff00",
    error="#ff5f5f",
    foreground="#ffffff",
    background="#000000",
    surface="#000000",
    panel="#1c1c1c",
    dark=True,
    text_alpha=1.0,
    variables={"state-processing": "#00d7ff", "state-deleting": "#ff87ff"},
)

# Okabe and Ito's palette: distinct with every common form of colour blindness
COLOUR_BLIND = Theme(
    name="kymatui-colour-blind",
    primary="#56b4e9",
    secondary="#35b79a",
    accent="#cc79a7",
    success="#56b4e9",
    warning="#f0e442",
    error="#e69f00",
    foreground="#e6e6e6",
    background="#121212",
    surface="#1a1a1a",
    panel="#262626",
    dark=True,
    variables={"state-processing": "#cc79a7", "state-deleting": "#35b79a"},
)

MONO = Theme(
    name="kymatui-mono",
    primary="#d0d0d0",
    secondary="#b0b0b0",
    accent="#ffffff",
    success="#e0e0e0",
    warning="#ffffff",
    error="#ffffff",
    foreground="#d0d0d0",
    background="#101010",
    surface="#181818",
    panel="#282828",
    dark=True,
    variables={"state-processing": "#ffffff", "state-deleting": "#b0b0b0"},
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
