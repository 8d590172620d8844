"""The ports that the operator opens: metrics and probes, and the events of runtimes."""

from __future__ import annotations

import contextlib
import ipaddress
from collections.abc import Callable, Iterator
from pathlib import Path

from msgspec import Struct

from kymatui.adapters.http.http_connections import PLACES
from kymatui.adapters.http.http_service import (
    HttpService,
    OversizedBody,
    ServedReply,
    ServedRequest,
    ServerTls,
    TlsFiles,
    parse_address,
    read_authorities,
)
from kymatui.domain.kubernetes.refs import ObjectRef
from kymatui.domain.remote.watcher_agent import AgentOptions
from kymatui.errors import ConfigurationError, UsageError
from kymatui.operator.monitoring.metric_registry import MetricRegistry
from kymatui.operator.monitoring.operator_metrics import PROBES, Monitoring
from kymatui.operator.program import OperatorContext
from kymatui.operator.watchers.event_listener import (
    EventListener,
    EventRelay,
    EventRequest,
    EventTargets,
    ListenerTrust,
    Network,
)
from kymatui.operator.watchers.runtime_events import BODY_LIMIT, FORWARDED


@contextlib.contextmanager
def monitoring_port(address: str, monitoring: Monitoring) -> Iterator[int]:
    """Serve metrics and probes; yield the port, 0 without an address. Raise ConfigurationError."""
    if not address:
        yield 0
        return

    def answer(request: ServedRequest) -> ServedReply:
        reply = monitoring.answer(request.method, request.path)
        return ServedReply(reply.status, reply.body, reply.content_type)

    service = HttpService(address, answer, probes=PROBES)
    service.start()
    try:
        yield service.port
    finally:
        service.stop()


class ListenerOptions(Struct, frozen=True):
    """The options of the listener.

    gateways     the networks whose forwarded certificates are believed, separated by commas
    certificate  file with the server's certificate; "" without TLS
    key          file with its key
    authorities  file with the authorities of client certificates; "" leaves forwarded ones to the gateway's check
    """

    address: str
    gateways: str = ""
    certificate: str = ""
    key: str = ""
    authorities: str = ""


class ListenerPort:
    """Implements `GroupService`: the port is open only while this replica holds the Lease; with shards, always."""

    def __init__(self, options: ListenerOptions, context: OperatorContext, registry: MetricRegistry) -> None:
        """Raise UsageError, ConfigurationError for options that leave senders unproved or cannot be used."""
        parse_address(options.address)
        self._options, self._registry = options, registry
        self._context = context
        self._tls = _tls(options)
        authorities = read_authorities(Path(options.authorities)) if options.authorities else ()
        self._trust = ListenerTrust(read_networks(options.gateways), authorities)
        if self._tls is None and not self._trust.gateways:
            raise UsageError(
                "--listener needs a way to authenticate the senders of events",
                hint="give --listener-gateways, or --listener-cert, --listener-key and --listener-ca",
            )
        self._service: HttpService | None = None
        self._listener: EventListener | None = None

    @property
    def port(self) -> int:
        """Return the open port, 0 while closed."""
        return self._service.port if self._service is not None else 0

    def begin(self, wake: Callable[[ObjectRef], bool]) -> None:
        own = self._context.standalone
        targets = EventTargets(own.home, self._context.options.kyma_namespace)
        relay = EventRelay(own.home, own.clock) if self._context.options.shards > 1 else None
        listener = EventListener(self._trust, targets, wake, self._registry, own.clock, relay)

        def answer(request: ServedRequest) -> ServedReply:
            body = None if isinstance(request.body, OversizedBody) else request.body
            forwarded = request.headers.get(FORWARDED, ())
            asked = EventRequest(request.method, request.path, request.peer, body, forwarded, request.certificate)
            reply = listener.answer(asked)
            return ServedReply(reply.status, f"{reply.reason}\n" if reply.reason else "")

        tls = self._tls.context if self._tls is not None else None
        self._listener = listener
        # one gateway speaks for many runtimes
        self._service = HttpService(self._options.address, answer, limit=BODY_LIMIT, tls=tls, of_address=PLACES)
        self._service.start()

    def end(self) -> None:
        if self._listener is not None:
            self._listener.stop()
        if self._service is not None:
            self._service.stop()
        self._listener = self._service = None


def _tls(options: ListenerOptions) -> ServerTls | None:
    if not options.certificate and not options.key:
        return None
    if not (options.certificate and options.key and options.authorities):
        raise UsageError("--listener-cert, --listener-key and --listener-ca must be used together")
    files = TlsFiles(Path(options.certificate), Path(options.key), Path(options.authorities))
    return ServerTls(files, optional=bool(options.gateways))


def read_networks(text: str) -> tuple[Network, ...]:
    """Return the networks of gateways, separated by commas. Raise ConfigurationError."""
    networks = []
    for part in filter(None, (text_part.strip() for text_part in text.split(","))):
        try:
            networks.append(ipaddress.ip_network(part))
        except ValueError as error:
            raise ConfigurationError(f"--listener-gateways: {error}", hint="e.g. 10.0.0.7 or 10.1.0.0/16") from error
    return tuple(networks)


def agent_options(image: str, address: str) -> AgentOptions | None:
    """Return the options of the watcher's agent, None without one. Raise UsageError, ConfigurationError."""
    if not image and not address:
        return None
    if not image or not address:
        raise UsageError("--watcher-image and --watcher-address must be used together")
    parse_address(address)
    return AgentOptions(image, address)
