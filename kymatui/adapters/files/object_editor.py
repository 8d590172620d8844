"""An object in a person's editor: written to a file of their own, read again, and opened again with what is wrong."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, TypeVar

from kymatui.domain.kubernetes.terminal_text import error_reason, sanitize
from kymatui.engine.cluster.yaml_output import dump_yaml, parse_yaml
from kymatui.errors import ConfigurationError, InvalidError, KymatuiError

_LARGEST: Final = 4 * 1024 * 1024  # bytes of an edited file; API servers accept 3 MiB
_HEAD: Final = """\
# Edit the object below. Lines that begin with # are ignored; an empty file cancels the edit.
# An error opens the file again, with the error on top.
"""
T = TypeVar("T")


def edit_in_editor(body: Mapping[str, Any], name: str, check: Callable[[Any], T], *, is_new: bool = False) -> T | None:
    """Return what `check` makes of the rewritten object, None if the person left it as it was, or emptied it.

    An object that `is_new` may stay as it is.

    An InvalidError of `check`, or YAML that is none, opens the file again; the same content once more gives up, and
    the error says where the file is kept.
    """
    command = editor_command()
    original = dump_yaml(body)
    text, wrong = original, ""
    descriptor, file_name = tempfile.mkstemp(prefix=f"kymatui-edit-{name}-", suffix=".yaml")
    os.close(descriptor)
    path, is_kept = Path(file_name), False
    try:
        while True:
            path.write_text(_HEAD + _as_comment(wrong) + "#\n" + text, encoding="utf-8")
            _run([*command, str(path)])
            content = _without_comments(_read(path))
            if not content.strip() or (content == original and not is_new):
                return None
            if wrong and content == text:
                is_kept = True
                raise InvalidError(f"{wrong}; no changes made", hint=f"your changes are in {path}", status=422)
            text = content
            try:
                return check(parse_yaml(content))
            except InvalidError as error:  # the editor opens again with the error on top
                wrong = str(error)
            except KymatuiError as error:
                is_kept = True
                path.write_text(content, encoding="utf-8")
                error.hint = "; ".join(filter(None, (error.hint, f"your changes are in {path}")))
                raise
    finally:
        if not is_kept:
            path.unlink(missing_ok=True)


def editor_command(environment: Mapping[str, str] = os.environ) -> list[str]:
    """Return the editor's words: KUBE_EDITOR, EDITOR, or vi, as kubectl chooses it. Raise ConfigurationError."""
    chosen = environment.get("KUBE_EDITOR") or environment.get("EDITOR") or ("notepad" if os.name == "nt" else "vi")
    try:
        words = shlex.split(chosen, posix=os.name != "nt")
    except ValueError as error:
        raise ConfigurationError(f"invalid editor {chosen!r}: {error}", hint="set KUBE_EDITOR or EDITOR") from error
    if not words:
        raise ConfigurationError("the editor is empty", hint="set KUBE_EDITOR or EDITOR")
    return words


def _run(words: list[str]) -> None:
    try:
        with interrupts_ignored():
            ended = subprocess.run(words, check=False)  # noqa: S603 (the words are the user's own)
    except OSError as error:
        hint = "set KUBE_EDITOR or EDITOR to your editor"
        raise ConfigurationError(f"cannot start the editor {words[0]}: {error_reason(error)}", hint=hint) from error
    if ended.returncode:
        raise ConfigurationError(f"the editor {words[0]} ended with status {ended.returncode}; no changes made")


@contextmanager
def interrupts_ignored() -> Iterator[None]:
    """Leave ctrl-c to the editor, which is in the same group of processes."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, lambda *_: None)  # and not SIG_IGN, which the editor would inherit
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before or signal.SIG_DFL)


def _read(path: Path) -> str:
    try:
        if path.stat().st_size > _LARGEST:
            raise ConfigurationError(f"{path} is larger than {_LARGEST // 1024 // 1024} MiB; no changes made")
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"cannot read {path}: {error_reason(error)}; no changes made") from error


def _as_comment(error: str) -> str:
    return "".join(f"# error: {sanitize(line)}\n" for line in error.splitlines())


def _without_comments(content: str) -> str:
    """Return the content without the comments on top, which kymatui wrote."""
    lines = content.splitlines(keepends=True)
    at = next((number for number, line in enumerate(lines) if not line.startswith("#")), len(lines))
    return "".join(lines[at:])
