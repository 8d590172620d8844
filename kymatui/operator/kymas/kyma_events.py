"""The Events of a Kyma: what changed in its status, and the steps of its deletion, with lifecycle-manager's reasons."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from kymatui.domain.kyma.states import State
from kymatui.operator.monitoring.event_correlation import EventType, ObjectEvent, state_event

REMOTE_INSTALLATION: Final = ObjectEvent(EventType.NORMAL, "RemoteInstallation", "Kyma was installed to SKR")
METADATA_FAILURE: Final = "MetadataSynchronization"
STATUS_FAILURE: Final = "StatusSynchronization"
MODULE_INSTALL: Final = "ModuleInstall"
MODULE_UPGRADE: Final = "ModuleUpgrade"
MODULE_DELETED: Final = "ModuleDeleted"
MODULE_WAITS: Final = "ModuleAwaitsMaintenanceWindow"
_REPORTED: Final = (State.READY, State.WARNING, State.ERROR, State.DELETING, State.UNMANAGED)
_READY: Final = f"Module{State.READY}"
_NAMED: Final = 20  # modules in one event
_Status = Mapping[str, Any]


def success(reason: str) -> ObjectEvent:
    """Return the event of a step of a deletion."""
    return ObjectEvent(EventType.NORMAL, reason, "Success")


def status_events(before: _Status, after: _Status, *, failed: bool) -> Iterator[ObjectEvent]:
    """Yield the events of a new status; the error of a failed reconciliation has an event of its own.

    Modules of which a status says the same are one event. That they are ready goes without saying where the Kyma
    becomes ready, except for those that were in trouble.
    """
    old = {str(one.get("name", "")): one for one in before.get("modules") or []}
    new = {str(one.get("name", "")): one for one in after.get("modules") or []}
    becomes_ready = before.get("state") != State.READY and after.get("state") == State.READY
    told: dict[str, list[str]] = {}
    for name, entry in new.items():
        then, now = str(old.get(name, {}).get("version", "")), str(entry.get("version", ""))
        if now and then != now:
            told.setdefault(MODULE_UPGRADE if then else MODULE_INSTALL, []).append(_version(name, then, now))
        if _is_ready_now(old.get(name, {}), entry) and not (becomes_ready and _was_on_its_way(old.get(name, {}))):
            told.setdefault(_READY, []).append(f"{name} {now}".rstrip())
    told[MODULE_DELETED] = [name for name in old if name not in new]
    for reason, names in told.items():
        yield from _together(reason, names)
    for name, entry in new.items():
        yield from _own_events(name, old.get(name, {}), entry)
    operation = str((after.get("lastOperation") or {}).get("operation", ""))
    found = state_event(str(before.get("state", "")), str(after.get("state", "")), operation)
    if found is not None and not failed:
        yield found


def _version(name: str, then: str, now: str) -> str:
    return f"{name} {then} → {now}" if then else f"{name} {now}"


def _together(reason: str, names: Sequence[str]) -> Iterator[ObjectEvent]:
    """Yield one event of several modules, or more if the names would be cut."""
    for start in range(0, len(names), _NAMED):
        part = names[start : start + _NAMED]
        ends = {_READY: ("is Ready", "are Ready"), MODULE_DELETED: ("is deleted", "are deleted")}.get(reason, ("", ""))
        several = len(part) > 1
        text = f"{'modules' if several else 'module'} {', '.join(part)} {ends[several]}".rstrip()
        yield ObjectEvent(EventType.NORMAL, reason, text)


def _is_ready_now(old: _Status, new: _Status) -> bool:
    """Return whether a module becomes ready, without a message that is of this module alone."""
    is_new = (new.get("state"), new.get("message")) != (old.get("state"), old.get("message"))
    return is_new and new.get("state") == State.READY and not new.get("message")


def _was_on_its_way(old: _Status) -> bool:
    return (old.get("state") or State.PROCESSING) == State.PROCESSING


def _own_events(name: str, old: _Status, new: _Status) -> Iterator[ObjectEvent]:
    """Yield what is said of one module alone: that it waits for its window, and states with a message."""
    message = str(new.get("message", ""))
    if new.get("maintenance") and not old.get("maintenance"):
        yield ObjectEvent(EventType.NORMAL, MODULE_WAITS, f"module {name}: {message}")
    state = str(new.get("state", ""))
    changed = (state, message) != (str(old.get("state", "")), str(old.get("message", "")))
    if changed and state in _REPORTED and not _is_ready_now(old, new):
        kind = EventType.WARNING if state in (State.WARNING, State.ERROR) else EventType.NORMAL
        text = f"module {name} {new.get('version', '')}".rstrip() + (f": {message}" if message else f" is {state}")
        yield ObjectEvent(kind, f"Module{state}", text)
