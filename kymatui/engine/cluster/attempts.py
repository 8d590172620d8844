"""Work on several objects where the failure of one must not keep the others from their turn."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from kymatui.errors import CancelledError, KymatuiError

T = TypeVar("T")


def attempt(call: Callable[[], T], failed: list[KymatuiError]) -> T | None:
    """Return what the call returns; None after an error, which is added to `failed`. Raise CancelledError."""
    try:
        return call()
    except CancelledError:
        raise
    except KymatuiError as error:
        failed.append(error)
        return None
