"""The ports that the operator opens: metrics and probes."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from kymatui.adapters.http.http_service import HttpService, ServedReply, ServedRequest
from kymatui.engine.controllers.monitoring.health import Monitoring


@contextlib.contextmanager
def monitoring_port(address: str, monitoring: Monitoring) -> Iterator[int]:
    """Serve metrics and probes; yield the port, 0 without an address. Raise ConfigurationError."""
    if not address:
        yield 0
        return

    def answer(request: ServedRequest) -> ServedReply:
        found = monitoring.answer(request.method, request.path)
        return ServedReply(found.status, found.body, found.content_type)

    service = HttpService(address, answer)
    service.start()
    try:
        yield service.port
    finally:
        service.stop()
