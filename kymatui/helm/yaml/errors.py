"""Errors of YAML."""

from __future__ import annotations

from typing import Protocol

from kymatui.errors import HelmError


class Mark(Protocol):
    """A position in a text, as PyYAML counts: from 0."""

    line: int
    column: int


class YamlError(HelmError):
    """YAML that Helm refuses, or a value without YAML; the message is that of sigs.k8s.io/yaml, which quotes the text.

    `summary` is for texts that may be secret or of any size.
    """

    def __init__(self, message: str, *, problem: str = "", mark: Mark | None = None) -> None:
        super().__init__(message)
        self.problem = problem or "it is not valid YAML"
        self.mark = mark

    @property
    def line(self) -> int:
        """Return the line of the problem, from 1; 0 if it has none."""
        return 0 if self.mark is None else self.mark.line + 1

    @property
    def summary(self) -> str:
        """Return position and kind of the problem, without any part of the text."""
        return self.problem if self.mark is None else f"line {self.line}, column {self.mark.column + 1}: {self.problem}"


class YamlLimitError(YamlError):
    """YAML that is larger than a limit allows."""


class BadKey:
    """A key that JSON cannot represent: null, or too large. It is an error only if it remains in the end."""

    def __init__(self, value: int | None) -> None:
        self.value = value
