"""The parser of the command line, which reads the options of the command that was typed, and of no other."""

from __future__ import annotations

import argparse
import contextlib
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, NoReturn

from kymatui import __version__
from kymatui.cli.command_table import COMMANDS, CommandEntry, by_name, reads
from kymatui.errors import UsageError


class _Parser(argparse.ArgumentParser):
    """argparse leaves with 2 on bad words, but here 2 means findings; see `UsageError`."""

    def error(self, message: str, hint: str = "") -> NoReturn:
        with contextlib.suppress(OSError):  # nobody reads it, see `main`
            self.print_usage(sys.stderr)
        raise UsageError(message, hint=hint or f"`{self.prog} --help` lists what it takes")

    def format_help(self) -> str:
        """Return the help with the examples of the command, which no run of it needs."""
        from kymatui.cli.command_help import format_examples

        self.epilog = format_examples(self.prog.partition(" ")[2]) or None
        return super().format_help()

    def unknown_options(self, words: Sequence[str]) -> NoReturn:
        """Name the options that nothing takes, and what is near."""
        from difflib import get_close_matches

        options = [word.partition("=")[0] for word in words if word.startswith("-")]
        near = [name for option in options for name in get_close_matches(option, self._option_string_actions, n=1)]
        hint = f"did you mean {', '.join(near)}?" if near else ""
        self.error(f"unrecognized arguments: {' '.join(words)}", hint)

    def check_front(self, words: Sequence[str]) -> None:
        """Look at what stands before the command: argparse takes the value of an unknown option for the command."""
        rest = iter(words)
        for word in rest:
            if not word.startswith("-"):
                if by_name(word) is None:
                    from difflib import get_close_matches

                    near = get_close_matches(word, [command.name for command in COMMANDS], n=3)
                    hint = f"did you mean {', '.join(near)}?" if near else ""
                    self.error(f"no command {word!r}", hint)
                return
            name, _, value = word.partition("=")
            known = [found for found in self._option_string_actions if found.startswith(name)]
            if name.startswith("--") and not known:
                self.unknown_options([name])
            action = self._option_string_actions.get(name) or self._option_string_actions.get(known[0] if known else "")
            if action is None or value or action.nargs == "?":
                return  # argparse knows better
            if action.nargs is None:
                next(rest, None)


class _TopParser(_Parser):
    """The parser of the whole program, whose help lists commands in groups, as kubectl's does."""

    def format_help(self) -> str:
        from kymatui.cli.command_help import GROUPS

        formatter = self._get_formatter()
        formatter.add_usage("%(prog)s [OPTIONS] [COMMAND …]", self._actions, self._mutually_exclusive_groups)
        formatter.add_text(self.description)
        formatter.add_text("Without a command kymatui opens the screen.")
        for title, names in GROUPS:
            formatter.start_section(title)
            for command in filter(None, map(by_name, names)):
                formatter.add_argument(argparse.Action([], dest=command.name, metavar=command.name, help=command.help))
            formatter.end_section()
        for group in self._action_groups:
            shown = [action for action in group._group_actions if not isinstance(action, argparse._SubParsersAction)]
            formatter.start_section(group.title)
            formatter.add_arguments(shown)
            formatter.end_section()
        formatter.add_text("`kymatui help COMMAND` has the options and examples of a command, `kymatui help` topics.")
        return formatter.format_help()


if TYPE_CHECKING:
    _SubParsers = argparse._SubParsersAction[_Parser]
else:
    _SubParsers = argparse._SubParsersAction


class _Commands(_SubParsers):
    """Loads the module of the command that was typed, when it is met, and no other."""

    def __call__(
        self, parser: argparse.ArgumentParser, namespace: argparse.Namespace, values: object, option: str | None = None
    ) -> None:
        name = values[0] if isinstance(values, list) and values else ""
        command = by_name(str(name))
        if command is not None:
            module = command.load()
            module.configure(self.choices[command.name])
            namespace.command, namespace.command_module = command, module
        super().__call__(parser, namespace, values, option)  # type: ignore[arg-type]
        left = getattr(namespace, argparse._UNRECOGNIZED_ARGS_ATTR, None)
        if left and command is not None:  # told by whom they were meant for, and not with the usage of the whole
            self.choices[command.name].unknown_options(left)


def build_parser(words: Sequence[str]) -> _Parser:
    parser = _TopParser(prog="kymatui", description="Kyma modules on Kubernetes clusters, in a terminal.")
    parser.add_argument("--version", action="version", version=f"kymatui {__version__}")
    add_cluster_options(parser, default=None)
    commands = _possible(words)
    if not words or by_name(words[0]) is None:  # nothing of the screen stands before a command that comes first
        command = CommandEntry("screen", "open the screen", "kymatui.cli.commands.program.screen", reads)
        screen = command.load()
        screen.configure(parser)
        parser.set_defaults(command=command, command_module=screen)
    if not commands:
        return parser
    subparsers = parser.add_subparsers(
        title="commands", metavar="COMMAND", parser_class=_Parser, prog=parser.prog, action=_Commands
    )
    for command in commands:
        subparsers.add_parser(
            command.name,
            help=command.help,
            description=f"{command.help[:1].upper()}{command.help[1:]}.",
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
    return parser


def _possible(words: Sequence[str]) -> Sequence[CommandEntry]:
    """The commands that need to be known: the one that comes first, or none where nothing but options is there."""
    first = by_name(words[0]) if words else None
    if first is not None:
        return (first,)
    asks = any(word in ("-h", "--help") for word in words)
    bare = [word for before, word in zip(("", *words), words, strict=False) if word[:1] != "-" and before[:1] != "-"]
    named = any(by_name(word) for word in words)
    return COMMANDS if asks or bare or named else ()


def add_cluster_options(parser: argparse.ArgumentParser, *, default: str | None) -> None:
    """Which cluster, which namespace, and whether writing is allowed at all; before or behind the command's name.

    Behind the name `default` is `argparse.SUPPRESS`, so that an absent option there does not undo one before it.
    """
    group = parser.add_argument_group("cluster")
    group.add_argument("--kubeconfig", metavar="FILE", default=default, help="default: $KUBECONFIG, ~/.kube/config")
    group.add_argument("--context", metavar="NAME", default=default, help="default: the file's current context")
    group.add_argument(
        "-n",
        "--namespace",
        metavar="NS",
        default=default,
        help="default: the context's; the catalog looks there first for what may not be listed in all namespaces",
    )
    group.add_argument(
        "--read-only",
        action="store_true",
        default=default or False,
        help="refuse every write before it leaves this machine (also: KYMATUI_READ_ONLY=1)",
    )
    group.add_argument(
        "--catalog",
        action="append",
        metavar="SOURCE",
        default=default,
        # what stands behind the command's name adds to what stands before it
        dest="catalog" if default is None else "more_catalogs",
        help="more community modules: the URL of an all-modules.yaml, a file, a folder; may be repeated",
    )
