"""Commands behind `:`, also the source of completion and of the command palette."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ScreenCommand:
    """One command: `arguments()` lists the completions, `run(words)` runs it, `writes` if it writes."""

    name: str
    help: str
    run: Callable[[Sequence[str]], None]
    aliases: tuple[str, ...] = ()
    usage: str = ""
    arguments: Callable[[], Iterable[str]] = tuple
    writes: bool = False


@dataclass(frozen=True, slots=True)
class UnknownCommand:
    """Unknown command; `near` has the commands with the same prefix."""

    word: str
    near: tuple[str, ...]

    def __str__(self) -> str:
        hint = f"; did you mean {', '.join(self.near)}?" if self.near else "; `:help` lists the commands"
        return f"no command `{self.word}`{hint}"


def help_lines(command: ScreenCommand) -> Iterator[str]:
    """Yield every complete line of one command as a suggestion, without aliases."""
    yield command.name
    for argument in command.arguments():
        yield f"{command.name} {argument}"


def completion_candidates(commands: Sequence[ScreenCommand]) -> Iterator[str]:
    """Yield every complete command line as a suggestion."""
    for command in commands:
        yield from help_lines(command)
        yield from command.aliases


def completions(commands: Sequence[ScreenCommand], text: str) -> tuple[str, ...]:
    """Return completions of the last word; nothing for empty text."""
    typed = text.casefold()
    if not typed.strip():
        return ()
    known = sorted(line for line in completion_candidates(commands) if line.casefold().startswith(typed))
    start = typed.rfind(" ") + 1
    return tuple(dict.fromkeys(line[start:].partition(" ")[0] for line in known))


def find_command(commands: Sequence[ScreenCommand], line: str) -> tuple[ScreenCommand, list[str]] | UnknownCommand:
    """Return the command of a typed line and its arguments; accept a unique prefix."""
    words = _split(line)
    if not words:
        return UnknownCommand("", ())
    word = words[0]
    exact = [c for c in commands if word == c.name or word in c.aliases]
    near = [c for c in commands if c.name.startswith(word)]
    if exact or len(near) == 1:
        return (exact or near)[0], words[1:]
    return UnknownCommand(word, tuple(c.name for c in near) or _alike(word, commands))


def _alike(word: str, commands: Sequence[ScreenCommand]) -> tuple[str, ...]:
    from difflib import get_close_matches

    return tuple(get_close_matches(word, [command.name for command in commands], n=2))


def _split(line: str) -> list[str]:
    try:
        return shlex.split(line)
    except ValueError:  # an open quote: split at blanks
        return line.split()
