"""Memory limits: the lists and watches of a cluster share one budget, all runtimes a second one."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from typing import Any

from kymatui.adapters.http.response_body import (
    MOST_KEPT,
    MOST_KEPT_GIVEN,
    MOST_KEPT_OF_ALL_GIVEN,
    format_size,
    json_weight,
    row_weight,
)
from kymatui.errors import OversizedAnswerError


class MemoryBudget:
    """Limits the total weight of objects in memory; threads may share it.

    `above` is a parent budget that is charged too.
    """

    def __init__(self, most: int, subject: str = "the server", above: MemoryBudget | None = None) -> None:
        self.kept = 0
        self._most = most
        self._subject = subject
        self._above = above
        self._lock = threading.Lock()

    def take(self, amount: int) -> None:
        """Add an amount, which may be negative. Raise OversizedAnswerError, and add nothing, beyond the limit."""
        with self._lock:
            if amount > 0 and self.kept + amount > self._most:
                raise OversizedAnswerError(
                    f"the objects of {self._subject} take more than {format_size(self._most)} of memory",
                    hint="use a namespace (-n) or a selector to read fewer",
                )
            if self._above is not None:
                self._above.take(amount)
            self.kept += amount


_ALL_GIVEN = MemoryBudget(MOST_KEPT_OF_ALL_GIVEN, "all runtimes")


def open_budget(server: str, *, from_secret: bool) -> MemoryBudget:
    """Return the budget of one cluster; `from_secret` clusters are runtimes whose address comes from a Secret."""
    return MemoryBudget(MOST_KEPT_GIVEN, server, _ALL_GIVEN) if from_secret else MemoryBudget(MOST_KEPT, server)


class BudgetClaim:
    """The share of a budget that one list or store uses; garbage collection of the claim releases it."""

    def __init__(self, ledger: MemoryBudget | None) -> None:
        self._ledger = ledger
        self._held = 0

    def add(self, amount: int) -> None:
        if self._ledger is not None:
            self._ledger.take(amount)
            self._held += amount

    def hold(self, amount: int) -> None:
        """Set the claim to exactly this weight."""
        self.add(amount - self._held)

    def release(self) -> None:
        self.hold(0)

    def __del__(self) -> None:
        self.release()


def weigh(item: Any) -> int:
    """Return the weight of a decoded object."""
    import msgspec

    return json_weight(msgspec.json.encode(item))


def weigh_row(item: Any) -> int:
    """Return the weight of a row (a data class, which takes less memory than a dictionary)."""
    import msgspec

    try:
        return row_weight(msgspec.json.encode(item))
    except TypeError:  # a field that JSON cannot represent
        return len(repr(item))


def weigh_all(items: Iterable[Any]) -> int:
    return sum(map(weigh, items))
