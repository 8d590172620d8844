"""Events of objects: counted instead of repeated, deleted after an hour."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any, Literal

from kymatui.sandbox.apimachinery.clock import timestamp
from kymatui.sandbox.apimachinery.local_client import LocalClient
from kymatui.sandbox.apimachinery.statuses import StatusError

KEPT_SECONDS = 3600.0

EventType = Literal["Normal", "Warning"]


class EventRecorder:
    """Writes core/v1 Events. A repeated event raises the count of the existing one."""

    def __init__(self, client: LocalClient) -> None:
        self._client = client
        self._known: dict[tuple[str, str, str, str], tuple[str, int]] = {}
        self._numbers = itertools.count(int(client.clock.now() * 1000) % 0xFFFFFFFF)

    def event(
        self,
        about: Mapping[str, Any],
        kind: str,
        api_version: str,
        reason: str,
        message: str,
        *,
        type: EventType = "Normal",
        source: str,
        field: str = "",
        host: str = "",
    ) -> None:
        """Record one event; never fails: an event that cannot be written is lost, as on a real cluster."""
        metadata = about["metadata"]
        namespace = metadata.get("namespace") or "default"
        identity = (metadata.get("uid", ""), reason, message, field)
        known = self._known.get(identity)
        try:
            if known is not None and self._count(namespace, *known):
                self._known[identity] = (known[0], known[1] + 1)
                return
            name = f"{metadata['name']}.{next(self._numbers):016x}"
            involved = _reference(metadata, kind, api_version, field)
            self._create(namespace, name, involved, reason, message, type, source, host)
        except StatusError:
            return
        self._known[identity] = (name, 1)
        self._client.clock.call_later(KEPT_SECONDS, lambda: self._forget(namespace, name, identity))

    def _create(
        self,
        namespace: str,
        name: str,
        involved: dict[str, Any],
        reason: str,
        message: str,
        type: EventType,
        source: str,
        host: str,
    ) -> None:
        now = timestamp(self._client.clock.now())
        event = {
            "metadata": {"name": name, "namespace": namespace},
            "involvedObject": involved,
            "reason": reason,
            "message": message,
            "source": {"component": source, **({"host": host} if host else {})},
            "firstTimestamp": now,
            "lastTimestamp": now,
            "count": 1,
            "type": type,
            "eventTime": None,
            "reportingComponent": source,
            "reportingInstance": host,
        }
        self._client.create("events", event, namespace=namespace)

    def _count(self, namespace: str, name: str, count: int) -> bool:
        patch = {"count": count + 1, "lastTimestamp": timestamp(self._client.clock.now())}
        try:
            self._client.patch("events", name, patch, namespace=namespace)
        except StatusError as error:
            if error.reason == "NotFound":
                return False
            raise
        return True

    def _forget(self, namespace: str, name: str, identity: tuple[str, str, str, str]) -> None:
        self._known.pop(identity, None)
        try:
            self._client.delete("events", name, namespace=namespace)
        except StatusError:
            return


def _reference(metadata: Mapping[str, Any], kind: str, api_version: str, field: str) -> dict[str, Any]:
    reference = {
        "kind": kind,
        "namespace": metadata.get("namespace", ""),
        "name": metadata["name"],
        "uid": metadata.get("uid", ""),
        "apiVersion": api_version,
        "resourceVersion": metadata.get("resourceVersion", ""),
        "fieldPath": field,
    }
    return {name: value for name, value in reference.items() if value}
