"""What is known of the signatures of a module's component."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

from msgspec import Struct


class SignatureStatus(StrEnum):
    """The signatures of one component version, as far as its descriptor tells."""

    VALID = "valid"  # every signature was verified with the configured key
    SIGNED = "signed"  # it has signatures, and no key is configured
    UNSIGNED = "unsigned"
    INVALID = "invalid"  # a signature that is not by the configured key, or for another descriptor
    LOADING = "loading"  # the registry was asked
    UNKNOWN = "unknown"  # the descriptor could not be read; `why` says why


class ModuleSignature(Struct, frozen=True):
    """The signatures of one component version by name; `why` explains statuses that need an explanation."""

    status: SignatureStatus
    names: tuple[str, ...] = ()
    why: str = ""
    component: str = ""

    def to_json(self) -> dict[str, Any]:
        """Return the documented JSON of `kymatui catalog --signed`."""
        return {
            "status": self.status.value,
            "names": list(self.names),
            "component": self.component or None,
            "reason": self.why or None,
        }

    def __str__(self) -> str:
        names = f" by {', '.join(self.names)}" if self.names else ""
        return f"{self.status}{names}{f': {self.why}' if self.why else ''}"
