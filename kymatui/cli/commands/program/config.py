"""`kymatui config show|validate|path|schema`."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from kymatui.settings.config_file import config_path, load_settings, read_file
from kymatui.settings.options_schema import json_schema
from kymatui.settings.toml_output import as_toml


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "what",
        choices=("show", "validate", "path", "schema"),
        help="show: what is in force, as a file; validate: check a file; path: where it is; schema: for editors",
    )
    parser.add_argument("file", nargs="?", help="for validate: another file than the one in force")


def run(args: argparse.Namespace) -> int:
    path = Path(args.file) if args.file else config_path(os.environ)
    match args.what:
        case "path":
            print(path)
        case "schema":
            import json

            print(json.dumps(json_schema(), indent=2))
        case "validate":
            if not args.file and not path.exists():  # without a file the defaults hold
                print(f"{path}: no such file; the defaults are valid")
            else:
                read_file(path)
                print(f"{path}: valid")
        case _:
            print(as_toml(load_settings(os.environ)), end="")
    return 0
