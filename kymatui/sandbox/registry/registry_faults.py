"""Injected faults of a registry: overloaded, broken or tampered with."""

from __future__ import annotations

import re
from enum import StrEnum

from msgspec import Struct


class RegistryFaultKind(StrEnum):
    STATUS = "status"  # answers with `status` and does nothing
    TRUNCATE = "truncate"  # promises the whole body, sends half of it, closes the connection
    TAMPER = "tamper"  # changes one byte of the body; headers still have the right digest
    DROP = "drop"  # closes the connection without an answer
    DELAY = "delay"  # waits `seconds`, then answers as usual


class RegistryFault(Struct, dict=True):
    """A fault for requests with a matching method and path, `times` times (0: always)."""

    kind: RegistryFaultKind
    path: str = ".*"
    method: str = ".*"
    times: int = 1
    status: int = 500
    retry_after: int = 0
    seconds: float = 0.0

    def matches(self, method: str, path: str) -> bool:
        return bool(re.fullmatch(self.method, method) and re.search(self.path, path))


class RegistryFaults:
    """The active faults in the order they were set; each request gets the first that matches."""

    def __init__(self) -> None:
        self._faults: list[RegistryFault] = []

    def set(self, fault: RegistryFault) -> None:
        self._faults.append(fault)

    def clear(self) -> None:
        self._faults.clear()

    def take(self, method: str, path: str) -> RegistryFault | None:
        for fault in self._faults:
            if fault.matches(method, path):
                self._count(fault)
                return fault
        return None

    def _count(self, fault: RegistryFault) -> None:
        if fault.times == 0:
            return
        fault.times -= 1
        if fault.times == 0:
            self._faults.remove(fault)
