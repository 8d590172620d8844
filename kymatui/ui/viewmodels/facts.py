"""Labels with texts, as presenters give them to the list that draws them."""

from __future__ import annotations

from msgspec import Struct


class Fact(Struct, frozen=True):
    """Label, text and tone; `link` makes the text a hyperlink in terminals that have them (OSC 8)."""

    label: str
    text: str
    tone: str = ""
    link: str = ""
