"""Errors of YAML."""

from __future__ import annotations

from kymatui.errors import HelmError


class YamlError(HelmError):
    """YAML that Helm refuses, or a value without YAML; the message is that of sigs.k8s.io/yaml."""
