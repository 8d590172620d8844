"""The answers of the operator's monitoring port: metrics and probes."""

from __future__ import annotations

import threading
from typing import Final, NamedTuple

from kymatui.operator.monitoring.metric_registry import CONTENT_TYPE, MetricRegistry

PROBES: Final = frozenset({"/healthz", "/readyz"})
"""The paths that the kubelet asks for, which are answered without waiting."""
_TEXT: Final = "text/plain; charset=utf-8"


class MonitoringAnswer(NamedTuple):
    """Status, media type and body of an answer."""

    status: int
    content_type: str
    body: str


class Monitoring:
    """`/metrics`, `/healthz` and `/readyz`.

    The operator ends when it cannot go on, so it is alive while it answers. A replica that waits for the Lease is
    ready; otherwise a rollout could not go on.
    """

    def __init__(self, registry: MetricRegistry) -> None:
        self._registry = registry
        self._started = threading.Event()

    def started(self) -> None:
        """Report that the control plane was reached and the controllers were set up."""
        self._started.set()

    def answer(self, method: str, path: str) -> MonitoringAnswer:
        if path != "/metrics" and path not in PROBES:
            return MonitoringAnswer(404, _TEXT, "not found\n")
        if method not in ("GET", "HEAD"):
            return MonitoringAnswer(405, _TEXT, "method not allowed\n")
        if path == "/metrics":
            return MonitoringAnswer(200, CONTENT_TYPE, self._registry.text())
        if path == "/readyz" and not self._started.is_set():
            return MonitoringAnswer(503, _TEXT, "starting\n")
        return MonitoringAnswer(200, _TEXT, "ok\n")
