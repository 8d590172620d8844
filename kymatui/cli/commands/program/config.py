"""`kymatui config show|validate|path|schema`."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from kymatui.cli.cluster_options import add_option
from kymatui.cli.output.printing import document, print_line, print_text
from kymatui.errors import UnknownNameError, UsageError
from kymatui.settings.config_file import config_path, load_settings, read_file
from kymatui.settings.option_edit import as_toml
from kymatui.settings.options_schema import OPTIONS, json_schema


def configure(parser: argparse.ArgumentParser) -> None:
    add_option(
        parser,
        "what SUBCOMMAND",
        "show: settings in effect; validate: check a file; path: path of the file; schema: JSON Schema",
        choices=("show", "validate", "path", "schema"),
    )
    add_option(
        parser,
        "argument FILE|OPTION",
        "validate: file to check (default: the file in effect); show: one option",
        nargs="?",
    )


def run(args: argparse.Namespace) -> int:
    if args.argument and args.what not in ("show", "validate"):
        raise UsageError(f'unexpected argument "{args.argument}"', hint=f"run `kymatui config {args.what}`")
    path = Path(args.argument) if args.argument and args.what == "validate" else config_path(os.environ)
    match args.what:
        case "path":
            print_line(str(path))
        case "schema":
            print_text(document(json_schema(), "json"))
        case "validate":
            if not args.argument and not path.exists():  # without a file the defaults hold
                print_line(f"{path}: no such file; the defaults are valid")
            else:
                read_file(path)
                print_line(f"{path}: valid")
        case _:
            _require_option(args.argument)
            print_text(as_toml(load_settings(os.environ), args.argument or ""), end="")
    return 0


def _require_option(name: str | None) -> None:
    """Raise UnknownNameError for an option that the configuration does not have."""
    known = [option.name for option in OPTIONS]
    if name and name not in known:
        raise UnknownNameError.near("option", name, known, hint="`kymatui config show` prints all options")
