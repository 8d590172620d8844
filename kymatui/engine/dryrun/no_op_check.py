"""The no-op check: whether applying would change nothing, decided without a request.

Server-side apply changes nothing if every field of the manifest has its value and the manager's entry in
`managedFields` lists exactly these fields. Uncertain cases (normalised quantities, write-only fields, other
versions) count as changes, and the server decides.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from kymatui.domain.kubernetes.managed_fields import applied_entry, read_key

_GIVEN: Final = ("apiVersion", "kind")
_NAMED: Final = ("name", "namespace")
_MISSING: Final = object()


def is_no_op(live: Mapping[str, Any], body: Mapping[str, Any], manager: str) -> bool:
    """Return whether `manager` has applied exactly `body` and nothing has changed since."""
    wanted = {name: value for name, value in body.items() if name not in _GIVEN}
    metadata = {name: value for name, value in (body.get("metadata") or {}).items() if name not in _NAMED}
    if metadata:
        wanted["metadata"] = metadata
    else:
        wanted.pop("metadata", None)
    entry = applied_entry(live, manager)
    if entry is None:
        return not wanted  # a manager without applied fields has no entry
    if entry.get("apiVersion") != body.get("apiVersion"):
        return False
    return _holds(entry.get("fieldsV1") or {}, wanted, live)


def _holds(fields: Mapping[str, Any], wanted: object, live: object) -> bool:
    owned = {name: below for name, below in fields.items() if name != "."}
    if not owned:
        return type(wanted) is type(live) and wanted == live
    if isinstance(wanted, Mapping) and isinstance(live, Mapping):
        return owned.keys() == {f"f:{name}" for name in wanted} and all(
            _holds(owned[f"f:{name}"], value, live.get(name, _MISSING)) for name, value in wanted.items()
        )
    if isinstance(wanted, Sequence) and isinstance(live, Sequence):
        return len(owned) == len(wanted) and all(_item_holds(key, below, wanted, live) for key, below in owned.items())
    return False


def _item_holds(key: str, below: Mapping[str, Any], wanted: Sequence[Any], live: Sequence[Any]) -> bool:
    """Return whether a list item is unchanged: by value in a set, by its keys in a list of objects."""
    mark, _, text = key.partition(":")
    value = read_key(text)
    if mark == "v":
        return value in wanted and value in live
    if mark != "k" or not isinstance(value, Mapping):
        return False
    of_wanted = [item for item in wanted if _has_keys(item, value, may_lack=True)]
    of_live = [item for item in live if _has_keys(item, value, may_lack=False)]
    return len(of_wanted) == 1 and len(of_live) == 1 and _holds(below, of_wanted[0], of_live[0])


def _has_keys(item: object, keys: Mapping[str, Any], *, may_lack: bool) -> bool:
    """Return whether an item has the keys; a manifest may lack one with a default (a port's protocol)."""
    if not isinstance(item, Mapping):
        return False
    return all(item.get(name, _MISSING) == value or (may_lack and name not in item) for name, value in keys.items())
