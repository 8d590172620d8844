"""Questions with a few answers each for a dialog."""

from __future__ import annotations

from kymatui.first_use import dataclass


@dataclass(frozen=True, slots=True)
class ChoiceOption:
    """One answer; the dialog returns its `value`."""

    value: str
    label: str
    note: str = ""


@dataclass(frozen=True, slots=True)
class Question:
    """One question; `chosen` is the value of the proposed answer."""

    id: str
    title: str
    options: tuple[ChoiceOption, ...]
    chosen: str = ""
