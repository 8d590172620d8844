"""The status of a control plane's Kyma during one reconciliation, and the Events about its changes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final

from kymatui.domain.kubernetes.object_meta import LONGEST_MESSAGE, format_time, read_ref
from kymatui.domain.kubernetes.terminal_text import cut_text
from kymatui.domain.kyma.kyma_conditions import KymaCondition, kyma_conditions
from kymatui.domain.kyma.kymas import Kyma
from kymatui.domain.kyma.states import State, kyma_state
from kymatui.domain.modules.module_outcomes import status_changes
from kymatui.engine.cluster.ports import OPERATOR_FIELD_MANAGER, Cluster, PatchKind
from kymatui.errors import CancelledError, ConflictError, KymatuiError
from kymatui.operator.monitoring.event_correlation import EventType, ObjectEvent, state_event
from kymatui.operator.monitoring.event_writer import PATCH_STATUS, Record, no_events

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


def status_events(
    before: _Status, after: _Status, *, failed: bool, installed: Mapping[str, str] = MappingProxyType({})
) -> Iterator[ObjectEvent]:
    """Yield the events of a new status; the error of a failed reconciliation has an event of its own.

    `installed` are versions that the status before does not have.

    Modules of which a status says the same are one event. That they are ready goes without saying where the Kyma
    becomes ready, except for those that were in trouble.
    """
    old = {str(entry.get("name", "")): entry for entry in before.get("modules") or []}
    new = {str(entry.get("name", "")): entry for entry in after.get("modules") or []}
    becomes_ready = before.get("state") != State.READY and after.get("state") == State.READY
    names_by_reason: dict[str, list[str]] = {}
    for name, entry in new.items():
        then = str(old.get(name, {}).get("version") or installed.get(name, ""))
        now = str(entry.get("version", ""))
        if now and then != now:
            names_by_reason.setdefault(MODULE_UPGRADE if then else MODULE_INSTALL, []).append(_version(name, then, now))
        if _is_ready_now(old.get(name, {}), entry) and not (becomes_ready and _was_on_its_way(old.get(name, {}))):
            names_by_reason.setdefault(_READY, []).append(f"{name} {now}".rstrip())
    gone = {name: entry for name, entry in old.items() if name not in new and entry.get("manifest")}
    names_by_reason[MODULE_DELETED] = [f"{name} {entry.get('version', '')}".rstrip() for name, entry in gone.items()]
    for reason, names in names_by_reason.items():
        yield from _together(reason, names)
    for name, entry in new.items():
        yield from _own_events(name, old.get(name, {}), entry)
    operation = str((after.get("lastOperation") or {}).get("operation", ""))
    event = state_event(str(before.get("state", "")), str(after.get("state", "")), operation)
    if event is not None and not failed:
        yield event


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


Json = dict[str, Any]
_LONGEST: Final = 1024  # characters of a message that each module of a Kyma repeats


class KymaStatusDraft:
    """A status that is changed in memory and written where it differs; all conditions begin as Unknown."""

    def __init__(self, kyma: Kyma, now: float, *, webhook: bool, events: Record = no_events) -> None:
        raw = kyma.raw.get("status")
        self._before: Mapping[str, Any] = raw if isinstance(raw, Mapping) else {}
        self._kyma = kyma
        self._events, self._reported = events, self._before
        self.stamp = format_time(now)
        self.state = kyma.state
        self.active_channel = kyma.active_channel
        self.installed: dict[str, str] = {}
        """The versions of modules whose reports had none."""
        self.modules: list[Json] = [dict(entry) for entry in self._before.get("modules") or []]
        self._indexes = self._index()
        kinds = [entry for entry in KymaCondition if webhook or entry is not KymaCondition.WEBHOOK]
        self._conditions: dict[KymaCondition, bool | None] = dict.fromkeys(kinds)
        self._operation = kyma.operation

    def set(self, condition: KymaCondition, *, holds: bool) -> None:
        self._conditions[condition] = holds

    def module(self, name: str) -> Json | None:
        index = self._indexes.get(name)
        return self.modules[index] if index is not None else None

    def put_module(self, entry: Mapping[str, Any]) -> None:
        """Replace the entry of a module, or add it."""
        index = self._indexes.setdefault(entry["name"], len(self.modules))
        self.modules[index : index + 1] = [dict(entry)]

    def drop_modules(self, names: Iterable[str]) -> None:
        gone = set(names)
        self.modules = [entry for entry in self.modules if entry.get("name") not in gone]
        self._indexes = self._index()

    def _index(self) -> dict[Any, int]:
        """Return the index of the first entry of each name."""
        indexes: dict[Any, int] = {}
        for index, entry in enumerate(self.modules):
            indexes.setdefault(entry.get("name"), index)
        return indexes

    def fail_modules(self, message: str) -> None:
        """Set all modules to Error, because their runtime cannot be reached."""
        text = cut_text(message, _LONGEST)
        self.modules = [{**entry, "state": State.ERROR.value, "message": text} for entry in self.modules]

    @property
    def computed(self) -> State:
        """Return the state by modules and conditions."""
        return kyma_state((str(entry.get("state", "")) for entry in self.modules), self._statuses())

    def _statuses(self) -> list[str]:
        return ["Unknown" if holds is None else str(holds) for holds in self._conditions.values()]

    def set_state(self, state: State, operation: str, channel: str = "") -> None:
        """Set state and operation; `channel` becomes the active one if the Kyma is usable."""
        self.state, self._operation = state.value, operation[:LONGEST_MESSAGE]
        if state in (State.READY, State.WARNING):
            self.active_channel = channel

    def document(self) -> Json:
        """Return the whole status."""
        old = self._before.get("lastOperation") or {}
        same = old.get("operation") == self._operation and self._before.get("state") == self.state
        document: Json = {
            "state": self.state,
            "lastOperation": {
                "operation": self._operation,
                "lastUpdateTime": old.get("lastUpdateTime", self.stamp) if same else self.stamp,
            },
            "conditions": kyma_conditions(
                self._conditions,
                self._before.get("conditions") or [],
                generation=self._kyma.meta.generation,
                stamp=self.stamp,
            ),
            "modules": self.modules,
        }
        if self.active_channel:
            document["activeChannel"] = self.active_channel
        return document

    def write(self, home: Cluster, *, failed: bool = False) -> None:
        """Write what differs to the control plane's Kyma, and record it; `failed`: an error is raised afterwards."""
        document = self.document()
        changed = status_changes(self._before, document)
        if changed:
            self._patch(home, changed)
            for event in status_events(self._reported, document, failed=failed, installed=self.installed):
                self._events(self._kyma.raw, event)
            self._reported = document

    def _patch(self, home: Cluster, changed: Mapping[str, Any]) -> None:
        ref = read_ref(self._kyma.raw)
        try:
            home.patch(ref, {"status": changed}, PatchKind.MERGE, manager=OPERATOR_FIELD_MANAGER, subresource="status")
        except KymatuiError as error:
            if not isinstance(error, CancelledError | ConflictError):
                self._events(self._kyma.raw, ObjectEvent(EventType.WARNING, PATCH_STATUS, str(error)))
            raise
