"""The Events of a Kyma: what changed in its status, and the steps of its deletion, with lifecycle-manager's reasons."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from kymatui.domain.kyma.states import State
from kymatui.engine.controllers.monitoring.event_correlation import EventType, ObjectEvent, state_event

REMOTE_INSTALLATION: Final = ObjectEvent(EventType.NORMAL, "RemoteInstallation", "Kyma was installed to SKR")
METADATA_FAILURE: Final = "MetadataSynchronization"
STATUS_FAILURE: Final = "StatusSynchronization"
MODULE_INSTALL: Final = "ModuleInstall"
MODULE_UPGRADE: Final = "ModuleUpgrade"
MODULE_DELETED: Final = "ModuleDeleted"
MODULE_WAITS: Final = "ModuleAwaitsMaintenanceWindow"
_REPORTED: Final = (State.READY, State.WARNING, State.ERROR, State.DELETING, State.UNMANAGED)
_Status = Mapping[str, Any]


def success(reason: str) -> ObjectEvent:
    """Return the event of a step of a deletion."""
    return ObjectEvent(EventType.NORMAL, reason, "Success")


def status_events(before: _Status, after: _Status, *, failed: bool) -> Iterator[ObjectEvent]:
    """Yield the events of a new status; the error of a failed reconciliation has an event of its own."""
    old = {str(one.get("name", "")): one for one in before.get("modules") or []}
    new = {str(one.get("name", "")): one for one in after.get("modules") or []}
    for name, entry in new.items():
        yield from _module_events(name, old.get(name), entry)
    for name in old:
        if name not in new:
            yield ObjectEvent(EventType.NORMAL, MODULE_DELETED, f"module {name} is deleted")
    operation = str((after.get("lastOperation") or {}).get("operation", ""))
    found = state_event(str(before.get("state", "")), str(after.get("state", "")), operation)
    if found is not None and not failed:
        yield found


def _module_events(name: str, old: _Status | None, new: _Status) -> Iterator[ObjectEvent]:
    then, now = str((old or {}).get("version", "")), str(new.get("version", ""))
    if now and not then:
        yield ObjectEvent(EventType.NORMAL, MODULE_INSTALL, f"module {name} {now}")
    elif now and then != now:
        yield ObjectEvent(EventType.NORMAL, MODULE_UPGRADE, f"module {name} {then} → {now}")
    message = str(new.get("message", ""))
    if new.get("maintenance") and not (old or {}).get("maintenance"):
        yield ObjectEvent(EventType.NORMAL, MODULE_WAITS, f"module {name}: {message}")
    state = str(new.get("state", ""))
    changed = (state, message) != (str((old or {}).get("state", "")), str((old or {}).get("message", "")))
    if changed and state in _REPORTED:
        kind = EventType.WARNING if state in (State.WARNING, State.ERROR) else EventType.NORMAL
        text = f"module {name} {now}".rstrip() + (f": {message}" if message else f" is {state}")
        yield ObjectEvent(kind, f"Module{state}", text)
