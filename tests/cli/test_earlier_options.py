"""Options before the command: as if they followed it, or refused by name. The table is made from the parsers."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

import pytest

from kymatui.cli.cluster_options import read_duration
from kymatui.cli.command_table import COMMANDS
from kymatui.cli.main import main
from kymatui.cli.parser import _Parser, build_parser
from kymatui.cli.subcommands import LazySubcommands
from kymatui.errors import UsageError

Parser = argparse.ArgumentParser


def usages(parser: Parser, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Parser]]:
    """Yield each command line that a parser can read without options, with the parser that reads its end."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name in dict.fromkeys(action.choices):
                inner = action.configured(name) if isinstance(action, LazySubcommands) else action.choices[name]
                yield from usages(inner, (*path, name))
            if action.required:
                return
    words = [word for action in parser._actions if not isinstance(action, argparse._SubParsersAction)
             for word in argument(action)]  # fmt: skip
    for group in parser._mutually_exclusive_groups:
        if group.required:
            words += option(group._group_actions[0])
    yield (*path, *words), parser


def argument(action: argparse.Action) -> list[str]:
    """Return words for what a command needs."""
    if action.option_strings:
        return option(action) if action.required else []
    return [value(action)] if action.nargs in (None, "+") else []


def option(action: argparse.Action, number: int = 0) -> list[str]:
    words = [] if action.nargs == 0 else [value(action, number)]
    return [f"{action.option_strings[-1]}={words[0]}"] if words else [action.option_strings[-1]]


def value(action: argparse.Action, number: int = 0) -> str:
    if action.choices:
        return str(list(action.choices)[number])
    return f"{number + 1}s" if action.type is read_duration else str(number + 1)


def commands() -> dict[str, tuple[tuple[str, ...], Parser]]:
    found = {}
    for command in COMMANDS:
        parser = _Parser(prog=f"kymatui {command.name}")
        command.load().configure(parser)
        for words, inner in usages(parser, (command.name,)):
            found[inner.prog.removeprefix("kymatui ")] = (words, inner)
    return found


USAGES = commands()
OPTIONS = {
    action.option_strings[-1]: action
    for action in build_parser(["--help"])._actions
    if action.option_strings and not isinstance(action, argparse._HelpAction | argparse._VersionAction)
}


def parse(*words: str) -> dict[str, object]:
    return vars(build_parser(words).parse_args(words))


def own(parser: Parser) -> list[str]:
    """Return the options before a command that it has with the same meaning."""
    found = []
    for name, action in OPTIONS.items():
        inner = parser._option_string_actions.get(name)
        if inner is not None and inner.dest == action.dest and (inner.nargs == 0) == (action.nargs == 0):
            found.append(name)
    return found


def spelled(names: list[str], number: int = 0) -> list[str]:
    return [word for name in names for word in option(OPTIONS[name], number)]


@pytest.mark.parametrize("command", USAGES)
def test_an_option_before_the_command_is_used_or_refused(command: str) -> None:
    words, parser = USAGES[command]
    names = own(parser)
    plain, after, before = parse(*words), parse(*words, *spelled(names)), parse(*spelled(names), *words)
    assert {key: before[key] for key in after} == after
    assert [name for name in names if after[OPTIONS[name].dest] == plain.get(OPTIONS[name].dest)] == []
    for name in OPTIONS:
        if name in ("--color", "--read-only", "--audit"):
            assert parse(*spelled([name]), *words)[OPTIONS[name].dest], name
        elif name not in names:
            with pytest.raises(UsageError, match=f"{name} "):
                parse(*spelled([name]), *words)


@pytest.mark.parametrize("command", USAGES)
def test_two_values_of_an_option_are_refused(command: str) -> None:
    words, parser = USAGES[command]
    names = [name for name in own(parser) if OPTIONS[name].nargs != 0]
    repeatable = [name for name in names if isinstance(OPTIONS[name], argparse._AppendAction)]
    single = [name for name in names if name not in repeatable]
    both = parse(*spelled(single), *words, *spelled(single))
    assert all(str(both[OPTIONS[name].dest]).startswith(value(OPTIONS[name])[:1]) for name in single)
    both = parse(*spelled(repeatable), *words, *spelled(repeatable, 1))
    assert all(both[OPTIONS[name].dest] == ["1", "2"] for name in repeatable)
    for name in single:
        with pytest.raises(UsageError, match=f"^{name} has two values"):
            parse(*spelled([name]), *words, *spelled([name], 1))


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--remote enable keda", "--remote takes the word after it, which is the command `enable`"),
        ("--context x --remote enable", "--remote takes the word after it, which is the command `enable`"),
        ("--remote --context x enable keda", "--remote before `kymatui enable` needs a value: --remote RUNTIME"),
        ("--remote=kyma-1 demo", "--remote takes no value before `kymatui demo`"),
        ("--kubeconfig x sandbox up", "--kubeconfig is not an option of `kymatui sandbox up`"),
        ("--user x bundle add", "--user is not an option of `kymatui bundle add`"),
        ("--theme dark --ascii enable keda", "--theme is not an option of `kymatui enable`"),
        ("operator --kustomizations x crds", "--kustomizations is not an option of `kymatui operator crds`"),
        ("--context a operator --context b run", "--context has two values: a before and b after `kymatui operator`"),
        ("--rem kyma-1 enable keda --remote kyma-2", "--remote has two values: kyma-1 before and kyma-2 after"),
        ("--skr-context", "expected one argument"),
    ],
)
def test_an_option_that_cannot_be_used_is_named(
    words: str, message: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "400")
    assert main(words.split()) == 64
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "names"),
    [
        ("--remote kyma-1 enable keda", {"remote": "kyma-1"}),
        ("--rem=kyma-1 --kube k --cont c enable keda", {"remote": "kyma-1", "kubeconfig": "k", "context": "c"}),
        ("--kcp-c a --skr-c b -n ns enable keda", {"kcp_context": "a", "skr_context": "b", "namespace": "ns"}),
        ("-nns --as-g a --as-group b --as u catalog --as-g c", {"namespace": "ns", "as_group": ["a", "b", "c"]}),
        ("--remote audit=1 audit", {"remote": "audit=1"}),
        ("--remote --read-only audit", {"remote": "*", "read_only": True}),  # every runtime
        ("--allow-fleet-writes enable keda --fleet", {"allow_fleet_writes": True}),
        ("--context a operator run", {"context": "a"}),
        ("operator --kustomizations x run", {"kustomizations": "x"}),
        ("--context a --context b catalog", {"context": "b"}),  # the last one, as with kubectl
        ("-n shop helm template ./chart", {"namespace": "shop"}),
    ],
)
def test_spellings_of_an_option_before_the_command(words: str, names: dict[str, object]) -> None:
    found = parse(*words.split())
    assert {name: found[name] for name in names} == names
