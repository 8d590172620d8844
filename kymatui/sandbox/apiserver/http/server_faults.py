"""Injected faults that a client must survive, enabled from Python or over the admin path.

A fault applies to requests selected by verb, resource, namespace and name, a given number of times, each with a given
probability. Requests to the admin path are never affected.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from typing import Any, Literal, get_args

import msgspec
from msgspec import Struct
from msgspec.structs import asdict, fields

from kymatui.domain.kubernetes.backoff import JITTER_RANDOM
from kymatui.errors import UsageError
from kymatui.sandbox.apimachinery.exchange import ServerRequest, ServerResponse
from kymatui.sandbox.apimachinery.statuses import StatusError, failure, modified
from kymatui.sandbox.apiserver.requests.request_info import request_info
from kymatui.structs import resolved_type

ADMIN_PATH = "/sandbox.kymatui.io/"

ServerFaultKind = Literal["latency", "throttle", "error", "conflict", "drop", "lose", "hang", "stall", "unauthorized"]
KINDS: tuple[str, ...] = get_args(ServerFaultKind)


class ServerFault(Struct, frozen=True):
    """A fault; `verb` as in RBAC ("list"), `resource` in full ("deployments.apps"), "" selects all.

    `seconds` is the delay of latency and the Retry-After of throttle; `count` 0 means unlimited. The server does not
    perform a request that it drops or hangs. It does perform one that it loses or stalls, and then closes the
    connection or stays silent instead of answering.
    """

    kind: ServerFaultKind
    verb: str = ""
    resource: str = ""
    namespace: str = ""
    name: str = ""
    seconds: float = 1.0
    count: int = 0
    probability: float = 1.0


class FaultOutcome(Struct, frozen=True):
    """The effect of a fault: a delay, then a closed connection, silence, an answer, or nothing.

    With `carried_out`, the server performs the request first.
    """

    delay: float = 0.0
    drop: bool = False
    silent: bool = False
    carried_out: bool = False
    response: ServerResponse | None = None


class ServerFaults:
    """The enabled faults by number."""

    def __init__(self, random: Callable[[], float] = JITTER_RANDOM.random) -> None:
        self.active: dict[int, ServerFault] = {}
        self._left: dict[int, int] = {}
        self._numbers = itertools.count(1)
        self._random = random

    def add(self, fault: ServerFault) -> int:
        """Enable a fault and return its number. Raise UsageError for invalid values."""
        if fault.kind not in KINDS:
            raise UsageError(f"no fault {fault.kind!r}", hint="use one of " + ", ".join(KINDS))
        if not 0 < fault.probability <= 1 or fault.count < 0 or fault.seconds < 0:
            raise UsageError("probability must be above 0 and at most 1, and count and seconds must not be negative")
        number = next(self._numbers)
        self.active[number] = fault
        self._left[number] = fault.count
        return number

    def remove(self, number: int) -> bool:
        self._left.pop(number, None)
        return self.active.pop(number, None) is not None

    def clear(self) -> None:
        self.active.clear()
        self._left.clear()

    def describe(self) -> list[dict[str, Any]]:
        return [
            {"number": number, **asdict(fault), "left": self._left[number]} for number, fault in self.active.items()
        ]

    def meet(self, request: ServerRequest) -> FaultOutcome | None:
        """Return the effect on a request, None for none. Delays add up; the first other fault decides."""
        if not self.active or request.path.startswith(ADMIN_PATH):
            return None
        delay = 0.0
        for number, fault in tuple(self.active.items()):
            if not _selects(fault, request) or self._random() >= fault.probability:
                continue
            self._spend(number)
            if fault.kind == "latency":
                delay += fault.seconds
            else:
                return outcome_of(fault, delay, request)
        return FaultOutcome(delay) if delay else None

    def _spend(self, number: int) -> None:
        if self.active[number].count:
            self._left[number] -= 1
            if self._left[number] <= 0:
                self.remove(number)


def parse_fault(body: Mapping[str, Any]) -> ServerFault:
    """Return a fault from JSON. Raise UsageError for unknown or invalid fields."""
    known = {f.name for f in fields(ServerFault)}
    unknown = sorted(set(body) - known)
    if unknown:
        raise UsageError(f"a fault has no {unknown[0]!r}", hint="it has " + ", ".join(sorted(known)))
    try:
        return msgspec.convert(dict(body), resolved_type(ServerFault))
    except msgspec.ValidationError as error:
        raise UsageError(f"not a valid fault: {error}") from error


def _selects(fault: ServerFault, request: ServerRequest) -> bool:
    info = request_info(request)
    return (
        fault.verb in ("", info.verb)
        and fault.resource in ("", info.full_resource)
        and fault.namespace in ("", info.namespace)
        and fault.name in ("", info.name)
    )


def outcome_of(fault: ServerFault, delay: float, request: ServerRequest) -> FaultOutcome:
    """Return the effect of a fault on a request."""
    if fault.kind in ("drop", "lose"):
        return FaultOutcome(delay, drop=True, carried_out=fault.kind == "lose")
    if fault.kind in ("hang", "stall"):
        return FaultOutcome(delay, silent=True, carried_out=fault.kind == "stall")
    return FaultOutcome(delay, response=status_response(_status(fault, request)))


def _status(fault: ServerFault, request: ServerRequest) -> StatusError:
    if fault.kind == "throttle":
        seconds = max(1, round(fault.seconds))
        message = "The server has received too many requests and has asked us to try again later"
        details = {"retryAfterSeconds": seconds}
        return failure(429, "TooManyRequests", message, details, headers=[("Retry-After", str(seconds))])
    if fault.kind == "conflict":
        info = request_info(request)
        return modified(info.full_resource, info.name)
    if fault.kind == "unauthorized":
        return failure(401, "Unauthorized", "Unauthorized")
    message = "Internal error occurred: fault injected by the sandbox"
    return failure(500, "InternalError", message, {"causes": [{"message": "fault injected by the sandbox"}]})


def status_response(error: StatusError) -> ServerResponse:
    return ServerResponse(error.code, msgspec.json.encode(error.status), headers=error.headers)
