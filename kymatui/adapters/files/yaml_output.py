"""YAML that every reader of Kubernetes' YAML reads as it was: kubectl and helm take more words for something else
than PyYAML, which would write `y` (a bool to them) and `1e3` (a number) without quotes."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, Final

import yaml

_AMBIGUOUS: Final = re.compile(r"[-+.]?[0-9].*|[-+]?\..*|=|~|<<|y|n|yes|no|on|off|true|false|null", re.I | re.S)


class _Dumper(yaml.SafeDumper):
    """Quotes whatever some reader might take for another type."""


def _text(dumper: yaml.SafeDumper, value: str) -> yaml.ScalarNode:
    style = '"' if _AMBIGUOUS.fullmatch(value) else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style=style)


_Dumper.add_representer(str, _text)


def dump_yaml_documents(values: Iterable[Any], *, width: int = 120) -> str:
    """Several documents, keys in the order in which they stand."""
    text: str = yaml.dump_all(values, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=width)
    return text


def dump_yaml(value: Any, *, width: int = 120) -> str:
    """One document, with a newline at its end."""
    return dump_yaml_documents([value], width=width)
