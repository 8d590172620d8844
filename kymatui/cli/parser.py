"""The parser of the command line, which reads the options of the command that was typed, and of no other."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

from kymatui import __version__
from kymatui.cli.command_table import COMMANDS, CommandEntry, by_name, reads
from kymatui.cli.durations import DURATION_EXAMPLES, read_duration
from kymatui.cli.output.program_name import PROGRAM, as_started
from kymatui.errors import UnknownNameError, UsageError, did_you_mean, nearest_names

_IN_KUBECONFIG = frozenset(
    {
        *("--cluster", "--server", "-s", "--token", "--certificate-authority", "--client-certificate", "--client-key"),
        *("--insecure-skip-tls-verify", "--tls-server-name", "--username", "--password"),
    }
)
"""Options of kubectl that name another cluster: plans, backups and read-only settings go by the context's name."""


class _NoColors:
    """The theme of plain help, with an empty text for each part."""

    def __getattr__(self, part: str) -> str:
        return ""


class _HelpFormatter(argparse.RawDescriptionHelpFormatter):
    """Prints the same help on each Python: plain, and with the value of an option once (`-o, --output FORMAT`).

    argparse of 3.14 colours its help by itself; even to find out that it shall not, it loads `dataclasses` in each
    command (13 of the 71 ms of `--version`).
    """

    def _set_color(self, color: bool, **options: Any) -> None:
        self._theme = _NoColors()
        self._decolor = str

    def _format_action_invocation(self, action: argparse.Action) -> str:
        if not action.option_strings or action.nargs == 0:
            return super()._format_action_invocation(action)
        value = self._format_args(action, self._get_default_metavar_for_optional(action))
        return f"{', '.join(action.option_strings)} {value}"


class _Parser(argparse.ArgumentParser):
    """argparse exits with 2 on a usage error, but here 2 means findings; see `UsageError`."""

    def __init__(self, *args: Any, **more: Any) -> None:
        more.setdefault("formatter_class", _HelpFormatter)
        super().__init__(*args, **more)
        self._positionals.title = "arguments"
        self._words: list[str] = []

    def error(self, message: str) -> NoReturn:
        raise UsageError(message, hint=f"usage: {self.usage_line()}; {self._help_hint()}")

    def format_help(self) -> str:
        """Return the help with the examples of the command, which no run of it needs."""
        from kymatui.cli.command_help import format_examples

        self.usage = self.usage_line().replace("%", "%%")
        self.epilog = format_examples(self.prog.removeprefix(PROGRAM.name).strip()) or None
        return super().format_help()

    def usage_line(self) -> str:
        """Return the usage in one line: arguments and required options; the help lists the other options."""
        formatter = self._get_formatter()
        options, arguments = [], []
        for action in self._actions:
            if action.option_strings and action.required:
                value = formatter._format_args(action, formatter._get_default_metavar_for_optional(action))
                options.append(f"{action.option_strings[-1]} {value}")
            elif " " in str(action.metavar):
                arguments.append(str(action.metavar))
            elif not action.option_strings:
                arguments.append(formatter._format_args(action, formatter._get_default_metavar_for_positional(action)))
        return " ".join([self.prog, *arguments, *options, "[OPTIONS]"])

    def parse_known_args(  # type: ignore[override]
        self, args: Sequence[str] | None = None, namespace: argparse.Namespace | None = None
    ) -> tuple[argparse.Namespace, list[str]]:
        """Parse the arguments. Raises UsageError for arguments that the command does not have."""
        self._words = list(args or ())
        found, left = super().parse_known_args(args, namespace)
        if left:
            self.refuse_unknown(left)
        return found, left

    def refuse_unknown(self, words: Sequence[str]) -> NoReturn:
        """Raise UsageError for the first option that the command does not have, else for the first argument."""
        option = next((word.partition("=")[0] for word in words if word.startswith("-")), "")
        if not option:
            raise UsageError(
                f'unexpected argument "{words[0]}"', hint=f"usage: {self.usage_line()}; {self._help_hint()}"
            )
        if option in _IN_KUBECONFIG:
            hint = "choose a context of the kubeconfig with --context"
            raise UnknownNameError(f"kymatui reads {option} from the kubeconfig only", hint=hint)
        near = did_you_mean(_near_options(option, self._listed_options()))
        raise UnknownNameError(f'no option "{option}"{near}', hint=self._help_hint())

    def _listed_options(self) -> list[str]:
        """Return the options that may be suggested: neither hidden names nor --help, which is in the hint."""
        actions = self._option_string_actions.items()
        return [name for name, one in actions if one.help != argparse.SUPPRESS and one.dest != "help"]

    def _refuse_unknown_options(self) -> None:
        """Refuse an unknown option before its value: argparse takes the value for an argument of the command."""
        names = (word.partition("=")[0] for word in self._words if word.startswith("--") and len(word) > 2)
        unknown = [name for name in names if not any(one.startswith(name) for one in self._option_string_actions)]
        if unknown:
            self.refuse_unknown(unknown)

    def _help_hint(self) -> str:
        return f"run `{self.prog} --help`"

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        """Raise UnknownNameError for a value that is not among the choices."""
        if action.choices is None or value in action.choices:
            return
        if not action.option_strings:
            self._refuse_unknown_options()
        known = [str(one) for one in action.choices]
        hint = f"valid: {', '.join(known)}"
        if action.option_strings:
            near = did_you_mean(nearest_names(str(value), known))
            raise UnknownNameError(f'invalid value "{value}" for {action.option_strings[-1]}{near}', hint=hint)
        is_command = isinstance(action, argparse._SubParsersAction) or action.dest == "what"
        kind = "subcommand" if is_command else action.dest
        raise UnknownNameError.near(kind, str(value), known, where=f"of `{self.prog}`", hint=hint)

    def _get_value(self, action: argparse.Action, arg_string: str) -> Any:
        """Return the value; of choices the one that is spelled so but for upper case.

        Raises UsageError for a text where a number or a duration is needed.
        """
        if action.type not in (int, float, read_duration):
            value = super()._get_value(action, arg_string)
            is_enum = action.choices is not None and not isinstance(action, argparse._SubParsersAction)
            return spelled_as(str(value), map(str, action.choices)) if is_enum and action.choices else value
        try:
            return action.type(arg_string)
        except ValueError as error:
            kind = "an integer" if action.type is int else "a number" if action.type is float else str(error)
            hint = DURATION_EXAMPLES if action.type is read_duration else self._help_hint()
            raise UsageError(f'{action.option_strings[-1]} must be {kind}, not "{arg_string}"', hint=hint) from None


class _TopParser(_Parser):
    """The parser of the whole program, whose help lists commands in groups, as kubectl's does."""

    def usage_line(self) -> str:
        return f"{self.prog} [OPTIONS] [COMMAND …]"

    def format_help(self) -> str:
        from kymatui.cli.command_help import GROUPS, format_examples

        formatter = self._get_formatter()
        formatter.add_usage(self.usage_line(), self._actions, self._mutually_exclusive_groups)
        formatter.add_text(self.description)
        formatter.add_text("Without a command kymatui opens its terminal UI.")
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
        formatter.add_text(format_examples(""))
        formatter.add_text(
            as_started("`kymatui help COMMAND` prints options and examples of a command; `kymatui help` lists topics.")
        )
        return formatter.format_help()

    def refuse_unknown(self, words: Sequence[str]) -> NoReturn:
        """Refuse an unknown option as any command does; an option of other commands is named with these."""
        option = next((word.partition("=")[0] for word in words if word.startswith("-")), "")
        if option and not _near_options(option, self._listed_options()):
            owners = _option_owners()
            if near := _near_options(option, owners)[:1]:
                where = f"{near[0]} (option of {', '.join(owners[near[0]])})"
                raise UnknownNameError(f'no option "{option}"{did_you_mean([where])}', hint=self._help_hint())
        super().refuse_unknown(words)

    def check_front(self, words: Sequence[str]) -> None:
        """Check what precedes the command: argparse takes the value of an unknown option for the command."""
        rest = iter(words)
        for word in rest:
            if not word.startswith("-"):
                if by_name(word) is None:
                    self._refuse_command(word)
                return
            name, _, value = word.partition("=")
            known = [found for found in self._option_string_actions if found.startswith(name)]
            if name.startswith("--") and not known:
                self.refuse_unknown([name])
            action = self._option_string_actions.get(name) or self._option_string_actions.get(known[0] if known else "")
            if action is None or value or action.nargs == "?":
                return  # argparse knows better
            if action.nargs is None:
                next(rest, None)

    def _refuse_command(self, word: str) -> NoReturn:
        from kymatui.cli.command_help import commands_like
        from kymatui.cli.help_topics import TOPICS

        hint = f"run `kymatui help {word}`" if word in TOPICS else self._help_hint()
        raise UnknownNameError(f'no command "{word}"{did_you_mean(commands_like(word))}', hint=hint)


def _near_options(option: str, known: Iterable[str]) -> list[str]:
    """Return the options that are spelled almost like one; the dashes, which all have, do not count."""
    bare = {name.lstrip("-"): name for name in known if name.startswith("--")}
    return [bare[name] for name in nearest_names(option.lstrip("-"), bare)]


def spelled_as(text: str, choices: Iterable[str]) -> str:
    """Return the choice that is `text` but for upper case, else `text`."""
    return next((one for one in choices if one.casefold() == text.casefold()), text)


def _option_owners() -> dict[str, list[str]]:
    """Return the commands of each long option."""
    found: dict[str, list[str]] = {}
    for command in COMMANDS:
        parser = argparse.ArgumentParser(add_help=False)
        command.load().configure(parser)
        for option in parser._option_string_actions:
            if option.startswith("--"):
                found.setdefault(option, []).append(command.name)
    return found


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


def build_parser(words: Sequence[str], *, every_command: bool = False) -> _TopParser:
    """Return the parser for these words: with the commands that they may name, or with every one."""
    parser = _TopParser(prog=PROGRAM.name, description="Manage Kyma modules on Kubernetes clusters, in a terminal.")
    parser.add_argument("--version", action="version", version=f"kymatui {__version__}")
    add_cluster_options(parser, default=None)
    commands = COMMANDS if every_command else _possible(words)
    if not words or by_name(words[0]) is None:  # nothing of the screen stands before a command that comes first
        command = CommandEntry("screen", "open the terminal UI", "kymatui.cli.commands.program.screen_options", reads)
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
            aliases=command.aliases,
            help=command.help,
            description=f"{command.help[:1].upper()}{command.help[1:]}.",
        )
    return parser


def _possible(words: Sequence[str]) -> Sequence[CommandEntry]:
    """Return the commands to parse: the named one, or none if there are only options."""
    first = by_name(words[0]) if words else None
    if first is not None:
        return (first,)
    bare = [word for before, word in zip(("", *words), words, strict=False) if word[:1] != "-" and before[:1] != "-"]
    named = any(by_name(word) for word in words)
    return COMMANDS if bare or named else ()  # the help lists them without their parsers


def add_cluster_options(parser: argparse.ArgumentParser, *, default: str | None) -> None:
    """Add cluster, namespace, read-only mode and colours; they may come before or after the command.

    Behind the name `default` is `argparse.SUPPRESS`, so that an absent option there does not undo one before it.
    """
    parser.add_argument_group("terminal").add_argument(
        "--color",
        choices=("auto", "always", "never"),
        default=argparse.SUPPRESS,
        help="colours; auto: on a terminal, unless NO_COLOR is set (default: auto)",
    )
    group = parser.add_argument_group("cluster")
    group.add_argument(
        "--kubeconfig",
        metavar="FILE",
        default=default,
        help="kubeconfig to read (default: $KUBECONFIG, else ~/.kube/config)",
    )
    group.add_argument("--context", metavar="NAME", default=default, help="context to use (default: current-context)")
    group.add_argument(
        "-n",
        "--namespace",
        metavar="NS",
        default=default,
        help="namespace to use (default: the context's); commands read it if you may not list all namespaces, "
        "the terminal UI lists only this one",
    )
    group.add_argument(
        "--user", metavar="NAME", default=default, help="user of the kubeconfig (default: the context's)"
    )
    group.add_argument("--as", dest="as_user", metavar="USER", default=default, help="user to impersonate")
    group.add_argument(
        "--as-group",
        action="append",
        metavar="GROUP",
        default=default,
        help="group to impersonate, with --as; repeatable",
    )
    group.add_argument("--as-uid", metavar="UID", default=default, help="UID to impersonate, with --as")
    group.add_argument(
        "--request-timeout",
        type=read_duration,
        metavar="DURATION",
        default=default,
        help="time limit of each request to the cluster (default: kymatui's own limits)",
    )
    group.add_argument(
        "--read-only",
        action="store_true",
        default=default or False,
        help="refuse every write, send only reads (also: KYMATUI_READ_ONLY=1)",
    )
    group.add_argument(
        "--catalog",
        action="append",
        metavar="SOURCE",
        default=default,
        # what stands behind the command's name adds to what stands before it
        dest="catalog" if default is None else "more_catalogs",
        help="additional community modules: URL of an all-modules.yaml, file or folder; repeatable",
    )


def add_remote_options(parser: argparse.ArgumentParser, *, remote: str = "") -> None:
    """Add the control plane and a second cluster by hand; with `remote`, its help, also `--remote RUNTIME`."""
    group = parser.add_argument_group("control plane and runtime")
    if remote:
        group.add_argument("--remote", metavar="RUNTIME", help=remote)
    runtime = "of the runtime, instead of its access Secret"
    group.add_argument(
        "--kcp-kubeconfig",
        metavar="FILE",
        help="kubeconfig of the control plane (default: --kubeconfig)",
    )
    group.add_argument("--kcp-context", metavar="NAME", help="context of the control plane (default: --context)")
    group.add_argument("--skr-kubeconfig", metavar="FILE", help=f"kubeconfig {runtime}")
    group.add_argument("--skr-context", metavar="NAME", help=f"context {runtime}")
