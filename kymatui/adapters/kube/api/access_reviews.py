"""Access reviews: the permissions of the current user, requested once per namespace and cached."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any

import msgspec
from msgspec import Struct

from kymatui.adapters.kube.objects.decoder import read_typed
from kymatui.adapters.kube.transport.transport import Request, Transport
from kymatui.errors import ClusterError

_ROOT = "/apis/authorization.k8s.io/v1"
_LIFETIME = 300.0  # seconds for which an answer about permissions is used again


_WRITES = frozenset({"*", "create", "update", "patch", "delete", "deletecollection"})
_REVIEWED = frozenset({"authorization.k8s.io", "authentication.k8s.io"})
"""API groups that every user may create objects of."""


class Rights(Struct, frozen=True):
    """The permission rules of one namespace.

    `incomplete` means that the server could not list every rule, so a missing rule proves nothing.
    """

    rules: tuple[Mapping[str, Any], ...]
    incomplete: bool

    def allow(self, verb: str, group: str, resource: str, name: str = "") -> bool:
        """Return whether a rule allows the request; `resource` may name a subresource ("pods/log")."""
        return any(_allows(rule, verb, group, resource, name) for rule in self.rules)

    @property
    def can_write(self) -> bool:
        """Return whether a rule allows to write; reviews of one's own rights store nothing."""
        return any(
            _WRITES.intersection(rule.get("verbs") or ()) and not _REVIEWED.issuperset(rule.get("apiGroups") or ())
            for rule in self.rules
        )


def _allows(rule: Mapping[str, Any], verb: str, group: str, resource: str, name: str) -> bool:
    part = resource.partition("/")[2]
    names = rule.get("resourceNames") or ()
    return (
        _has(rule, "verbs", verb)
        and _has(rule, "apiGroups", group)
        and (_has(rule, "resources", resource) or bool(part and f"*/{part}" in (rule.get("resources") or ())))
        and (not names or bool(name and name in names))
    )


def _has(rule: Mapping[str, Any], key: str, wanted: str) -> bool:
    values: Sequence[str] = rule.get(key) or ()
    return wanted in values or "*" in values


class _Pending:
    """A rules review that was sent and not answered."""

    def __init__(self) -> None:
        self.done = threading.Event()
        self.rights: Rights | None = None
        self.error: ClusterError | None = None

    def wait(self) -> Rights:
        """Return the answer, or raise the error of the thread that asked."""
        self.done.wait()
        if self.rights is None:
            raise self.error or ClusterError("the review of the permissions was cancelled")
        return self.rights


class Reviews:
    """Checks permissions and caches the answers; threads may share it."""

    def __init__(self, transport: Transport, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._transport = transport
        self._clock = clock
        self._lock = threading.Lock()
        self._rights: dict[str, tuple[float, Rights]] = {}
        self._pending: dict[str, _Pending] = {}
        self._answers: dict[tuple[str, ...], tuple[float, bool]] = {}

    def rights(self, namespace: str) -> Rights:
        """Return the user's rules in a namespace (SelfSubjectRulesReview).

        Threads that ask at the same time get the answer, or the error, of one request.
        """
        with self._lock:
            known = self._rights.get(namespace)
            if known is not None and self._clock() - known[0] < _LIFETIME:
                return known[1]
            pending, is_first = self._pending.get(namespace), namespace not in self._pending
            if pending is None:
                pending = self._pending[namespace] = _Pending()
        if not is_first:
            return pending.wait()
        try:
            pending.rights = found = self._review_rules(namespace)
        except ClusterError as error:
            pending.error = error
            raise
        finally:
            with self._lock:
                if pending.rights is not None:
                    self._rights[namespace] = (self._clock(), pending.rights)
                self._pending.pop(namespace, None)
            pending.done.set()
        return found

    def may_write(self, namespace: str) -> bool:
        """Return whether the user may write any object of a namespace; True where the server cannot list every rule."""
        try:
            rights = self.rights(namespace)
        except ClusterError:
            return True
        return rights.incomplete or rights.can_write

    def _review_rules(self, namespace: str) -> Rights:

        status = self._ask("selfsubjectrulesreviews", "SelfSubjectRulesReview", {"namespace": namespace or "default"})
        rules = tuple(msgspec.structs.asdict(rule) for rule in status.resourceRules or ())
        return Rights(rules, status.incomplete)

    def allowed(self, verb: str, resource: str, group: str = "", *, namespace: str = "", name: str = "") -> bool:
        """Return whether the user is allowed; an empty namespace means all namespaces.

        One SelfSubjectRulesReview answers for all resources of a namespace. Only where its rules are incomplete is a
        SelfSubjectAccessReview sent for the single request.
        """
        if namespace:
            try:
                rights = self.rights(namespace)
            except ClusterError:  # not every server offers this review; the single one decides
                rights = Rights((), True)
            if rights.allow(verb, group, resource, name):
                return True
            if not rights.incomplete:
                return False
        return self._single(verb, resource, group, namespace, name)

    def _single(self, verb: str, resource: str, group: str, namespace: str, name: str) -> bool:
        key = (verb, resource, group, namespace, name)
        with self._lock:
            known = self._answers.get(key)
            if known is not None and self._clock() - known[0] < _LIFETIME:
                return known[1]
        plural, _, part = resource.partition("/")
        wanted = {
            "verb": verb,
            "group": group,
            "resource": plural,
            "subresource": part,
            "namespace": namespace,
            "name": name,
        }
        attributes = {field: value for field, value in wanted.items() if value}
        status = self._ask("selfsubjectaccessreviews", "SelfSubjectAccessReview", {"resourceAttributes": attributes})
        found = bool(status.allowed)
        with self._lock:
            self._answers[key] = (self._clock(), found)
        return found

    def forget(self) -> None:
        """Drop the cached answers, because roles or credentials changed."""
        with self._lock:
            self._rights.clear()
            self._answers.clear()

    def _ask(self, plural: str, kind: str, spec: Mapping[str, Any]) -> Any:

        body = {"apiVersion": "authorization.k8s.io/v1", "kind": kind, "spec": spec}
        request = Request("POST", f"{_ROOT}/{plural}", body=msgspec.json.encode(body))
        return self._transport.read(request, lambda answer: read_typed(answer, _review_type)).status


@lru_cache(maxsize=1)
def _review_type() -> Any:

    texts = list[str] | None
    rule: Any = msgspec.defstruct(
        "Rule", [(name, texts, None) for name in ("verbs", "apiGroups", "resources", "resourceNames")], frozen=True
    )
    status: Any = msgspec.defstruct(
        "Status", [("allowed", bool, False), ("incomplete", bool, False), ("resourceRules", list[rule] | None, None)]
    )
    return msgspec.defstruct("Review", [("status", status)])
