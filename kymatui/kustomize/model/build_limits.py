"""The limits of one build: kustomizations, nodes of YAML, copies and processor time."""

from __future__ import annotations

import time
from typing import Final

from kymatui.errors import SourceError
from kymatui.helm.yaml.limits import YamlBudget
from kymatui.helm.yaml.node_reader import MissingValues

MOST_ENTERED: Final = 1_000  # kustomizations of one build: each could name several others
MOST_SECONDS: Final = 60.0
"""Processor time of a build: each transformer passes over all objects. 500 objects and 50 transformers take one."""


class BuildLimits:
    """What a build may still enter, read, copy and take; what includes or copies itself would grow without end."""

    def __init__(self) -> None:
        self.entered = 0
        self.budget = YamlBudget()
        self.missing = MissingValues()
        self._end = time.thread_time() + MOST_SECONDS

    def enter(self) -> None:
        """Count a kustomization. Raises SourceError."""
        self.entered += 1
        if self.entered > MOST_ENTERED:
            raise SourceError(f"there are more than {MOST_ENTERED} kustomizations")

    def require_time(self) -> None:
        """Raise SourceError if the build has used up its time."""
        if time.thread_time() > self._end:
            raise SourceError(f"the kustomization takes longer than {MOST_SECONDS:.0f} seconds to build")
