"""Flags for the values of a chart, the same for releases and for `kymatui helm`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Mapping
from typing import Any, Final

from kymatui import helm
from kymatui.cli.cluster_options import add_options, fetch_options
from kymatui.engine.bundles.addresses import redact_address
from kymatui.errors import RegistryError, UsageError

_FLAGS: Final[Mapping[str, str]] = {
    "-f --values FILE…": "values file, URL, or - for standard input; repeatable, files are merged",
    "--set K=V…": "value of the chart: key1=val1,key2=val2; repeatable",
    "--set-string K=V…": "value that stays a string; repeatable",
    "--set-json K=JSON…": "value as JSON: key=JSON, or a JSON object; repeatable",
    "--set-file K=FILE…": "value read from a file; repeatable",
    "--set-literal K=TEXT…": "literal value; repeatable",
}
_LARGEST: Final = 32 * 1024 * 1024
"""Bytes of values from standard input."""
VALUE_OPTIONS: Final = ("set", "set_string", "set_json", "set_file", "set_literal")


def add_values(group: argparse._ActionsContainer) -> None:
    """Add helm's flags for values."""
    add_options(group, _FLAGS, "")


def value_flags(args: argparse.Namespace) -> Mapping[str, tuple[Any, ...]]:
    """Return the keywords of `merge_values` and `ModuleSource` that the flags mean. Raise KymatuiError.

    Standard input and URLs are read here, once for a command line.
    """
    texts: dict[str, helm.ValuesText] = args.__dict__.setdefault("values_texts", {})
    names = split_files(args.values)
    for name in names:
        if (name == "-" or "://" in name) and name not in texts:
            texts[name] = _read(args, name)
    files = tuple(texts.get(name, name) for name in names)
    return {"value_files": files, **{name: tuple(getattr(args, name)) for name in VALUE_OPTIONS}}


def _read(args: argparse.Namespace, name: str) -> helm.ValuesText:
    if name == "-":
        data = sys.stdin.buffer.read(_LARGEST + 1)
        if len(data) > _LARGEST:
            raise UsageError(f"the values on standard input have more than {_LARGEST // 1024**2} MiB")
        return helm.ValuesText("standard input", data)
    from kymatui.sessions.fetching import open_fetcher

    try:
        return helm.ValuesText(redact_address(name), open_fetcher(fetch_options(args)).url(name))
    except RegistryError as error:
        raise RegistryError(f"the values {error}", hint=error.hint) from error


def split_files(files: Iterable[str]) -> tuple[str, ...]:
    """Split the values of -f: `-f a.yaml,b.yaml` names two files, as in helm."""
    return tuple(name for value in files for name in value.split(",") if name)
