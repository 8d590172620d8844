"""Client-side estimate of an application, for read-only mode, where a dry run counts as a write.

Lists of named items are merged by name, other lists are replaced, as server-side apply does for nearly all of them.
Defaults and refusals of the server are missing; such plans say so.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

_KEYS: Final = ("name", "containerPort", "port", "mountPath", "devicePath", "ip", "topologyKey", "uid", "type")


def merge_client_side(live: Mapping[str, Any], body: Mapping[str, Any]) -> dict[str, Any]:
    """Return `live` with the fields of `body`."""
    found = _merged(live, {key: value for key, value in body.items() if key != "stringData"})
    return dict(found) if isinstance(found, Mapping) else {}


def _merged(live: Any, wanted: Any) -> Any:
    if isinstance(live, Mapping) and isinstance(wanted, Mapping):
        return {**live, **{key: _merged(live.get(key), value) for key, value in wanted.items()}}
    if isinstance(live, list) and isinstance(wanted, list):
        return _merged_list(live, wanted)
    return wanted


def _merged_list(live: Sequence[Any], wanted: Sequence[Any]) -> list[Any]:
    key = next((key for key in _KEYS if _identifies(key, live) and _identifies(key, wanted)), "")
    if not key:
        return list(wanted)
    new = {item[key]: item for item in wanted}
    merged = [_merged(item, new.pop(item[key])) if item[key] in new else item for item in live]
    return [*merged, *new.values()]


def _identifies(key: str, items: Sequence[Any]) -> bool:
    values = [item.get(key) if isinstance(item, Mapping) else None for item in items]
    return bool(values) and None not in values and len({str(value) for value in values}) == len(values)
