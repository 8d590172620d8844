"""The status of a control plane's Kyma during one reconciliation."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any, Final

from kymatui.domain.kubernetes.conditions import LONGEST_MESSAGE
from kymatui.domain.kubernetes.object_meta import read_ref
from kymatui.domain.kubernetes.terminal_text import cut_text
from kymatui.domain.kyma.kyma_conditions import KymaCondition, kyma_conditions
from kymatui.domain.kyma.kymas import Kyma
from kymatui.domain.kyma.states import State, kyma_state
from kymatui.domain.modules.module_outcomes import status_changes
from kymatui.engine.cluster.ports import OPERATOR_FIELD_MANAGER, Cluster, PatchKind
from kymatui.errors import CancelledError, ConflictError, KymatuiError
from kymatui.operator.kymas.kyma_events import status_events
from kymatui.operator.monitoring.event_correlation import EventType, ObjectEvent
from kymatui.operator.monitoring.event_writer import PATCH_STATUS, Record, no_events

Json = dict[str, Any]
_LONGEST: Final = 1024  # characters of a message that each module of a Kyma repeats


class KymaStatusDraft:
    """A status that is changed in memory and written where it differs; all conditions begin as Unknown."""

    def __init__(self, kyma: Kyma, now: float, *, webhook: bool, events: Record = no_events) -> None:
        raw = kyma.raw.get("status")
        self._before: Mapping[str, Any] = raw if isinstance(raw, Mapping) else {}
        self._kyma = kyma
        self._events, self._told = events, self._before
        self.stamp = datetime.fromtimestamp(now, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        self.state = kyma.state
        self.active_channel = kyma.active_channel
        self.modules: list[Json] = [dict(one) for one in self._before.get("modules") or []]
        self._places = self._index()
        kinds = [one for one in KymaCondition if webhook or one is not KymaCondition.WEBHOOK]
        self._conditions: dict[KymaCondition, bool | None] = dict.fromkeys(kinds)
        self._operation = kyma.operation

    def set(self, condition: KymaCondition, *, holds: bool) -> None:
        self._conditions[condition] = holds

    def module(self, name: str) -> Json | None:
        place = self._places.get(name)
        return self.modules[place] if place is not None else None

    def put_module(self, entry: Mapping[str, Any]) -> None:
        """Replace the entry of a module, or add it."""
        place = self._places.setdefault(entry["name"], len(self.modules))
        self.modules[place : place + 1] = [dict(entry)]

    def drop_modules(self, names: Iterable[str]) -> None:
        gone = set(names)
        self.modules = [one for one in self.modules if one.get("name") not in gone]
        self._places = self._index()

    def _index(self) -> dict[Any, int]:
        """Return the place of the first entry of each name."""
        found: dict[Any, int] = {}
        for place, one in enumerate(self.modules):
            found.setdefault(one.get("name"), place)
        return found

    def fail_modules(self, message: str) -> None:
        """Set all modules to Error, because their runtime cannot be reached."""
        text = cut_text(message, _LONGEST)
        self.modules = [{**one, "state": State.ERROR.value, "message": text} for one in self.modules]

    @property
    def computed(self) -> State:
        """Return the state by modules and conditions."""
        return kyma_state((str(one.get("state", "")) for one in self.modules), self._statuses())

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
        made: Json = {
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
            made["activeChannel"] = self.active_channel
        return made

    def write(self, home: Cluster, *, failed: bool = False) -> None:
        """Write what differs to the control plane's Kyma, and record it; `failed`: an error is raised afterwards."""
        made = self.document()
        changed = status_changes(self._before, made)
        if changed:
            self._patch(home, changed)
            for event in status_events(self._told, made, failed=failed):
                self._events(self._kyma.raw, event)
            self._told = made

    def _patch(self, home: Cluster, changed: Mapping[str, Any]) -> None:
        ref = read_ref(self._kyma.raw)
        try:
            home.patch(ref, {"status": changed}, PatchKind.MERGE, manager=OPERATOR_FIELD_MANAGER, subresource="status")
        except KymatuiError as error:
            if not isinstance(error, CancelledError | ConflictError):
                self._events(self._kyma.raw, ObjectEvent(EventType.WARNING, PATCH_STATUS, str(error)))
            raise
