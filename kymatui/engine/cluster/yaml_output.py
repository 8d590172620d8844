"""YAML output with quotes that every Kubernetes reader understands.

kubectl and helm read more words as another type than PyYAML, which would write `y` (a bool to them) and `1e3` (a
number) without quotes. What a terminal acts on is escaped.
"""

from __future__ import annotations

import re
from typing import Any, Final

import yaml

from kymatui.domain.kubernetes.terminal_text import escape_yaml, sanitize_lines
from kymatui.errors import InvalidError
from kymatui.helm.yaml.errors import YamlError
from kymatui.helm.yaml.reading import load_exactly

_AMBIGUOUS: Final = re.compile(r"[-+.]?[0-9].*|[-+]?\..*|=|~|<<|y|n|yes|no|on|off|true|false|null", re.I | re.S)


class _Dumper(yaml.SafeDumper):
    """Quotes every text that some reader could take for another type."""


def _text(dumper: yaml.SafeDumper, value: str) -> yaml.ScalarNode:
    style = '"' if _AMBIGUOUS.fullmatch(value) or sanitize_lines(value) != value else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style=style)


_Dumper.add_representer(str, _text)


def dump_yaml(value: Any) -> str:
    """Return one document, with a newline at its end; keys stay in order."""
    text: str = yaml.dump(value, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=120)
    return escape_yaml(text)  # such characters are within double quotes


def parse_yaml(text: str) -> Any:
    """Return the first document; times and dates are texts, whole numbers int. Raise InvalidError."""
    try:
        return load_exactly(text, strict=True)
    except YamlError as error:
        raise InvalidError(f"invalid YAML: {error.summary}", status=422) from None
