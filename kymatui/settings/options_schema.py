"""The options of the configuration file, for validation, `config show` and the JSON Schema."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Literal, NamedTuple

from kymatui.errors import did_you_mean, nearest_names
from kymatui.lists.catalog import COLUMN_NAMES, START_COLUMNS
from kymatui.patterns import deferred
from kymatui.settings import THEME_NAMES

OptionKind = Literal["text", "flag", "texts", "keys", "contexts", "groups", "plugins"]

ACCENTS = ("red", "orange", "yellow", "green", "blue", "purple", "grey")

PLUGIN_SCOPES = ("catalog", "module", "tree", "fleet")

_KEY = deferred(r"[a-z0-9_+@]+|[A-Z]")
_PLUGIN = deferred(r"[a-z][a-z0-9-]*")
_NEEDS_CONTEXT = deferred(r"(kubectl|k9s|helm|flux|argocd)\b")


class SettingOption(NamedTuple):
    """One option: `choices` limit a text or list items, `environment` is its variable."""

    name: str
    kind: OptionKind
    default: Any
    help: str
    choices: tuple[str, ...] = ()
    environment: str = ""


OPTIONS: tuple[SettingOption, ...] = (
    SettingOption("theme", "text", "dark", "theme of the screen", THEME_NAMES, "KYMATUI_THEME"),
    SettingOption("ascii", "flag", False, "use only ASCII characters and borders", environment="KYMATUI_ASCII"),
    SettingOption("mouse", "flag", True, "use the mouse", environment="KYMATUI_MOUSE"),
    SettingOption("read_only", "flag", False, "refuse every write", environment="KYMATUI_READ_ONLY"),
    SettingOption("bell", "flag", False, "ring the terminal's bell when a job ends", environment="KYMATUI_BELL"),
    SettingOption(
        "notifications",
        "text",
        "off",
        "notify the desktop through the terminal when a module gets worse and another window has the focus",
        ("off", "osc9", "osc777"),
    ),
    SettingOption("columns", "texts", START_COLUMNS, "columns of the catalog, in order", COLUMN_NAMES),
    SettingOption("sort", "text", "name", "column that sorts the catalog at start", COLUMN_NAMES),
    SettingOption("catalogs", "texts", (), "additional sources of community modules: URLs, files, folders"),
    SettingOption("maintenance_policy", "text", "", "lifecycle-manager's maintenance window policy, a JSON file"),
    SettingOption("restricted_modules", "texts", (), "modules that lifecycle-manager offers to selected Kymas only"),
    SettingOption(
        "registry", "text", "", "registry of components, HOST[:PORT][/PATH], for templates without a descriptor"
    ),
    SettingOption("public_key", "text", "", "PEM public key that verifies the components of the catalog"),
    SettingOption("keys", "keys", {}, 'keys by the id of a binding, e.g. `"app.quit" = "ctrl+q"`'),
    SettingOption("contexts", "contexts", {}, "settings by context name or pattern: accent, read_only"),
    SettingOption("plugins", "plugins", {}, "own commands by name, run by a key or `:NAME` on the screen"),
    SettingOption("groups", "groups", {}, 'contexts by group for --contexts, e.g. `prod = ["prod-*", "eu-1"]`'),
)

CONTEXT_OPTIONS: tuple[SettingOption, ...] = (
    SettingOption("accent", "text", "", "colour of the frame", ACCENTS),
    SettingOption("read_only", "flag", False, "refuse every write on this cluster"),
)

PLUGIN_OPTIONS: tuple[SettingOption, ...] = (
    SettingOption("command", "text", "", "line for the shell; $MODULE, $CONTEXT and others are in its environment"),
    SettingOption("key", "text", "", "key that runs it, e.g. ctrl+k"),
    SettingOption("help", "text", "", "what it does, for help and palette"),
    SettingOption("scope", "texts", PLUGIN_SCOPES, "where it runs", PLUGIN_SCOPES),
    SettingOption("output", "text", "terminal", "where it prints", ("terminal", "pane")),
    SettingOption("confirm", "flag", False, "ask before it runs"),
    SettingOption("reads_only", "flag", False, "also run it where kymatui is read-only"),
)


class SettingFault(NamedTuple):
    """A fault in a file: its position (`contexts.prod*.accent`) and the valid values."""

    where: str
    message: str
    is_unknown_name: bool = False

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
            hint = did_you_mean(nearest_names(name, known, 1))
            yield SettingFault(f"{prefix}{name}" or '""', f"no such option{hint}", is_unknown_name=True)
        else:
            yield from _option_faults(option, value, f"{prefix}{name}")


def _option_faults(option: SettingOption, value: Any, where: str) -> Iterator[SettingFault]:
    match option.kind:
        case "flag":
            if not isinstance(value, bool):
                yield SettingFault(where, f"must be true or false, not {value!r}")
        case "text":
            yield from _text_faults(option, value, where)
        case "texts":
            if not isinstance(value, list):
                yield SettingFault(where, f"must be a list, not {value!r}")
                return
            for index, item in enumerate(value):
                yield from _text_faults(option, item, f"{where}[{index}]")
        case "keys":
            yield from _key_faults(value, where)
        case "contexts":
            yield from _context_faults(value, where)
        case "groups":
            yield from _group_faults(value, where)
        case "plugins":
            yield from _plugin_faults(value, where)


def _text_faults(option: SettingOption, value: Any, where: str) -> Iterator[SettingFault]:
    if not isinstance(value, str):
        yield SettingFault(where, f"must be a text, not {value!r}")
    elif option.choices and value not in option.choices:
        hint = did_you_mean(nearest_names(value, option.choices, 1)) or f"; use one of {', '.join(option.choices)}"
        yield SettingFault(where, f"{value!r} is not valid{hint}", is_unknown_name=True)


def _key_faults(value: Any, where: str) -> Iterator[SettingFault]:
    if not isinstance(value, dict):
        yield SettingFault(where, f"must be a table of keys, not {value!r}")
        return
    for name, keys in value.items():
        if not isinstance(keys, str) or not all(_KEY.fullmatch(key.strip()) for key in keys.split(",")):
            yield SettingFault(
                f"{where}.{name}", f"{keys!r} is not a key; write ctrl+q, f5 or q, and a comma between several keys"
            )


def _context_faults(value: Any, where: str) -> Iterator[SettingFault]:
    if not isinstance(value, dict):
        yield SettingFault(where, f"must be a table of contexts, not {value!r}")
        return
    for pattern, body in value.items():
        if not isinstance(body, dict):
            yield SettingFault(f"{where}.{pattern}", f"must be a table, not {body!r}")
        else:
            yield from find_faults(body, CONTEXT_OPTIONS, f"{where}.{pattern}.")


def _group_faults(value: Any, where: str) -> Iterator[SettingFault]:
    groups = value if isinstance(value, dict) else {where: value}
    for name, names in groups.items():
        if not isinstance(names, list) or not names or not all(isinstance(item, str) for item in names):
            position = f"{where}.{name}" if isinstance(value, dict) else where
            yield SettingFault(position, f"must be a list of contexts or patterns, not {names!r}")


def _plugin_faults(value: Any, where: str) -> Iterator[SettingFault]:
    if not isinstance(value, dict):
        yield SettingFault(where, f"must be a table of plugins, not {value!r}")
        return
    for name, body in value.items():
        position = f"{where}.{name}"
        if not _PLUGIN.fullmatch(name):
            yield SettingFault(position, "a name has small letters, digits and -, e.g. k9s")
        if not isinstance(body, dict):
            yield SettingFault(position, f"must be a table, not {body!r}")
            continue
        yield from find_faults(body, PLUGIN_OPTIONS, f"{position}.")
        command, key = (str(body.get(option, "")) for option in ("command", "key"))
        if not command.strip():
            yield SettingFault(f"{position}.command", "is missing")
        elif _NEEDS_CONTEXT.match(command.strip()) and "CONTEXT" not in command:
            fault = 'name the cluster with "$CONTEXT", or it works on the current context of the kubeconfig'
            yield SettingFault(f"{position}.command", fault)
        if key and not _KEY.fullmatch(key):
            yield SettingFault(f"{position}.key", f"{key!r} is not a key; write ctrl+k, f5 or K")


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
        "plugins": {"type": "object"},
        "groups": {"type": "object", "additionalProperties": {"type": "array", "items": text, "minItems": 1}},
    }
    schema = {**shapes[option.kind], "description": option.help}
    if option.kind == "contexts":
        schema["additionalProperties"] = _object_schema(CONTEXT_OPTIONS)
    if option.kind == "plugins":
        schema["additionalProperties"] = {**_object_schema(PLUGIN_OPTIONS), "required": ["command"]}
    return schema
