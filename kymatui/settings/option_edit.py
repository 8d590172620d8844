"""Options as TOML, and the edit of one in the configuration file, keeping comments and everything else."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from kymatui.errors import ConfigurationError
from kymatui.own_files import own_folder, write_file
from kymatui.settings.config_file import Settings, read_file
from kymatui.settings.options_schema import OPTIONS, find_faults

_TABLES = ("keys", "contexts", "groups", "plugins")


def as_toml(settings: Settings, only: str = "") -> str:
    """Return every option with help and value, or the one named `only`; tables come last, as TOML requires."""
    plain = [option for option in OPTIONS if option.kind not in _TABLES and only in ("", option.name)]
    lines: list[str] = []
    for option in plain:
        choices = f" ({', '.join(option.choices)})" if option.choices and option.kind == "text" else ""
        lines += [f"# {option.help}{choices}", f"{option.name} = {_value(getattr(settings, option.name))}", ""]
    if only in ("", "keys"):
        lines += ["# keys by the id of a binding; `?` on the screen lists them", "[keys]", *_table(settings.keys), ""]
    for table in ("contexts", "plugins"):
        for name, body in getattr(settings, table).items() if only in ("", table) else ():
            lines += [f"[{table}.{_key(name)}]", *_table(body), ""]
    if settings.groups and only in ("", "groups"):
        lines += ["[groups]", *_table(settings.groups), ""]
    return "\n".join(lines)


def _table(body: Mapping[str, Any]) -> Iterator[str]:
    for key, value in body.items():
        yield f"{_key(key)} = {_value(value)}"


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple | list):
        return f"[{', '.join(_value(item) for item in value)}]"
    return json.dumps(value, ensure_ascii=False)  # TOML's basic strings take JSON's escapes


def _key(key: str) -> str:
    return key if key.replace("_", "").replace("-", "").isalnum() and key.isascii() else json.dumps(key)


def set_option(path: Path, name: str, value: str | bool | list[str]) -> None:
    """Set a top-level option in the file, creating the file if it is missing.

    Raises ConfigurationError if the value or file is invalid, or the file cannot be written; the file then stays
    the same. It is replaced atomically, so that no reader sees half of it.
    """
    if faults := list(find_faults({name: value})):
        raise ConfigurationError(str(faults[0]))
    body = read_file(path) if path.is_file() else {}
    try:
        before = path.read_text(encoding="utf-8") if path.is_file() else ""
        after = with_option(before, body, name, value)
        _replace(path, after)
    except OSError as error:
        raise ConfigurationError(f"{path} cannot be written: {error.strerror or error}") from error


def with_option(text: str, body: Mapping[str, Any], name: str, value: str | bool | list[str]) -> str:
    """Return the text with the option set; `body` is the parsed text.

    Raises ConfigurationError if the option's position is ambiguous.
    """
    line = f"{name} = {json.dumps(value, ensure_ascii=False)}"
    changed = {**body, name: value}
    for candidate in _candidates(text, name, line):
        try:
            if tomllib.loads(candidate) == changed:
                return candidate
        except tomllib.TOMLDecodeError:
            continue
    raise ConfigurationError(f"cannot set {name} in the configuration file", hint=f"edit the file and add: {line}")


def _candidates(text: str, name: str, line: str) -> list[str]:
    """Return candidates: the option replaced (it may span lines), else added at the top, before tables."""
    begin = rf"^[ \t]*(?:{name}|\"{name}\"|'{name}')[ \t]*="
    endings = (r"[^\n]*$", r"[ \t]*\[[^\]]*\][^\n]*$", r"[ \t]*\[.*?^[ \t]*\][^\n]*$")
    texts = []
    for ending in endings:
        text_after, count = re.subn(begin + ending, lambda _: line, text, count=1, flags=re.MULTILINE | re.DOTALL)
        texts += [text_after] if count else []
    return [*texts, f"{line}\n{text}"]


def _replace(path: Path, text: str) -> None:
    if path.parent.name == "kymatui":  # not a file that KYMATUI_CONFIG names
        own_folder(path.parent)
    target = path.resolve()  # a link to the file stays a link
    write_file(target, text.encode(), private=not target.exists())
