"""What a shell offers for the word that is being typed: commands and options out of the parsers, names out of a cache.

Everything that is offered is data to the shell. A line is taken apart here, by bash's rules, and what goes back to bash
is quoted here; zsh and fish take and quote words themselves. Nothing is printed but candidates: whatever goes wrong,
a completion is silent, and it waits for a cluster for a second.

It is reached by a hidden first word: `kymatui __complete bash LINE POINT BREAKS`, `kymatui __complete zsh|fish WORD…`.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import threading
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct, field

from kymatui.cli.command_table import by_name
from kymatui.cli.output.printing import print_text
from kymatui.cli.parser import build_parser
from kymatui.cli.subcommands import LazySubcommands
from kymatui.domain.kubernetes.terminal_text import sanitize
from kymatui.errors import KymatuiError
from kymatui.settings.options_schema import OPTIONS

if TYPE_CHECKING:
    from kymatui.sessions.cluster.completion_cache import CompletionNames
    from kymatui.sessions.cluster.session_options import SessionOptions

FILES = ":files"
"""Printed alone, where the shell should complete files."""
_SETUP = 5.0  # seconds for parsers and files, which take their time on a busy machine
_PATIENCE = 1.0  # seconds for the cluster: a user waits for the next letter
_asks = threading.Event()
"""Set when a cluster is asked, or when the answer is complete without one."""
_FILES = frozenset({"FILE", "PATH", "PLAN", "CHART", "FOLDER", "DIR"})
_NO_MODULES = frozenset({"reconcile"})


class Typed(Struct):
    """What stands before the word: the parser in charge, the command's words, and what was said so far."""

    parser: argparse.ArgumentParser
    command: tuple[str, ...] = ()
    positionals: list[str] = field(default_factory=list)
    options: dict[str, str] = field(default_factory=dict)
    pending: argparse.Action | None = None
    only_positionals: bool = False


def main(words: Sequence[str]) -> int:
    """Print what can stand there, one a line; a cluster has a second to answer."""
    return complete(lambda: _answer(words))


def complete(find: Callable[[], Sequence[str]]) -> int:
    """Print what `find` returns, one a line; nothing if it fails, or if a cluster does not answer within a second."""
    answer: list[str] = []
    _asks.clear()

    def work() -> None:  # whatever fails, a line that is being typed is no place for a traceback
        with contextlib.suppress(Exception):
            answer.extend(find())
        _asks.set()

    worker = threading.Thread(target=work, name="completion", daemon=True)
    worker.start()
    _asks.wait(_SETUP)
    worker.join(_PATIENCE)
    with contextlib.suppress(OSError, UnicodeError):
        # a name with a line break would be two words, and one with an escape sequence would reach the terminal
        print_text("".join(f"{line}\n" for line in list(answer) if line == sanitize(line)), end="")
    if worker.is_alive():
        os._exit(0)  # a server that does not answer must not hold the shell
    return 0


def _answer(words: Sequence[str]) -> list[str]:
    shell, *rest = words
    if shell == "bash":
        line, point, breaks = rest
        return bash_candidates(line[: int(point)], breaks)
    *before, last = rest
    return candidates(before, last)


def candidates(before: Sequence[str], last: str) -> list[str]:
    """Return the words that start with `last`; `FILES` alone if the shell should complete files."""
    typed = walk(before)
    name, sign, value = last.partition("=")
    if typed.pending is None and sign and name.startswith("--") and not typed.only_positionals:
        action = typed.parser._option_string_actions.get(name)
        return [f"{name}={word}" for word in _begin(_values(typed, action), value)] if action else []
    if typed.pending is not None:
        return _begin(_values(typed, typed.pending), last)
    if last.startswith("-") and not typed.only_positionals:
        return _begin(typed.parser._option_string_actions, last)
    kept = _begin(_kept(), last) if typed.command[:1] == ("restore",) and not typed.positionals else []
    return kept or _begin(_positional(typed), last)


def _kept() -> Iterable[str]:
    """Return the modules that a backup is there of; what begins as none of them is a file."""
    from kymatui.adapters.files.backups import list_backups

    return sorted({backup.module for backup in list_backups()})


def _jobs(_: Typed) -> Iterable[str]:
    from kymatui.adapters.files.job_journals import job_names

    return job_names()


def _begin(words: Iterable[str], last: str) -> list[str]:
    matching = list(dict.fromkeys(words))
    if matching == [FILES]:
        return matching
    return [word for word in matching if word.startswith(last) and word.isprintable() and word]


# which parser, and what was said


def walk(words: Sequence[str]) -> Typed:
    """Go through the words as argparse would, loading no command but the one that stands there."""
    typed = Typed(build_parser((), every_command=True))
    for word in words:
        if typed.pending is not None:
            typed.options[typed.pending.dest] = word
            typed.pending = None
        elif word == "--" and not typed.only_positionals:
            typed.only_positionals = True
        elif word.startswith("-") and len(word) > 1 and not typed.only_positionals:
            _option(typed, word)
        else:
            _word(typed, word)
    return typed


def _option(typed: Typed, word: str) -> None:
    name, sign, value = word.partition("=")
    action = typed.parser._option_string_actions.get(name)
    if action is None or action.nargs == 0:
        return
    if sign:
        typed.options[action.dest] = value
    else:
        typed.pending = action


def _word(typed: Typed, word: str) -> None:
    below = _subparsers(typed.parser)
    if below is None:
        typed.positionals.append(word)
        return
    parser = below.choices.get(word)
    if not isinstance(parser, argparse.ArgumentParser):
        typed.parser = argparse.ArgumentParser(add_help=False)  # no such command: nothing follows
        return
    command = by_name(word) if not typed.command else None
    if command is not None:
        # made anew, as its own program has it: what stands before a command is taken apart by the one above
        parser = argparse.ArgumentParser()
        command.load().configure(parser)
    elif isinstance(below, LazySubcommands):
        parser = below.configured(word)
    typed.parser, typed.command = parser, (*typed.command, word)


def _subparsers(parser: argparse.ArgumentParser) -> argparse._SubParsersAction[argparse.ArgumentParser] | None:
    return next((action for action in parser._actions if isinstance(action, argparse._SubParsersAction)), None)


# what can stand there


def _positional(typed: Typed) -> Iterable[str]:
    below = _subparsers(typed.parser)
    if below is not None:
        return below.choices
    actions = [action for action in typed.parser._actions if not action.option_strings]
    index = len(typed.positionals)
    if actions and actions[0].nargs == "+" and len(actions) > 1 and index:  # `channel NAME… CHANNEL`
        last = [*_values(typed, actions[-1])]
        return () if any(word in last for word in typed.positionals) else [*last, *_values(typed, actions[0])]
    if actions and actions[-1].nargs in ("*", "+", argparse.REMAINDER):
        index = min(index, len(actions) - 1)
    return _values(typed, actions[index]) if index < len(actions) else ()


def _values(typed: Typed, action: argparse.Action) -> Iterable[str]:
    if action.choices is not None:
        return [str(choice) for choice in action.choices]
    metavar = action.metavar if isinstance(action.metavar, str) else ""
    if metavar in _FILES:
        return (FILES,)
    find = _PROVIDERS.get(action.dest)
    try:
        return find(typed) if find is not None else ()
    except KymatuiError:  # a command line that is being typed is no place for an error
        return ()


def _contexts(typed: Typed) -> Iterable[str]:
    return _contexts_in(_options(typed).kubeconfig)


def _runtime_contexts(typed: Typed) -> Iterable[str]:
    return _contexts_in(typed.options.get("skr_kubeconfig") or _options(typed, remote=True).kubeconfig)


def _contexts_in(kubeconfig: str) -> Iterable[str]:
    from kymatui.sessions.cluster.completion_cache import kubeconfig_contexts

    return kubeconfig_contexts(kubeconfig)


def _channels(typed: Typed) -> Iterable[str]:
    own = ("default",) if typed.command[:1] in (("enable",), ("channel",)) else ()
    return (*_names(typed).channels, *own)


def _modules(typed: Typed) -> Iterable[str]:
    """Return those that were not said yet."""
    if typed.command[0] in _NO_MODULES:
        return ()
    return [name for name in _names(typed).modules if name not in typed.positionals]


def _every_rule(_: Typed) -> Iterable[str]:
    from kymatui.domain.audit.report import RULES

    return [rule.id for rule in RULES]


def _settings(typed: Typed) -> Iterable[str]:
    """Return options for `config show`, files for `config validate`."""
    what = typed.positionals[:1]
    return [option.name for option in OPTIONS] if what == ["show"] else (FILES,) if what == ["validate"] else ()


def _labels(_: Typed) -> Iterable[str]:
    from kymatui.domain.kyma_edit.label_edit import LABELS

    return [f"{name}{end}" for name in LABELS for end in ("=true", "=false", "-")]


def _runtimes(typed: Typed) -> Iterable[str]:
    from kymatui.sessions.completion import find_runtime_names

    return find_runtime_names(_options(typed, remote=True), _asks.set)


_PROVIDERS: dict[str, Callable[[Typed], Iterable[str]]] = {
    "context": _contexts,
    "contexts": _contexts,
    "kcp_context": lambda typed: _contexts_in(_options(typed, remote=True).kubeconfig),
    "skr_context": _runtime_contexts,
    "channel": _channels,
    "name": _modules,
    "names": _modules,
    "module": _modules,
    "modules": _modules,
    "version": lambda typed: _names(typed).modules.get(typed.positionals[0] if typed.positionals else "", ()),
    "labels": _labels,
    "remote": _runtimes,
    "runtime": _runtimes,
    "rule": lambda typed: _every_rule(typed) if typed.positionals[:1] == ["explain"] else (),
    "rules": _every_rule,
    "argument": _settings,
    "job": _jobs,
}


def _names(typed: Typed) -> CompletionNames:
    from kymatui.sessions.completion import find_module_names, find_names

    runtime = typed.options.get("remote", "")
    if runtime:
        return find_module_names(_options(typed, remote=True), runtime, _asks.set)
    return find_names(_options(typed), _asks.set)


def _options(typed: Typed, *, remote: bool = False) -> SessionOptions:
    """Return the cluster that the words name; with `remote` the control plane."""
    from kymatui.sessions.cluster.session_options import SessionOptions

    options = typed.options
    kubeconfig, context = options.get("kubeconfig", ""), options.get("context", "")
    if remote:
        kubeconfig, context = options.get("kcp_kubeconfig") or kubeconfig, options.get("kcp_context") or context
    return SessionOptions(kubeconfig=kubeconfig, context=context)


# bash: a line with quotes, of which readline replaces what follows the last character that breaks words


def bash_candidates(line: str, breaks: str) -> list[str]:
    """Return what readline puts in the place of the last word, quoted for the kind of quotes that are open there."""
    words, last = split_line(line)
    matches = candidates(words[1:], last.text)
    if matches == [FILES]:
        return matches
    cut = last.kept(breaks)
    return [quoted(word[cut:], last.quote) for word in matches]


class TypedWord(Struct):
    """A word as it is typed: its text without quotes, and of each character whether it is quoted."""

    text: str = ""
    is_quoted: list[bool] = field(default_factory=list)
    quote: str = ""

    def add(self, character: str, is_quoted: bool) -> None:
        self.text += character
        self.is_quoted.append(is_quoted)

    def kept(self, breaks: str) -> int:
        """Return how many characters stand before what readline replaces: up to its last break that is not quoted."""
        if self.quote:
            return len(self.is_quoted) - next(
                (back for back, is_quoted in enumerate(reversed(self.is_quoted)) if not is_quoted), len(self.is_quoted)
            )
        plain = zip(self.text, self.is_quoted, strict=True)
        return max(
            (at + 1 for at, (char, is_quoted) in enumerate(plain) if char in breaks and not is_quoted), default=0
        )


def split_line(line: str) -> tuple[list[str], TypedWord]:
    """Return the words of bash before the cursor, and the one that it stands in; of several commands the last one's."""
    words: list[str] = []
    now, begun, at = TypedWord(), False, 0
    while at < len(line):
        char = line[at]
        at += 1
        if now.quote == "'":
            now.quote = "" if char == "'" else now.quote
            if char != "'":
                now.add(char, True)
        elif char == "\\" and at < len(line) and (not now.quote or line[at] in '$`"\\'):
            now.add(line[at], True)
            at += 1
            begun = True
        elif now.quote == '"':
            now.quote = "" if char == '"' else now.quote
            if char != '"':
                now.add(char, True)
        elif char in "'\"":
            now.quote, begun = char, True
        elif char in " \t\n;|&":
            if begun:
                words.append(now.text)
            words = [] if char in ";|&\n" else words
            now, begun = TypedWord(), False
        else:
            now.add(char, False)
            begun = True
    return words, now


_PLAIN = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789@%+=:,./_-")


def quoted(text: str, quote: str = "") -> str:
    """Quote a text for bash: within open quotes, or with a backslash before special characters."""
    if quote == "'":
        return text.replace("'", "'\\''")
    if quote == '"':
        return "".join(f"\\{char}" if char in '$`"\\' else char for char in text)
    return "".join(char if char in _PLAIN or ord(char) > 127 else f"\\{char}" for char in text)
