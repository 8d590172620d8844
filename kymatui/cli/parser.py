"""The parser of the command line, which reads the options of the command that was typed, and of no other."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

from kymatui import __version__
from kymatui.cli.cluster_options import DURATION_EXAMPLES, add_cluster_options, read_duration
from kymatui.cli.command_table import COMMANDS, CommandEntry, by_name, reads
from kymatui.cli.output.printing import PROGRAM, as_started
from kymatui.errors import UnknownNameError, UsageError, did_you_mean, nearest_names

_IN_KUBECONFIG = frozenset(
    {
        *("--cluster", "--server", "-s", "--token", "--certificate-authority", "--client-certificate", "--client-key"),
        *("--insecure-skip-tls-verify", "--tls-server-name", "--username", "--password"),
    }
)
"""Options of kubectl that name another cluster: plans, backups and read-only settings go by the context's name."""

_FOR_EVERY_COMMAND = frozenset({"--color", "--read-only", "--audit"})
"""Options that hold for every command: `kymatui.cli.main` reads them."""
_SETTINGS = {"--registry": "registry", "--public-key": "public_key"}
"""Options of commands that the screen has in its configuration."""


class _EarlierOption(NamedTuple):
    """An option as it stands before a command or subcommand, with the words of its value."""

    action: argparse.Action
    words: tuple[str, ...]

    @property
    def name(self) -> str:
        return self.action.option_strings[-1]


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
        self._earlier: tuple[_EarlierOption, ...] = ()
        self._options: list[_EarlierOption] = []
        self._has_subcommand = False

    def error(self, message: str) -> NoReturn:
        if self._subparsers is None:
            self._refuse_earlier()
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
            elif not action.option_strings and " " in str(action.metavar):
                arguments.append(str(action.metavar))
            elif not action.option_strings:
                arguments.append(formatter._format_args(action, formatter._get_default_metavar_for_positional(action)))
        return " ".join([self.prog, *arguments, *options, "[OPTIONS]"])

    def parse_known_args(  # type: ignore[override]
        self, args: Sequence[str] | None = None, namespace: argparse.Namespace | None = None
    ) -> tuple[argparse.Namespace, list[str]]:
        """Parse the arguments, and the options before the command as if they followed it.

        Raises UsageError for arguments that the command does not have, and for an option with two values, one before
        and one after the command.
        """
        self._words, self._options, self._has_subcommand = list(args or ()), [], False
        options = argparse.Namespace() if namespace is None else namespace
        earlier = self._apply_earlier(options)  # before the defaults, which argparse sets only where a value is missing
        options, words = super().parse_known_args(args, options)
        if words:
            self.refuse_unknown(words)
        for option, value in earlier:
            self._refuse_two_values(option, value, options)
        if not self._has_subcommand:
            self._refuse_earlier()
        return options, words

    def _own(self, option: _EarlierOption) -> argparse.Action | None:
        """Return the option of this command that has the same meaning, None if it has no such option."""
        action: argparse.Action | None = self._option_string_actions.get(option.name)
        return action if action is not None and action.dest == option.action.dest else None

    def _apply_earlier(self, namespace: argparse.Namespace) -> list[tuple[_EarlierOption, Any]]:
        """Set the values of options before the command. Raises UsageError for a value that the command cannot take."""
        applied = []
        for option in self._earlier:
            if (action := self._own(option)) is None:
                continue
            if action.nargs is None and not option.words:
                raise UsageError(f"{option.name} before `{self.prog}` needs a value: {option.name} {action.metavar}")
            if action.nargs == 0 and option.words:
                raise UsageError(f"{option.name} takes no value before `{self.prog}`")
            action(self, namespace, super()._get_values(action, list(option.words)), option.name)
            applied.append((_EarlierOption(action, option.words), getattr(namespace, action.dest)))
        return applied

    def _refuse_two_values(self, earlier: _EarlierOption, value: Any, options: argparse.Namespace) -> None:
        """Raise UsageError where an option of one value has another one before the command."""
        words = [later.words for later in self._options if later.action is earlier.action]
        single = isinstance(earlier.action, argparse._StoreAction)
        if words and single and getattr(options, earlier.action.dest) != value:
            values = f"{' '.join(earlier.words)} before and {' '.join(words[-1])} after `{self.prog}`"
            raise UsageError(f"{earlier.name} has two values: {values}", hint="use one of them")

    def _refuse_earlier(self) -> None:
        """Raise UsageError for an option before the command that the command does not have."""
        for option in self._earlier:
            if option.name not in _FOR_EVERY_COMMAND and self._own(option) is None:
                raise UsageError(f"{option.name} is not an option of `{self.prog}`", hint=self._help_hint())

    def _get_values(self, action: argparse.Action, arg_strings: list[str]) -> Any:
        """Return the values of an option; note it, and pass all that were noted on to the subcommand."""
        if isinstance(action, argparse._SubParsersAction):
            self._has_subcommand = True
            if isinstance(parser := action.choices.get(arg_strings[0]), _Parser):
                parser._earlier = (*self._earlier, *self._options)
        elif action.option_strings:
            self._options.append(_EarlierOption(action, tuple(arg_strings)))
        return super()._get_values(action, arg_strings)

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
        return [name for name, action in actions if action.help != argparse.SUPPRESS and action.dest != "help"]

    def _get_option_tuples(self, option_string: str) -> Any:
        """Return the options that a shortened one may be; --context where --contexts is the only other one."""
        found = super()._get_option_tuples(option_string)
        shortest = min(found, key=lambda option: len(option[1]), default=None)
        if shortest is not None and all(option[1].startswith(shortest[1]) for option in found):
            return [shortest]
        return found

    def _refuse_unknown_options(self) -> None:
        """Refuse an unknown option before its value: argparse takes the value for an argument of the command."""
        names = (word.partition("=")[0] for word in self._words if word.startswith("--") and len(word) > 2)
        unknown = [name for name in names if not any(option.startswith(name) for option in self._option_string_actions)]
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
        known = [str(choice) for choice in action.choices]
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
            if option in owners:
                message = f"{option} is an option of {', '.join(owners[option])}"
                setting = _SETTINGS.get(option, "")
                hint = f"for the screen set `{setting}` in the configuration" if setting else self._help_hint()
                raise UnknownNameError(message, hint=hint)
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
            known = [option for option in self._option_string_actions if option.startswith(name)]
            if name.startswith("--") and not known:
                self.refuse_unknown([name])
            action = self._option_string_actions.get(name) or self._option_string_actions.get(known[0] if known else "")
            if action is None:
                return  # argparse knows better
            if value:
                continue
            if action.nargs is None:
                next(rest, None)
            elif action.nargs == "*":
                return  # the words up to the next option are its values
            elif action.nargs == "?" and not self._has_runtime(action, rest):
                return

    def _has_runtime(self, action: argparse.Action, rest: Iterator[str]) -> bool:
        """Skip the optional value of an option. Raise UsageError for a command's name in its place."""
        value = next(rest, "-")
        if by_name(value) is not None:
            name = action.option_strings[-1]
            raise UsageError(
                f"{name} takes the word after it, which is the command `{value}`",
                hint=f"name the runtime: {name} RUNTIME {value}; a runtime of that name is {name}={value}",
            )
        return not value.startswith("-")

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
    return next((choice for choice in choices if choice.casefold() == text.casefold()), text)


def _option_owners() -> dict[str, list[str]]:
    """Return the commands of each long option."""
    owners: dict[str, list[str]] = {}
    for command in COMMANDS:
        parser = argparse.ArgumentParser(add_help=False)
        command.load().configure(parser)
        for option in parser._option_string_actions:
            if option.startswith("--"):
                owners.setdefault(option, []).append(command.name)
    return owners


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
    add_cluster_options(parser)
    commands = COMMANDS if every_command else _possible(words)
    if not words or by_name(words[0]) is None:  # nothing of the screen stands before a command that comes first
        command = CommandEntry("screen", "open the terminal UI", "program.screen_options", reads)
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
    """Return the commands to parse: those that the words can name, or none if there are only options."""
    if named := tuple(dict.fromkeys(filter(None, map(by_name, words)))):
        return named[:1] if named[0] is by_name(words[0]) else named
    bare = [word for before, word in zip(("", *words), words, strict=False) if word[:1] != "-" and before[:1] != "-"]
    return COMMANDS if bare else ()  # the help lists them without their parsers
