"""Write the pages of docs/ that are generated from the code: `python -m tests.reference`. A test holds them current."""

from __future__ import annotations

import argparse
import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from kymatui import __version__
from kymatui.cli.command_help import EXAMPLES, GROUPS, SUBCOMMAND_EXAMPLES
from kymatui.cli.command_table import by_name
from kymatui.cli.help_topics import TOPICS
from kymatui.cli.subcommands import LazySubcommands
from kymatui.domain.catalog.glossary import GLOSSARY
from tests.reference_screens import screens_page
from tests.strings import command_parser

DOCS: Final = Path(__file__).parents[1] / "docs"
_SHARED: Final = ("terminal", "cluster", "control plane and runtime")


def pages() -> dict[Path, str]:
    """Return every generated page with its text."""
    return {
        DOCS / "guide" / "glossary.md": glossary_markdown(),
        DOCS / "reference" / "commands.md": "\n".join(commands_page()) + "\n",
        DOCS / "reference" / "screens.md": "\n".join(screens_page()) + "\n",
        DOCS / "kymatui.1": "\n".join(man_page()) + "\n",
    }


def glossary_markdown() -> str:
    """Return the glossary as a page of the guide."""
    parts = ["# Glossary", "", "The words of tables, filters and documents; each has one meaning."]
    for title, terms in GLOSSARY:
        parts += ["", f"## {title}", "", "| word | meaning | what to do |", "|---|---|---|"]
        parts += [f"| {word.value or '(empty)'} | {term.meaning} | {term.advice} |" for word, term in terms]
    return "\n".join(parts) + "\n"


def options(parser: argparse.ArgumentParser, *, shared: bool = False) -> Iterator[tuple[str, str]]:
    """Yield (option or argument, help) of a command; `shared` for those that all commands have."""
    formatter = parser._get_formatter()
    for group in parser._action_groups:
        if (group.title in _SHARED) != shared:
            continue
        for action in group._group_actions:
            if action.help == argparse.SUPPRESS or "--help" in action.option_strings:
                continue
            if isinstance(action, argparse._SubParsersAction):
                for choice in action._choices_actions:
                    yield choice.dest, formatter._expand_help(choice) if choice.help else ""
                continue
            yield formatter._format_action_invocation(action), formatter._expand_help(action) if action.help else ""


def commands_page() -> Iterator[str]:
    yield "# Commands"
    yield ""
    yield "Generated from the code by `python -m tests.reference`. At the end are the options that commands share,"
    yield "[exit statuses](#exit-statuses) and [environment variables](#environment-variables)."
    for title, names in GROUPS:
        yield f"\n## {title[:1].upper()}{title[1:]}"
        for name in names:
            command = by_name(name)
            assert command is not None
            yield f"\n### kymatui {name}\n\n{command.help[:1].upper()}{command.help[1:]}.\n"
            parser = command_parser(name)
            yield from _usage(EXAMPLES[name], parser)
            for word, below in subparsers(parser):
                yield f"\n#### kymatui {name} {word}\n\n{below.description}\n"
                yield from _usage(SUBCOMMAND_EXAMPLES[f"{name} {word}"], below)
    yield "\n## Options that commands share\n\n| option | |\n|---|---|"
    yield from (
        f"| `{_cell(option)}` | {_cell(text)} |" for option, text in options(command_parser("enable"), shared=True)
    )

    for title, name, column in (
        ("Exit statuses", "exit-statuses", "exit status"),
        ("Environment variables", "environment", "variable"),
    ):
        yield f"\n## {title}\n\n| {column} | |\n|---|---|"
        lines = (re.split(r" {2,}", line, maxsplit=1) for line in TOPICS[name].text().splitlines())
        yield from (f"| {value} | {meaning} |" for value, meaning in lines)


def subparsers(parser: argparse.ArgumentParser) -> Iterator[tuple[str, argparse.ArgumentParser]]:
    """Yield the subcommands of a command, each with its options."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for word, below in action.choices.items():
                if isinstance(action, LazySubcommands):
                    action.configured(word)
                yield word, below


def _usage(examples: Iterable[str], parser: argparse.ArgumentParser) -> Iterator[str]:
    yield "```sh"
    yield from examples
    yield "```"
    rows = list(options(parser))
    if rows:
        yield "\n| option | |\n|---|---|"
        yield from (f"| `{_cell(option)}` | {_cell(text)} |" for option, text in rows)


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def man_page() -> Iterator[str]:
    yield f'.TH KYMATUI 1 "" "kymatui {__version__}" "User Commands"'
    yield ".SH NAME\nkymatui \\- Kyma modules on Kubernetes clusters, in a terminal"
    yield ".SH SYNOPSIS\n.B kymatui\n[OPTIONS] [COMMAND ...]"
    yield ".SH DESCRIPTION\nWithout a command kymatui opens the screen on the current context of the kubeconfig."
    for title, names in GROUPS:
        yield f'.SH "{title.upper()}"'
        for name in names:
            command = by_name(name)
            assert command is not None
            yield f".TP\n.B {name}\n{_roff(command.help[:1].upper() + command.help[1:])}."
    for name, topic in TOPICS.items():
        yield f'.SH "{name.upper()}"\n.nf'
        yield from map(_roff, topic.text().splitlines())
        yield ".fi"
    yield ".SH EXAMPLES\n.nf"
    yield from (_roff(line) for name in ("catalog", "enable", "delete", "fleet", "audit") for line in EXAMPLES[name])
    yield ".fi"


def _roff(text: str) -> str:
    escaped = text.replace("\\", "\\e").replace("-", "\\-")
    return f"\\&{escaped}" if escaped.startswith((".", "'")) else escaped


def main() -> None:
    for path, text in pages().items():
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, "utf-8")


if __name__ == "__main__":
    os.environ["COLUMNS"] = "100"
    main()
