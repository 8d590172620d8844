"""Questions with a few answers each, as a dialog displays them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ChoiceOption:
    """One answer; the caller gets its `value`."""

    value: str
    label: str
    note: str = ""


@dataclass(frozen=True, slots=True)
class Question:
    """One question; `chosen` is the value of the answer that is proposed."""

    id: str
    title: str
    options: tuple[ChoiceOption, ...]
    chosen: str = ""
