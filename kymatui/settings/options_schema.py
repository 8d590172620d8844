"""The options of the configuration file, for validation, `config show` and the JSON Schema."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Literal, NamedTuple

from kymatui.domain.catalog.catalog_columns import CATALOG_COLUMNS

OptionKind = Literal["text", "flag", "texts", "keys", "contexts"]

THEME_NAMES = ("dark", "light", "high-contrast", "colour-blind", "mono", "terminal")
COLUMN_NAMES = tuple(CATALOG_COLUMNS)
ACCENTS = ("red", "orange", "yellow", "green", "blue", "purple", "grey")

_KEY = re.compile(r"[a-z0-9_+@]+|[A-Z]")


class SettingOption(NamedTuple):
    """One option: `choices` limit a text or list items, `environment` is its variable."""

    name: str
    kind: OptionKind
    default: Any
    help: str
    choices: tuple[str, ...] = ()
    environment: str = ""


OPTIONS: tuple[SettingOption, ...] = (
    SettingOption("theme", "text", "dark", "the look of the screen", THEME_NAMES, "KYMATUI_THEME"),
    SettingOption("ascii", "flag", False, "only ASCII signs and borders", environment="KYMATUI_ASCII"),
    SettingOption("mouse", "flag", True, "whether the mouse is listened to", environment="KYMATUI_MOUSE"),
    SettingOption("read_only", "flag", False, "refuse every write", environment="KYMATUI_READ_ONLY"),
    SettingOption("bell", "flag", False, "ring the terminal's bell when a job ends", environment="KYMATUI_BELL"),
    SettingOption("columns", "texts", COLUMN_NAMES, "the columns of the catalog, in order", COLUMN_NAMES),
    SettingOption("sort", "text", "name", "the column that orders the catalog at start", COLUMN_NAMES),
    SettingOption("catalogs", "texts", (), "more sources of community modules: URLs, files, folders"),
    SettingOption("maintenance_policy", "text", "", "lifecycle-manager's policy of maintenance windows, a JSON file"),
    SettingOption("restricted_modules", "texts", (), "modules that lifecycle-manager gives to some Kymas only"),
    SettingOption("keys", "keys", {}, 'keys by the id of a binding, as in `"app.quit" = "ctrl+q"`'),
    SettingOption("contexts", "contexts", {}, "by name or pattern of a context: accent, read_only"),
)

CONTEXT_OPTIONS: tuple[SettingOption, ...] = (
    SettingOption("accent", "text", "", "the colour of the frame", ACCENTS),
    SettingOption("read_only", "flag", False, "refuse every write on this cluster"),
)


class SettingFault(NamedTuple):
    """A fault in a file: its position (`contexts.prod*.accent`) and the valid values."""

    where: str
    message: str

    def __str__(self) -> str:
        return f"{self.where}: {self.message}"


def find_faults(
    body: Mapping[str, Any], options: tuple[SettingOption, ...] = OPTIONS, prefix: str = ""
) -> Iterator[SettingFault]:
    """Yield every fault of a configuration."""
    known = {option.name: option for option in options}
    for name, value in body.items():
        option = known.get(name)
        if option is None:
            from difflib import get_close_matches

            near = get_close_matches(name, known, n=1)
            hint = f"; did you mean {near[0]}?" if near else ""
            yield SettingFault(f"{prefix}{name}" or '""', f"there is no such option{hint}")
        else:
            yield from _option_faults(option, value, f"{prefix}{name}")


def _option_faults(option: SettingOption, value: Any, where: str) -> Iterator[SettingFault]:
    match option.kind:
        case "flag":
            if not isinstance(value, bool):
                yield SettingFault(where, f"wants true or false, not {value!r}")
        case "text":
            yield from _text_faults(option, value, where)
        case "texts":
            if not isinstance(value, list):
                yield SettingFault(where, f"wants a list, not {value!r}")
                return
            for index, item in enumerate(value):
                yield from _text_faults(option, item, f"{where}[{index}]")
        case "keys":
            yield from _key_faults(value, where)
        case "contexts":
            yield from _context_faults(value, where)


def _text_faults(option: SettingOption, value: Any, where: str) -> Iterator[SettingFault]:
    if not isinstance(value, str):
        yield SettingFault(where, f"wants a text, not {value!r}")
    elif option.choices and value not in option.choices:
        yield SettingFault(where, f"{value!r} is none of {', '.join(option.choices)}")


def _key_faults(value: Any, where: str) -> Iterator[SettingFault]:
    if not isinstance(value, dict):
        yield SettingFault(where, f"wants a table of keys, not {value!r}")
        return
    for name, keys in value.items():
        if not isinstance(keys, str) or not all(_KEY.fullmatch(key.strip()) for key in keys.split(",")):
            yield SettingFault(f"{where}.{name}", f"{keys!r} is no key; write ctrl+q, f5, q, or several with commas")


def _context_faults(value: Any, where: str) -> Iterator[SettingFault]:
    if not isinstance(value, dict):
        yield SettingFault(where, f"wants a table of contexts, not {value!r}")
        return
    for pattern, body in value.items():
        if not isinstance(body, dict):
            yield SettingFault(f"{where}.{pattern}", f"wants a table, not {body!r}")
        else:
            yield from find_faults(body, CONTEXT_OPTIONS, f"{where}.{pattern}.")


def json_schema() -> dict[str, Any]:
    """Return the JSON Schema of the options, for editors."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "kymatui configuration",
        **_object_schema(OPTIONS),
    }


def _object_schema(options: tuple[SettingOption, ...]) -> dict[str, Any]:
    return {
        "type": "object",
        "additionalProperties": False,
        "properties": {option.name: _schema(option) for option in options},
    }


def _schema(option: SettingOption) -> dict[str, Any]:
    text: dict[str, Any] = {"type": "string", **({"enum": list(option.choices)} if option.choices else {})}
    shapes: dict[OptionKind, dict[str, Any]] = {
        "text": text,
        "flag": {"type": "boolean"},
        "texts": {"type": "array", "items": text},
        "keys": {"type": "object", "additionalProperties": {"type": "string"}},
        "contexts": {"type": "object"},
    }
    schema = {**shapes[option.kind], "description": option.help}
    if option.kind == "contexts":
        schema["additionalProperties"] = _object_schema(CONTEXT_OPTIONS)
    return schema
