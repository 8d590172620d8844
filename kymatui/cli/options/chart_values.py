"""Flags for the values of a chart, the same for releases and for `kymatui helm`."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Mapping
from typing import Final

_FLAGS = (
    ("--set", "K=V", "value of the chart: key1=val1,key2=val2; repeatable"),
    ("--set-string", "K=V", "value that stays a string; repeatable"),
    ("--set-json", "K=JSON", "value as JSON: key=JSON, or a JSON object; repeatable"),
    ("--set-file", "K=FILE", "value read from a file; repeatable"),
    ("--set-literal", "K=TEXT", "literal value; repeatable"),
)
VALUE_OPTIONS: Final = ("set", "set_string", "set_json", "set_file", "set_literal")


def add_values(group: argparse._ActionsContainer) -> None:
    """Add helm's flags for values."""
    group.add_argument(
        "-f", "--values", action="append", default=[], metavar="FILE", help="values file; repeatable, files are merged"
    )
    for flag, metavar, text in _FLAGS:
        group.add_argument(flag, action="append", default=[], metavar=metavar, help=text)


def value_flags(args: argparse.Namespace) -> Mapping[str, tuple[str, ...]]:
    """Return the keywords of `merge_values` and `ModuleSource` that the flags mean."""
    return {"value_files": split_files(args.values), **{name: tuple(getattr(args, name)) for name in VALUE_OPTIONS}}


def split_files(files: Iterable[str]) -> tuple[str, ...]:
    """Split the values of -f: `-f a.yaml,b.yaml` names two files, as in helm."""
    return tuple(name for value in files for name in value.split(",") if name)
