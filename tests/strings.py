"""Every text that a person reads, one a line with its place: `python -m tests.strings [SOURCE…]`.

The sources: literals (of the package), help (of every command), keys, commands (behind `:`), pictures (of the
screens) and documents. Without a source it prints literals, keys and commands, where every sentence stands once.
"""

from __future__ import annotations

import argparse
import ast
import html
import inspect
import os
import re
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final, NamedTuple

from textual.binding import Binding
from textual.dom import DOMNode

from kymatui import errors
from kymatui.cli.command_table import COMMANDS
from kymatui.cli.parser import build_parser
from kymatui.cli.subcommands import LazySubcommands
from tests.documents import DOCUMENTS, ROOT

PACKAGE: Final = ROOT / "kymatui"
PICTURES: Final = (ROOT / "tests" / "ui" / "__snapshots__", ROOT / "screenshots")

FOREIGN: Final = {
    "cli/commands/helm/": "Helm's own words, so that its users know them",
    "helm/": "Helm's own words, compared with recordings of Helm",
    "sandbox/apimachinery/": "Kubernetes' own messages, compared with recordings",
    "sandbox/apiserver/": "Kubernetes' own messages, compared with recordings",
    "sandbox/apply/": "Kubernetes' own messages, compared with recordings",
    "sandbox/controllers/": "events and conditions as Kubernetes' controllers write them",
    "sandbox/patching/": "Kubernetes' own messages, compared with recordings",
    "sandbox/registry/": "error codes and messages of the OCI distribution specification",
    "schemas/": "Kubernetes' and CEL's own messages, compared with recordings",
    "sandbox/schemas/": "Kubernetes' own messages, compared with recordings",
    "sandbox/tables/": "columns as kubectl prints them",
    "sandbox/world/": "objects of a cluster, whose messages are those of real controllers",
}
"""Folders of the package whose texts come from elsewhere, with the reason."""


GENERATED: Final = ("docs/guide/glossary.md", "docs/reference/commands.md", "docs/reference/screens.md")
"""Pages whose texts stand in the package."""


class Text(NamedTuple):
    """A text, and the file and line where it stands."""

    place: str
    line: int
    text: str

    def __str__(self) -> str:
        return f"{self.place}:{self.line}\t{' '.join(self.text.split())}"


def literals() -> Iterator[Text]:
    """Yield the texts of the package that are prose: no docstring, two words or more. A value in an f-string is {}."""
    for path in sorted(PACKAGE.rglob("*.py")):
        place = path.relative_to(PACKAGE).as_posix()
        if not place.startswith(tuple(FOREIGN)):
            for line, text in _texts(ast.parse(path.read_text("utf-8"))):
                if re.search(r"[^\W\d_]{2,}[,;:.]? +\S|\S +[^\W\d_]{2,}", text):
                    yield Text(f"kymatui/{place}", line, text)


def _texts(tree: ast.Module) -> Iterator[tuple[int, str]]:
    nodes = [*ast.walk(tree)]
    skipped = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}  # docstrings
    for node in nodes:
        if isinstance(node, ast.JoinedStr):
            skipped.update(map(id, node.values))
            yield node.lineno, _flat(node)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in skipped:
            yield node.lineno, node.value


def _flat(node: ast.JoinedStr | ast.Constant) -> str:
    if isinstance(node, ast.JoinedStr):
        return "".join(_flat(part) if isinstance(part, ast.Constant) else "{}" for part in node.values)
    return node.value if isinstance(node.value, str) else ""


def error_texts() -> Iterator[Text]:
    """Yield the messages of errors and their hints, as far as they are written where the error is made."""
    names = {name for name, _ in inspect.getmembers(errors, inspect.isclass)}
    for path in sorted(PACKAGE.rglob("*.py")):
        place = path.relative_to(PACKAGE).as_posix()
        for node in () if place.startswith(tuple(FOREIGN)) else ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in names:
                hints = [keyword.value for keyword in node.keywords if keyword.arg == "hint"]
                for part in (*node.args[:1], *hints):
                    if isinstance(part, ast.JoinedStr | ast.Constant):
                        yield Text(f"kymatui/{place}", part.lineno, _flat(part))


def help_texts() -> Iterator[Text]:
    """Yield the help of every command and of each command below it, as it is printed."""
    for command in COMMANDS:
        if command.name != "helm":  # its own words
            parser = command_parser(command.name)
            yield Text(f"kymatui {command.name}", 0, command.help)
            yield from _printed(f"kymatui {command.name} --help", parser)


def command_parser(name: str) -> argparse.ArgumentParser:
    """Return the configured parser of one command."""
    (commands,) = (
        action for action in build_parser([name, "--help"])._actions if isinstance(action, argparse._SubParsersAction)
    )
    (command,) = (command for command in COMMANDS if command.name == name)
    parser = commands.choices[name]
    assert isinstance(parser, argparse.ArgumentParser)
    command.load().configure(parser)
    return parser


def _printed(place: str, parser: argparse.ArgumentParser) -> Iterator[Text]:
    paragraphs = re.split(r"\n\s*\n", parser.format_help())
    yield from (Text(place, 0, " ".join(paragraph.split())) for paragraph in paragraphs)
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name, below in action.choices.items():
                if isinstance(action, LazySubcommands):
                    action.configured(name)
                yield from _printed(place.replace("--help", f"{name} --help"), below)


def widgets() -> Iterator[type]:
    """Yield every screen and widget of the package."""
    import importlib
    import pkgutil

    from kymatui import ui

    for module in pkgutil.walk_packages(ui.__path__, f"{ui.__name__}."):
        importlib.import_module(module.name)
    waiting, found = [DOMNode], set()
    while waiting:
        one = waiting.pop()
        waiting += one.__subclasses__()
        if one.__module__.startswith("kymatui.") and one not in found:
            found.add(one)
            yield one


def key_texts() -> Iterator[Text]:
    """Yield what the help says of each key."""
    for owner in sorted(widgets(), key=lambda owner: (owner.__module__, owner.__name__)):
        source = inspect.getsourcefile(owner)
        place = Path(source).relative_to(ROOT).as_posix() if source else owner.__module__
        for binding in owner.__dict__.get("BINDINGS", ()):
            if isinstance(binding, Binding) and binding.description:
                yield Text(place, inspect.getsourcelines(owner)[1], binding.description)


def command_texts() -> Iterator[Text]:
    """Yield what the help says of each command behind `:`."""
    from kymatui.ui.application.fleet_app import FleetApp
    from tests.reference_screens import commands

    for command in commands(FleetApp):
        yield Text(f":{command.name}", 0, f"{command.help}: {command.usage}" if command.usage else command.help)


def picture_texts() -> Iterator[Text]:
    """Yield the lines of the pictures of the screens. Two spaces part what stands apart."""
    for path in sorted(path for folder in PICTURES for path in folder.rglob("*.svg")):
        place = path.relative_to(ROOT).as_posix()
        for number, line in enumerate(picture_lines(path.read_text("utf-8")), 1):
            for part in re.split(r"[│┃]| {2,}", line):
                if " " in part.strip():
                    yield Text(place, number, part.strip())


_SPAN: Final = re.compile(
    r'<text class="terminal-[^"]*" x="([\d.]+)" y="([\d.]+)" textLength="([\d.]+)"[^>]*>(.*?)</text>'
)


def picture_lines(svg: str) -> Iterator[str]:
    """Yield the lines of a picture as they are read."""
    lines: dict[float, list[tuple[float, float, str]]] = defaultdict(list)
    for x, y, width, text in _SPAN.findall(svg):
        lines[float(y)].append((float(x), float(width), html.unescape(text).replace("\xa0", " ")))
    for y in sorted(lines):
        end, parts = 0.0, []
        for x, width, text in sorted(lines[y]):
            parts.append(text if x - end < 1 else f"  {text}")
            end = x + width
        yield "".join(parts)


def document_texts() -> Iterator[Text]:
    """Yield the paragraphs and lines of tables and blocks of the documents."""
    written = {place: text for place, text in DOCUMENTS.items() if place not in GENERATED}
    for place, text in {**written, "CHANGELOG.md": (ROOT / "CHANGELOG.md").read_text("utf-8")}.items():
        number = 1
        for paragraph in re.split(r"(\n\s*\n|\n(?=[|#*-]|\d+\. ))", text):
            if paragraph.strip():
                yield Text(place, number, paragraph)
            number += paragraph.count("\n")


SOURCES: Final[Mapping[str, Callable[[], Iterable[Text]]]] = {
    "literals": literals,
    "help": help_texts,
    "keys": key_texts,
    "commands": command_texts,
    "pictures": picture_texts,
    "documents": document_texts,
}


def main() -> None:
    os.environ["COLUMNS"] = "100"
    for name in sys.argv[1:] or ("literals", "keys", "commands"):
        for text in SOURCES[name]():
            print(text)


if __name__ == "__main__":
    main()
