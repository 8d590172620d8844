"""`kymatui helm template|lint|show|pull`: helm's commands, flags and output, without helm."""

from __future__ import annotations

import argparse
import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    _SubParsers = argparse._SubParsersAction[argparse.ArgumentParser]
else:
    _SubParsers = argparse._SubParsersAction

SUBCOMMANDS = {
    "template": "render a chart and print the objects",
    "lint": "examine charts for possible issues",
    "show": "print chart metadata, values, readme or CRDs",
    "pull": "download a chart archive",
}


class _Subcommands(_SubParsers):
    """Loads the module of the subcommand that was typed, when it is met, and no other."""

    def __call__(
        self, parser: argparse.ArgumentParser, namespace: argparse.Namespace, values: Any, option: str | None = None
    ) -> None:
        if values and values[0] in SUBCOMMANDS:
            module = importlib.import_module(f"kymatui.cli.commands.helm.{values[0]}")
            module.configure(self.choices[values[0]])
            namespace.helm_module = module
        super().__call__(parser, namespace, values, option)


def configure(parser: argparse.ArgumentParser) -> None:
    subcommands = parser.add_subparsers(
        title="subcommands", metavar="SUBCOMMAND", required=True, action=_Subcommands, prog=parser.prog
    )
    for name, text in SUBCOMMANDS.items():
        subcommands.add_parser(name, help=text, description=f"{text[:1].upper()}{text[1:]}.")


def run(args: argparse.Namespace) -> int:
    return int(args.helm_module.run(args))
