"""Patterns of CRDs as in lifecycle-manager's options: PLURAL.GROUP, SINGULAR.GROUP, KIND.GROUP, *.GROUP."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

from msgspec import Struct

from kymatui.domain.kubernetes.json_reader import JsonReader
from kymatui.errors import UsageError


class CrdPattern(Struct, frozen=True):
    """One pattern, in lower case; the name is "*" for all CRDs of the group."""

    name: str
    group: str

    @classmethod
    def parse(cls, text: str) -> tuple[Self, ...]:
        """Return the patterns of a list that is separated by commas. Raise UsageError."""
        found = []
        for part in filter(None, (one.strip().lower() for one in text.split(","))):
            name, _, group = part.partition(".")
            if not name or not group:
                raise UsageError(
                    f'"{part}" names no CRD', hint="e.g. apirules.gateway.kyma-project.io or *.helm.cattle.io"
                )
            found.append(cls(name, group))
        return tuple(found)

    def matches(self, crd: Mapping[str, Any]) -> bool:
        """Return whether a CRD is meant."""
        spec = JsonReader(crd).child("spec")
        names = spec.child("names")
        if spec.text("group").lower() != self.group:
            return False
        known = (names.text("plural"), names.text("singular"), names.text("kind"))
        return self.name == "*" or self.name in [one.lower() for one in known]
