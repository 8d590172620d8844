"""Misbehaviour on demand: what a registry does when it is overloaded, broken or tampered with."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum


class RegistryFaultKind(StrEnum):
    STATUS = "status"  # answers with `status`, and nothing happens
    TRUNCATE = "truncate"  # promises the whole body, sends half of it, closes the connection
    TAMPER = "tamper"  # one byte of the body is not what was pushed; headers still name the right digest
    DROP = "drop"  # closes the connection without an answer
    DELAY = "delay"  # waits `seconds`, then answers as always


@dataclass
class RegistryFault:
    """Applies to requests whose method and path match, `times` times (0: always)."""

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
    """The faults in force, in the order they were set; each request meets the first that matches."""

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
