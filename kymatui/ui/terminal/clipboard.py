"""The clipboard of the terminal (OSC 52): it gives no answer, so notices only say that a text was sent."""

from __future__ import annotations

import os
from typing import Any

from textual.app import App


def copy_text(app: App[Any], text: str, name: str, *, note: str = "", seconds: float = 3) -> None:
    """Send a text to the clipboard and notify the user of it as `name`; `note` says why it was not opened instead."""
    app.copy_to_clipboard(text)
    needs = " (tmux passes it on only with set-clipboard on)" if os.environ.get("TMUX") else ""
    sent = f"sent {name} to the terminal's clipboard{needs}"
    app.notify(f"{note}; {sent}" if note else sent, timeout=seconds)
