"""What is wrong with a YAML text, in the words of Helm's reader."""

from __future__ import annotations

from kymatui.errors import HelmError


class YamlError(HelmError):
    """A text is no YAML that Helm takes, or a value has no YAML; the text is that of sigs.k8s.io/yaml."""
