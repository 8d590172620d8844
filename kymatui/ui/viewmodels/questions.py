"""Questions with a few answers each for a dialog."""

from __future__ import annotations

from msgspec import Struct


class ChoiceOption(Struct, frozen=True):
    """One answer; the dialog returns its `value`."""

    value: str
    label: str
    note: str = ""


class Question(Struct, frozen=True):
    """One question; `chosen` is the value of the proposed answer."""

    id: str
    title: str
    options: tuple[ChoiceOption, ...]
    chosen: str = ""
