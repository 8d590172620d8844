"""The commands behind `:`. The same table feeds completion and the command palette."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ScreenCommand:
    """One command: `arguments()` lists what may follow, `run(words)` does it."""

    name: str
    help: str
    run: Callable[[Sequence[str]], None]
    aliases: tuple[str, ...] = ()
    usage: str = ""
    arguments: Callable[[], Iterable[str]] = tuple


@dataclass(frozen=True, slots=True)
class UnknownCommand:
    """What was typed is no command; `near` are those that begin alike."""

    word: str
    near: tuple[str, ...]

    def __str__(self) -> str:
        hint = f"; did you mean {', '.join(self.near)}?" if self.near else "; `:help` lists the commands"
        return f"no command `{self.word}`{hint}"


def candidates(commands: Sequence[ScreenCommand]) -> Iterator[str]:
    """Every complete command line that can be suggested."""
    for command in commands:
        yield command.name
        yield from command.aliases
        for argument in command.arguments():
            yield f"{command.name} {argument}"


def find(commands: Sequence[ScreenCommand], line: str) -> tuple[ScreenCommand, list[str]] | UnknownCommand:
    """The command of a typed line and its arguments; a prefix that fits only one command is enough."""
    words = _split(line)
    if not words:
        return UnknownCommand("", ())
    word = words[0]
    exact = [c for c in commands if word == c.name or word in c.aliases]
    near = [c for c in commands if c.name.startswith(word)]
    if exact or len(near) == 1:
        return (exact or near)[0], words[1:]
    return UnknownCommand(word, tuple(c.name for c in near))


def _split(line: str) -> list[str]:
    try:
        return shlex.split(line)
    except ValueError:  # an open quote: take the words as they stand
        return line.split()
