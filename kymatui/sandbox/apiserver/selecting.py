"""Which objects of a list or a watch are meant: label and field selectors over what is stored."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from kymatui.sandbox.storage import Stored


class LabelSelector(Protocol):
    """Tells labels that are meant from others."""

    def __call__(self, labels: dict[str, str]) -> bool: ...


@dataclass(frozen=True, slots=True)
class Selector:
    """`everything` spares the asking of `matches`."""

    everything: bool
    matches: Callable[[Stored], bool]


def everything(stored: Stored) -> bool:
    """Selects all."""
    del stored
    return True


def parse_selectors(resource: object, labels: str, fields: str) -> Selector:
    return Selector(not labels and not fields, everything)
