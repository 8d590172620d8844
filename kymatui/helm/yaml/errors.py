"""Errors of YAML."""

from __future__ import annotations

from kymatui.errors import HelmError


class YamlError(HelmError):
    """YAML that Helm refuses, or a value without YAML; the message is that of sigs.k8s.io/yaml."""


class BadKey:
    """A key that JSON cannot represent: null, or too large. It is an error only if it remains in the end."""

    def __init__(self, value: int | None) -> None:
        self.value = value
