"""The listener's port over real connections: with TLS of its own, and behind a gateway."""

from __future__ import annotations

import http.client
import json
import ssl
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from kymatui.domain.kubernetes.refs import ObjectRef
from kymatui.engine.jobs.run import SystemClock
from kymatui.errors import ConfigurationError, UsageError
from kymatui.operator.monitoring.metric_registry import MetricRegistry
from kymatui.operator.monitoring.operator_metrics import METRICS, Monitoring
from kymatui.operator.program import OperatorOptions
from kymatui.operator.program_ports import ListenerOptions, ListenerPort, monitoring_port
from tests.controllers.certificates import Issued, issue
from tests.controllers.test_event_listener import KYMA_EVENT, PATH, Home

AUTHORITY, OTHER = issue("authority"), issue("other")
CONTEXT: Any = SimpleNamespace(
    standalone=SimpleNamespace(home=Home(), clock=SystemClock()), options=OperatorOptions(namespace="kcp-system")
)


def port_of(options: ListenerOptions) -> ListenerPort:
    return ListenerPort(options, CONTEXT, MetricRegistry(METRICS))


@contextmanager
def listening(options: ListenerOptions, wake: Callable[[ObjectRef], bool]) -> Iterator[int]:
    service = port_of(options)
    service.begin(wake)
    try:
        yield service.port
    finally:
        service.end()
        assert service.port == 0


class Woken(list[str]):
    """The names of woken objects."""

    def wake(self, ref: ObjectRef) -> bool:
        self.append(ref.name)
        return True


def post(port: int, tls: ssl.SSLContext | None = None, headers: Mapping[str, str] | None = None) -> int:
    if tls is None:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    else:
        connection = http.client.HTTPSConnection("localhost", port, timeout=20, context=tls)
    try:
        connection.request("POST", PATH, json.dumps(KYMA_EVENT), headers or {})
        return connection.getresponse().status
    finally:
        connection.close()


def client(authority: Issued, folder: Path, own: Issued | None = None) -> ssl.SSLContext:
    context = ssl.create_default_context(cadata=authority.pem)
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT  # the authority names no key identifiers, as many in clusters
    if own is not None:
        context.load_cert_chain(*own.write(folder, "client"))
    return context


def tls_options(folder: Path, gateways: str = "") -> ListenerOptions:
    certificate, key = issue("server", AUTHORITY).write(folder, "server")
    authorities = folder / "ca.crt"
    authorities.write_text(AUTHORITY.pem)
    return ListenerOptions("127.0.0.1:0", gateways, str(certificate), str(key), str(authorities))


def test_without_a_gateway_only_clients_with_a_certificate_are_let_in(tmp_path: Path) -> None:
    woken = Woken()
    with listening(tls_options(tmp_path), woken.wake) as port:
        assert post(port, client(AUTHORITY, tmp_path, issue("runtime-a", AUTHORITY))) == 200
        for own in (None, issue("runtime-b", OTHER)):
            with pytest.raises((ssl.SSLError, ConnectionError, http.client.RemoteDisconnected)):
                post(port, client(AUTHORITY, tmp_path, own))
        with pytest.raises((ConnectionError, http.client.HTTPException)):
            post(port)
        forged = {"X-Forwarded-Client-Cert": issue("runtime-b", AUTHORITY).forwarded()}
        assert post(port, client(AUTHORITY, tmp_path, issue("runtime-a", AUTHORITY)), forged) == 200
    assert woken == ["a", "a"]


def test_a_forwarded_certificate_is_believed_only_from_the_gateway(tmp_path: Path) -> None:
    woken = Woken()
    header = {"X-Forwarded-Client-Cert": issue("runtime-b", AUTHORITY).forwarded()}
    for gateways, status in (("127.0.0.0/8", 200), ("10.0.0.0/8", 401)):
        options = ListenerOptions("127.0.0.1:0", gateways)
        with listening(options, woken.wake) as port:
            assert post(port, headers=header) == status
            assert post(port) == 401
    assert woken == ["b"]


def test_a_renewed_certificate_of_the_server_serves_the_next_client(tmp_path: Path) -> None:
    with listening(tls_options(tmp_path), lambda ref: True) as port:
        issue("server", OTHER).write(tmp_path, "server")
        assert post(port, client(OTHER, tmp_path, issue("runtime-a", AUTHORITY))) == 200
        (tmp_path / "server.key").write_text("half written")
        assert post(port, client(OTHER, tmp_path, issue("runtime-a", AUTHORITY))) == 200


@pytest.mark.parametrize(
    ("more", "error"),
    [
        ({}, UsageError),
        ({"authorities": "ca"}, UsageError),
        ({"certificate": "a", "key": "b"}, UsageError),
        ({"certificate": "/no/such", "key": "b", "authorities": "c"}, ConfigurationError),
        ({"gateways": "10.0.0.1/8"}, ConfigurationError),
        ({"gateways": "gateway.example"}, ConfigurationError),
    ],
)
def test_a_listener_that_could_not_prove_its_senders_does_not_start(
    more: dict[str, str], error: type[Exception], tmp_path: Path
) -> None:
    (tmp_path / "ca").write_text(AUTHORITY.pem)
    found = {key: str(tmp_path / value) if value == "ca" else value for key, value in more.items()}
    with pytest.raises(error):
        port_of(ListenerOptions("127.0.0.1:0", **found))


def test_metrics_and_probes_are_served_and_the_port_is_closed_after_it() -> None:
    with monitoring_port("127.0.0.1:0", Monitoring(MetricRegistry(METRICS))) as port:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
        connection.request("GET", "/readyz")
        assert connection.getresponse().status == 503
        connection.close()
    with pytest.raises(ConnectionError):
        http.client.HTTPConnection("127.0.0.1", port, timeout=5).request("GET", "/healthz")
    with monitoring_port("", Monitoring(MetricRegistry(METRICS))) as port:
        assert port == 0
