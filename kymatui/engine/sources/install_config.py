"""The config layer of a module: for each install, flags of Helm's client and values for the chart."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from msgspec import Struct, field

from kymatui.engine.bundles.tar_archives import unpack
from kymatui.errors import HelmError, SourceError
from kymatui.helm.charts.strvals import set_values
from kymatui.helm.yaml.errors import YamlError
from kymatui.helm.yaml.reading import load_yaml

_WORDS_OF_BOOLS: Final = """
ClientOnly Force CreateNamespace DryRun DisableHooks Replace Wait WaitForJobs Devel DependencyUpdate GenerateName Atomic
SkipCRDs SubNotes DisableOpenAPIValidation IncludeCRDs IsUpgrade UseReleaseName InsecureSkipTLSverify PassCredentialsAll
Verify
"""
_WORDS_OF_TEXTS: Final = """
Namespace ReleaseName NameTemplate Description OutputDir CaFile CertFile KeyFile Keyring Password RepoURL Username
Version
"""
_BOOLS: Final = frozenset(_WORDS_OF_BOOLS.split())
_TEXTS: Final = frozenset(_WORDS_OF_TEXTS.split())
_NUMBERS: Final = frozenset(["Timeout"])
_USED: Final = frozenset(["Namespace", "CreateNamespace", "ReleaseName", "DisableHooks", "SkipCRDs", "IncludeCRDs"])
_USED_OF_CHARTS: Final = frozenset(["Version", "RepoURL"])


class InstallConfig(Struct, frozen=True):
    """One entry of `configs`; `flags` are fields of Helm's Install action, `overrides` a --set text."""

    flags: Mapping[str, bool | int | str] = field(default_factory=dict)
    overrides: str = ""

    def text(self, name: str) -> str:
        return str(self.flags.get(name, ""))

    def is_set(self, name: str) -> bool:
        return self.flags.get(name) is True

    @property
    def unused(self) -> list[str]:
        """Return flags about Helm's client, which have no effect here."""
        return sorted(name for name in self.flags if name not in _USED | _USED_OF_CHARTS)


def read_configs(data: bytes, where: str) -> dict[str, InstallConfig]:
    """Read the entries of a config layer by install name, empty for an empty layer. Raises SourceError."""
    try:
        document = load_yaml(unpack(data, where))
    except YamlError as error:
        raise SourceError(f"{where}: {error.summary}") from None
    if document is None:
        return {}
    if not isinstance(document, dict):
        raise SourceError(f"{where}: a config layer must be a map with `configs`")
    entries = document.get("configs")
    if entries is None:
        return {}
    if not isinstance(entries, list):
        raise SourceError(f"{where}: configs is not a list", hint="write `configs: [{name, clientConfig, overrides}]`")
    configs: dict[str, InstallConfig] = {}
    for number, entry in enumerate(entries, 1):
        name, config = _entry(entry, f"{where}: configs[{number - 1}]")
        configs.setdefault(name, config)
    return configs


def _entry(entry: Any, where: str) -> tuple[str, InstallConfig]:
    if not isinstance(entry, dict):
        raise SourceError(f"{where} is not a map")
    texts: dict[str, str] = {}
    for key in ("name", "clientConfig", "overrides"):
        value = entry.get(key)
        if value is not None and not isinstance(value, str):
            raise SourceError(f"{where}: {key} is not a string", hint="quote it, as Helm's --set takes it: 'a=1,b.c=2'")
        texts[key] = value or ""
    if not texts["name"]:
        raise SourceError(f"{where} has no name", hint="use the name of the install that it configures")
    _parse(texts["overrides"], f"{where}: overrides")
    return texts["name"], InstallConfig(_flags(texts["clientConfig"], f"{where}: clientConfig"), texts["overrides"])


def _parse(line: str, where: str) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    try:
        set_values(fields, line)
    except HelmError as error:
        raise SourceError(f"{where}: {error}") from error
    return fields


def _flags(line: str, where: str) -> dict[str, bool | int | str]:
    """Return the flags of Helm's Install action; others are ignored, as in module-manager."""
    flags: dict[str, bool | int | str] = {}
    for name, value in _parse(line, where).items():
        expected = _expected(name)
        if expected is None:
            continue
        if not isinstance(value, expected) or (expected is int and isinstance(value, bool)):
            words = {bool: "true or false", int: "a whole number", str: "text"}[expected]
            raise SourceError(f"{where}: unsupported flag value: {name} is {_shown(value)}, expected {words}")
        flags[name] = expected(value)
    return flags


def _shown(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return repr(value) if isinstance(value, str) else str(int(value)) if isinstance(value, int) else repr(value)


def _expected(name: str) -> type[bool] | type[int] | type[str] | None:
    if name in _BOOLS:
        return bool
    if name in _NUMBERS:
        return int
    return str if name in _TEXTS else None
