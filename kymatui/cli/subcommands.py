"""Subcommands of a command, each in a module of its own that is imported when it was typed.

    SUBCOMMANDS = Subcommands("kymatui.cli.commands.helm", {"template": "render a chart and print the objects", …})

A module has `configure(parser)` and `run(args) -> int`, as those of commands have.
"""

from __future__ import annotations

import argparse
import importlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, cast

if TYPE_CHECKING:
    from kymatui.cli.command_table import CommandModule

    _SubParsers = argparse._SubParsersAction[argparse.ArgumentParser]
else:
    _SubParsers = argparse._SubParsersAction


class Subcommands(NamedTuple):
    """The folder of the modules, and the help of each subcommand by its name."""

    package: str
    texts: Mapping[str, str]

    def load(self, name: str) -> CommandModule:
        return cast("CommandModule", importlib.import_module(f"{self.package}.{name}"))

    def configure(self, parser: argparse.ArgumentParser) -> None:
        """Add the subcommands to a parser, without the options of any."""
        action = cast(
            LazySubcommands,
            parser.add_subparsers(
                title="subcommands",
                metavar="SUBCOMMAND",
                dest="action",
                required=True,
                action=LazySubcommands,
                prog=parser.prog,
            ),
        )
        action.subcommands = self
        for name, text in self.texts.items():
            action.add_parser(name, help=text, description=f"{text[:1].upper()}{text[1:]}.")

    def run(self, args: argparse.Namespace) -> int:
        return self.load(args.action).run(args)


class LazySubcommands(_SubParsers):
    """Configures the parser of the subcommand that was typed, and no other."""

    subcommands: Subcommands

    def configured(self, name: str) -> argparse.ArgumentParser:
        """Return the parser of a subcommand with its options."""
        parser = self.choices[name]
        self.subcommands.load(name).configure(parser)
        return parser

    def __call__(
        self, parser: argparse.ArgumentParser, namespace: argparse.Namespace, values: Any, option: str | None = None
    ) -> None:
        if values and values[0] in self.choices:
            self.configured(values[0])
        super().__call__(parser, namespace, values, option)
