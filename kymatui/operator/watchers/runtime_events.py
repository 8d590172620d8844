"""The events of runtimes' agents: their path, their body, and the runtime in the sender's certificate.

The contract is version 2 of Kyma's runtime watcher: `POST /v2/<manager>/event`.
"""

from __future__ import annotations

import re
import urllib.parse
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Final

from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.x509.oid import NameOID
from msgspec import Struct

from kymatui.domain.kubernetes.json_reader import JsonReader
from kymatui.json_input import read_json

FORWARDED: Final = "x-forwarded-client-cert"
BODY_LIMIT: Final = 16 * 1024
_HEADER_LIMIT: Final = 32 * 1024  # bytes of the header with a client certificate, before it is parsed
_NAME_LIMIT: Final = 253  # characters of a Kubernetes object's name
_LABEL: Final = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?")  # the value of the label runtime-id


class RuntimeEvent(Struct, frozen=True):
    """The object that changed on a runtime."""

    group: str
    version: str
    kind: str
    namespace: str
    name: str


class EventRefusal(Struct, frozen=True):
    """Why an event is refused, with the HTTP status of the contract."""

    status: int
    reason: str


def read_event(body: bytes) -> RuntimeEvent | EventRefusal:
    """Read the body of an event; what is no JSON is answered with 500, as lifecycle-manager does."""
    try:
        document = read_json(body)
    except ValueError:
        return EventRefusal(500, "the event is not JSON")
    reader = JsonReader(document)
    watched, kind = reader.child("watched"), reader.child("watchedGvk")
    event = RuntimeEvent(
        kind.text("group"),
        kind.text("version"),
        kind.text("kind"),
        _either(watched, "namespace"),
        _either(watched, "name"),
    )
    if reader.flaws or not event.kind or not event.name or len(event.name) > _NAME_LIMIT:
        return EventRefusal(400, "the event names no object")
    return event


def _either(reader: JsonReader, name: str) -> str:
    """Return a field in Go's spelling or in lower case."""
    return reader.text(name.capitalize()) or reader.text(name)


def forwarded_certificate(values: Sequence[str]) -> x509.Certificate | EventRefusal:
    """Return the certificate that a gateway passed on.

    More than one certificate is refused: a gateway that appends lets its clients write the first one.
    """
    if not values:
        return EventRefusal(401, "no client certificate")
    if len(values) > 1:
        return EventRefusal(401, "several headers with a client certificate")
    if len(values[0]) > _HEADER_LIMIT:
        return EventRefusal(401, "the header with the client certificate is over 32 KiB")
    certificates = [
        part.partition("=")[2]
        for part in values[0].replace(",", ";").split(";")
        if part.strip().lower().startswith("cert=")
    ]
    if len(certificates) != 1:
        return EventRefusal(401, f"{len(certificates)} client certificates in one header")
    text = urllib.parse.unquote(certificates[0].strip().strip('"'))
    try:
        return x509.load_pem_x509_certificate(text.encode())
    except (ValueError, UnsupportedAlgorithm):
        return EventRefusal(401, "the client certificate cannot be read")


def runtime_of(
    certificate: x509.Certificate, now: float, authorities: Sequence[x509.Certificate] = ()
) -> str | EventRefusal:
    """Return the runtime in a certificate's common name.

    `now` is in Unix seconds. With `authorities`, one of them must have issued the certificate.
    """
    moment = datetime.fromtimestamp(now, UTC)
    if not certificate.not_valid_before_utc <= moment <= certificate.not_valid_after_utc:
        return EventRefusal(401, "the client certificate is not valid now")
    if authorities and not any(_issued(certificate, authority) for authority in authorities):
        return EventRefusal(401, "the client certificate is from another authority")
    names = certificate.subject.get_attributes_for_oid(NameOID.COMMON_NAME)
    name = str(names[0].value) if len(names) == 1 else ""
    if not name:
        return EventRefusal(400, "the client certificate has no common name")
    return name if _LABEL.fullmatch(name) else EventRefusal(400, "the common name is not a runtime id")


def _issued(certificate: x509.Certificate, authority: x509.Certificate) -> bool:
    try:
        certificate.verify_directly_issued_by(authority)
    except (ValueError, TypeError, InvalidSignature, UnsupportedAlgorithm):
        # fail closed: a signature that cannot be checked is none
        return False
    return True
