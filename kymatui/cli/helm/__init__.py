"""`kymatui helm template|lint|show|pull`: helm's commands, flags and output, without helm."""

from __future__ import annotations

import argparse
import importlib

SUBCOMMANDS = {
    "template": "render a chart and print what would be installed",
    "lint": "examine charts for possible issues",
    "show": "print what a chart says of itself",
    "pull": "fetch a packed chart",
}


def configure(parser: argparse.ArgumentParser) -> None:
    subcommands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for name, text in SUBCOMMANDS.items():
        module = importlib.import_module(f"kymatui.cli.helm.{name}")
        sub = subcommands.add_parser(name, help=text, description=text.capitalize() + ".")
        module.configure(sub)
        sub.set_defaults(helm_module=module)


def run(args: argparse.Namespace) -> int:
    return int(args.helm_module.run(args))
