"""What is kept of a server, by weight: lists and watches of one cluster share one limit, all runtimes a second one."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from typing import Any

from kymatui.adapters.http.response_body import format_size, json_weight, row_weight
from kymatui.adapters.http.size_limits import MOST_KEPT, MOST_KEPT_GIVEN, MOST_KEPT_OF_ALL_GIVEN
from kymatui.errors import OversizedAnswerError


class MemoryBudget:
    """Adds up what is kept; safe to share between threads. What goes into `above` counts there, too."""

    def __init__(self, most: int, subject: str = "the server", above: MemoryBudget | None = None) -> None:
        self.kept = 0
        self._most = most
        self._subject = subject
        self._above = above
        self._lock = threading.Lock()

    def take(self, amount: int) -> None:
        """Adds an amount, which may be negative; raises OversizedAnswerError, and adds nothing, beyond the limit."""
        with self._lock:
            if amount > 0 and self.kept + amount > self._most:
                raise OversizedAnswerError(
                    f"the objects of {self._subject} take more than {format_size(self._most)} of memory",
                    hint="name a namespace (-n) or a selector to read fewer of them",
                )
            if self._above is not None:
                self._above.take(amount)
            self.kept += amount


_ALL_GIVEN = MemoryBudget(MOST_KEPT_OF_ALL_GIVEN, "all runtimes")


def open_budget(server: str, *, given: bool) -> MemoryBudget:
    """The ledger of one cluster; `given` ones are runtimes whose address others chose."""
    return MemoryBudget(MOST_KEPT_GIVEN, server, _ALL_GIVEN) if given else MemoryBudget(MOST_KEPT, server)


class BudgetClaim:
    """What one list or store keeps; it ends with its owner."""

    def __init__(self, ledger: MemoryBudget | None) -> None:
        self._ledger = ledger
        self._held = 0

    def add(self, amount: int) -> None:
        if self._ledger is not None:
            self._ledger.take(amount)
            self._held += amount

    def hold(self, amount: int) -> None:
        """Holds exactly this from now on."""
        self.add(amount - self._held)

    def release(self) -> None:
        self.hold(0)

    def __del__(self) -> None:
        self.release()


def weigh(item: Any) -> int:
    """The weight of an object as it was decoded."""
    import msgspec

    return json_weight(msgspec.json.encode(item))


def weigh_row(item: Any) -> int:
    """The weight of what was made of an object: data classes, which take less than dictionaries."""
    import msgspec

    try:
        return row_weight(msgspec.json.encode(item))
    except TypeError:  # has a field that is no JSON
        return len(repr(item))


def weigh_all(items: Iterable[Any]) -> int:
    return sum(map(weigh, items))
