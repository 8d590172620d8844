"""The reader of the configuration file and the environment."""

from __future__ import annotations

import fnmatch
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from msgspec import Struct, field
from msgspec.structs import replace

from kymatui.domain.kubernetes.terminal_text import error_reason
from kymatui.errors import ConfigurationError, UnknownNameError, did_you_mean, nearest_names
from kymatui.lists.catalog import START_COLUMNS
from kymatui.settings import THEME_NAMES
from kymatui.settings.options_schema import OPTIONS, PLUGIN_SCOPES, find_faults

_TRUE = frozenset({"1", "true", "yes", "on"})
_FALSE = frozenset({"", "0", "false", "no", "off"})
_NOTHING: Mapping[str, Any] = MappingProxyType({})
_LARGEST = 1 << 20  # bytes; a configuration has some hundred lines
_FIX = "fix the file; `kymatui config schema` lists every option"


class ContextSettings(NamedTuple):
    """The settings of one cluster, for example a distinct accent for production."""

    accent: str = ""
    read_only: bool = False


class PluginSettings(NamedTuple):
    """A command of the user's own; see `PLUGIN_OPTIONS` for its fields."""

    name: str
    command: str
    key: str = ""
    help: str = ""
    scope: Sequence[str] = PLUGIN_SCOPES
    output: str = "terminal"
    confirm: bool = False
    reads_only: bool = False


class Settings(Struct, frozen=True):
    """All settings, with the schema's defaults."""

    theme: str = "dark"
    ascii: bool = False
    mouse: bool = True
    read_only: bool = False
    bell: bool = False
    notifications: str = "off"
    columns: tuple[str, ...] = START_COLUMNS
    sort: str = "name"
    catalogs: tuple[str, ...] = ()
    maintenance_policy: str = ""
    restricted_modules: tuple[str, ...] = ()
    registry: str = ""
    public_key: str = ""
    keys: Mapping[str, str] = field(default_factory=lambda: _NOTHING)
    contexts: Mapping[str, Mapping[str, Any]] = field(default_factory=lambda: _NOTHING)
    groups: Mapping[str, Sequence[str]] = field(default_factory=lambda: _NOTHING)
    plugins: Mapping[str, Mapping[str, Any]] = field(default_factory=lambda: _NOTHING)

    @property
    def own_commands(self) -> tuple[PluginSettings, ...]:
        """Return the plugins."""
        return tuple(PluginSettings(name, **body) for name, body in self.plugins.items())

    def context(self, name: str) -> ContextSettings:
        """Return the settings of a context: by its name, else by the first matching pattern."""
        context = self.contexts.get(name)
        if context is None:
            context = next((body for p, body in self.contexts.items() if fnmatch.fnmatchcase(name, p)), _NOTHING)
        return ContextSettings(str(context.get("accent", "")), bool(context.get("read_only", False)))


def config_path(environment: Mapping[str, str]) -> Path:
    """Return `KYMATUI_CONFIG`, else `config.toml` in the platform's configuration folder."""
    if environment.get("KYMATUI_CONFIG"):
        return Path(environment["KYMATUI_CONFIG"]).expanduser()
    from platformdirs import user_config_path

    return user_config_path("kymatui", appauthor=False) / "config.toml"


def load_settings(environment: Mapping[str, str]) -> Settings:
    """Load the settings: defaults, then the file, then the environment.

    A missing file is an error only if `KYMATUI_CONFIG` names it. Raises ConfigurationError with every fault and its
    position.
    """
    path = config_path(environment)
    body: dict[str, Any] = {}
    if path.is_file():
        body = _placed(read_file(path), path.parent)
    elif environment.get("KYMATUI_CONFIG"):
        raise ConfigurationError(f"{path} does not exist", hint="set KYMATUI_CONFIG to an existing file, or unset it")
    return _with_environment(_settings(body), environment)


def read_file(path: Path) -> dict[str, Any]:
    """Return the validated content of a configuration file."""
    import tomllib

    try:
        with path.open("rb") as file:
            text = file.read(_LARGEST + 1).decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"{path} cannot be read: {error_reason(error)}") from error
    if len(text) > _LARGEST:
        raise ConfigurationError(f"{path} is larger than {_LARGEST >> 20} MiB")
    try:
        body = tomllib.loads(text)
    except RecursionError:
        raise ConfigurationError(f"{path} is not valid TOML: it is nested too deeply", hint=_FIX) from None
    except ValueError as error:  # of TOML, and of numbers with thousands of digits
        raise ConfigurationError(f"{path} is not valid TOML: {error}", hint=_FIX) from error
    faults = list(find_faults(body))
    if faults:
        lines = "\n  ".join(str(fault) for fault in faults)
        kind = UnknownNameError if any(fault.is_unknown_name for fault in faults) else ConfigurationError
        raise kind(f"{path}:\n  {lines}", hint="`kymatui config schema` lists every option")
    return body


def _placed(body: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Resolve relative paths against the file's folder, not the working directory."""

    def placed(source: str) -> str:
        return source if "://" in source or not source else str(folder / Path(source).expanduser())

    body_copy = dict(body)
    if "catalogs" in body:
        body_copy["catalogs"] = [placed(source) for source in body["catalogs"]]
    for name in ("maintenance_policy", "public_key"):
        if name in body:
            body_copy[name] = placed(body[name])
    return body_copy


def _settings(body: Mapping[str, Any]) -> Settings:
    values: dict[str, Any] = {key: tuple(value) if isinstance(value, list) else value for key, value in body.items()}
    return Settings(**values)


def _with_environment(settings: Settings, environment: Mapping[str, str]) -> Settings:
    values: dict[str, Any] = {}
    for option in OPTIONS:
        text = environment.get(option.environment) if option.environment else None
        if text is None:
            continue
        values[option.name] = _flag(option.environment, text) if option.kind == "flag" else text
    if values.get("theme", THEME_NAMES[0]) not in THEME_NAMES:
        near = did_you_mean(nearest_names(values["theme"], THEME_NAMES))
        hint = f"valid: {', '.join(THEME_NAMES)}"
        raise UnknownNameError(f'invalid value "{values["theme"]}" for KYMATUI_THEME{near}', hint=hint)
    return replace(settings, **values)


def _flag(variable: str, text: str) -> bool:
    lowered = text.strip().lower()
    if lowered in _TRUE:
        return True
    if lowered in _FALSE:
        return False
    raise ConfigurationError(f"{variable}: {text!r} is not a valid value", hint=f"set {variable}=1 or {variable}=0")
