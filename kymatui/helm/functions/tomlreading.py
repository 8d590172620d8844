"""TOML as BurntSushi/toml 1.6 reads it into map[string]interface{}."""

from __future__ import annotations

import tomllib
from datetime import date, datetime, time
from typing import Any, Final

from kymatui.helm.functions.calendar import fixed_location
from kymatui.helm.functions.times import Time
from kymatui.helm.govalues.types import Int64, TypedList

_TABLES: Final = "[]map[string]interface {}"


class TomlSyntaxError(ValueError):
    """A text that is no TOML."""


def decode_toml(text: str) -> dict[str, Any]:
    """Whole numbers are int64, times time.Time, an array of tables is []map[string]interface{}."""
    try:
        return {key: _value(value) for key, value in tomllib.loads(text.replace("\r\n", "\n")).items()}
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise TomlSyntaxError(f"toml: {error}") from error


def _value(value: Any) -> Any:
    if isinstance(value, bool):
        return value
    if isinstance(value, int):
        return Int64(value)
    if isinstance(value, dict):
        return {key: _value(item) for key, item in value.items()}
    if isinstance(value, list):
        items = [_value(item) for item in value]
        tables = bool(items) and all(isinstance(item, dict) for item in items)
        return TypedList(_TABLES, items) if tables else items
    if isinstance(value, datetime):
        return _moment(value)
    if isinstance(value, date):
        return _moment(datetime(value.year, value.month, value.day))
    if isinstance(value, time):
        return _moment(datetime(1, 1, 1, value.hour, value.minute, value.second, value.microsecond))
    return value


def _moment(value: datetime) -> Time:
    offset = value.utcoffset()
    seconds = 0 if offset is None else int(offset.total_seconds())
    zone = fixed_location("UTC" if not seconds else "", seconds)
    of_day = value.hour * 3600 + value.minute * 60 + value.second
    return Time.civil((value.year, value.month, value.day), of_day, value.microsecond * 1000, zone)
