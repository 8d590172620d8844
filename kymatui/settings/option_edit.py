"""Changes one option of the configuration file; comments and everything else stay as they are."""

from __future__ import annotations

import json
import os
import re
import tempfile
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from kymatui.errors import ConfigurationError
from kymatui.settings.config_file import read_file
from kymatui.settings.options_schema import find_faults


def set_option(path: Path, name: str, value: str | bool | list[str]) -> None:
    """Sets a top-level option in the file, which is made where it is not there.

    Raises ConfigurationError where the value is not valid, the file is not, or it cannot be written; the file is then
    as it was. The file is replaced whole, so that nobody ever reads half of it.
    """
    if found := list(find_faults({name: value})):
        raise ConfigurationError(str(found[0]))
    body = read_file(path) if path.is_file() else {}
    try:
        before = path.read_text(encoding="utf-8") if path.is_file() else ""
        after = with_option(before, body, name, value)
        _replace(path, after)
    except OSError as error:
        raise ConfigurationError(f"{path} cannot be written: {error.strerror or error}") from error


def with_option(text: str, body: Mapping[str, Any], name: str, value: str | bool | list[str]) -> str:
    """The text with the option set; `body` is what the text means.

    Raises ConfigurationError where the place of the option cannot be found for certain.
    """
    line = f"{name} = {json.dumps(value, ensure_ascii=False)}"
    wanted = {**body, name: value}
    for candidate in _candidates(text, name, line):
        try:
            if tomllib.loads(candidate) == wanted:
                return candidate
        except tomllib.TOMLDecodeError:
            continue
    raise ConfigurationError(
        f"it is not clear where {name} stands in the configuration file", hint=f"write it by hand: {line}"
    )


def _candidates(text: str, name: str, line: str) -> list[str]:
    """Instead of the option, which may go over several lines; else in front of everything: tables come last in TOML."""
    begin = rf"^[ \t]*(?:{name}|\"{name}\"|'{name}')[ \t]*="
    endings = (r"[^\n]*$", r"[ \t]*\[[^\]]*\][^\n]*$", r"[ \t]*\[.*?^[ \t]*\][^\n]*$")
    found = []
    for ending in endings:
        text_after, count = re.subn(begin + ending, lambda _: line, text, count=1, flags=re.MULTILINE | re.DOTALL)
        found += [text_after] if count else []
    return [*found, f"{line}\n{text}"]


def _replace(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    target = path.resolve()  # a link to the file stays a link
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        if target.exists():
            os.chmod(name, target.stat().st_mode & 0o777)
        os.replace(name, target)
    except BaseException:
        os.unlink(name)
        raise
