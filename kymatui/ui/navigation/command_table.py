"""Commands behind `:`, also the source of completion and of the command palette."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Iterator, Sequence

from msgspec import Struct

from kymatui.errors import did_you_mean, nearest_names

_MOST_NAMES = 14  # that a message lists


class ScreenCommand(Struct, frozen=True):
    """One command: `line` is its name with the words that may follow it, in a form such as `tree NAME`.

    `arguments()` lists the completions, `run(words)` runs it, `writes` if it writes.
    """

    line: str
    help: str
    run: Callable[[Sequence[str]], None]
    aliases: tuple[str, ...] = ()
    arguments: Callable[[], Iterable[str]] = tuple
    writes: bool = False

    @property
    def name(self) -> str:
        return self.line.partition(" ")[0]

    @property
    def usage(self) -> str:
        """Return its line, "" for a command without further words."""
        return self.line if " " in self.line else ""


class UnknownCommand(Struct, frozen=True):
    """Unknown command; `near` has the commands with the same beginning, else those spelled alike."""

    word: str
    near: tuple[str, ...]

    def __str__(self) -> str:
        hint = did_you_mean(self.near) or "; `:help` lists the commands"
        return f'no command "{self.word}"{hint}'


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
    known = {name: command.name for command in commands for name in (*command.aliases, command.name)}
    return tuple(dict.fromkeys(known[name] for name in nearest_names(word, known)))[:2]


def unknown_name(kind: str, word: str, known: Iterable[str], usage: str) -> str:
    """Return that `word` is no `kind`, or missing if "", with what to type instead.

    That is the nearest of the known names, else all of them, else the usage where they are many.
    """
    names = list(dict.fromkeys(known))
    near = nearest_names(word, names) or [
        name for name in names if word and name.casefold().startswith(word.casefold())
    ]
    message = f'no {kind} "{word}"' if word else f"{kind} missing"
    if near:
        return f"{message}{did_you_mean(near[:3])}"
    if 0 < len(names) <= _MOST_NAMES:
        return f"{message}; choose {', '.join(names)}"
    return f"{message}; type `:{usage}`"


def _split(line: str) -> list[str]:
    try:
        return shlex.split(line)
    except ValueError:  # an open quote: split at blanks
        return line.split()
