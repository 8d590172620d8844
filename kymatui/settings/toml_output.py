"""The settings as TOML text."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from kymatui.settings.config_file import Settings
from kymatui.settings.options_schema import OPTIONS

_TABLES = ("keys", "contexts", "groups")


def as_toml(settings: Settings, only: str = "") -> str:
    """Return every option with help and value, or the one named `only`; tables come last, as TOML requires."""
    plain = [option for option in OPTIONS if option.kind not in _TABLES and only in ("", option.name)]
    lines: list[str] = []
    for option in plain:
        choices = f" ({', '.join(option.choices)})" if option.choices and option.kind == "text" else ""
        lines += [f"# {option.help}{choices}", f"{option.name} = {_value(getattr(settings, option.name))}", ""]
    if only in ("", "keys"):
        lines += ["# keys by the id of a binding; `?` on the screen lists them", "[keys]", *_table(settings.keys), ""]
    for pattern, body in settings.contexts.items() if only in ("", "contexts") else ():
        lines += [f"[contexts.{_key(pattern)}]", *_table(body), ""]
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
