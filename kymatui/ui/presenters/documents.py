"""Objects as YAML for reading: in the order people expect, without the noise, and never the data of a Secret."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_FIRST = ("apiVersion", "kind", "metadata", "spec", "data", "status")


def as_yaml(value: Mapping[str, Any]) -> str:
    """The object as YAML; managedFields are left out, values of Secrets are replaced by their length."""
    import yaml

    dumper = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
    body = yaml.dump(_readable(value), Dumper=dumper, sort_keys=False, allow_unicode=True, width=10_000)
    return str(body)


def _readable(value: Mapping[str, Any]) -> dict[str, Any]:
    keys = [*(key for key in _FIRST if key in value), *(key for key in value if key not in _FIRST)]
    found = {key: value[key] for key in keys}
    metadata = found.get("metadata")
    if isinstance(metadata, Mapping):
        found["metadata"] = {key: item for key, item in metadata.items() if key != "managedFields"}
    if found.get("kind") == "Secret":
        for part in ("data", "stringData"):
            if isinstance(found.get(part), Mapping):
                found[part] = {key: f"({len(str(item))} characters)" for key, item in found[part].items()}
    return found
