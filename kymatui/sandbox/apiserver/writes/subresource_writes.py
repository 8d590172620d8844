"""Subresources of other kinds: scale, log, eviction, binding, token, finalize."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import Any

from kymatui.sandbox.apimachinery.clock import SandboxClock, timestamp
from kymatui.sandbox.apimachinery.exchange import RequestUser, ServerRequest, ServerResponse
from kymatui.sandbox.apimachinery.object_store import ObjectStore
from kymatui.sandbox.apimachinery.statuses import bad_request, conflict, failure, invalid, modified
from kymatui.sandbox.apiserver.auth.bearer_tokens import ISSUER, Tokens
from kymatui.sandbox.apiserver.encoding.body_decoding import as_json, parse_json
from kymatui.sandbox.apiserver.encoding.content_negotiation import negotiate
from kymatui.sandbox.apiserver.reads.object_reads import ObjectReader, encode
from kymatui.sandbox.apiserver.reads.pod_logs import PodLogs
from kymatui.sandbox.apiserver.requests.request_info import RequestInfo
from kymatui.sandbox.apiserver.requests.request_options import delete_options, write_options
from kymatui.sandbox.apiserver.resources.resource import Object, ServedResource
from kymatui.sandbox.apiserver.writes.object_deletion import ObjectDeleter, set_or_drop

_TOKENS = "authentication.k8s.io/v1"
_SHORTEST_TOKEN, _LONGEST_TOKEN, _USUAL_TOKEN = 600, 1 << 32, 3600

Serve = Callable[[ServerRequest, RequestInfo, ServedResource, RequestUser], ServerResponse]


class Subresources:
    """Serves requests by "resource/subresource" and method."""

    def __init__(
        self, store: ObjectStore, clock: SandboxClock, reader: ObjectReader, deleter: ObjectDeleter, tokens: Tokens
    ) -> None:
        self._store = store
        self._clock = clock
        self._reader = reader
        self._deleter = deleter
        self._tokens = tokens
        self._logs = PodLogs(store, clock)
        self._served: dict[tuple[str, str, str], Serve] = {
            ("serviceaccounts", "token", "POST"): self._token,
            ("pods", "log", "GET"): self._log,
            ("pods", "eviction", "POST"): self._evict,
            ("pods", "binding", "POST"): self._bind,
            ("namespaces", "finalize", "PUT"): self._finalize,
        }

    def find(self, resource: ServedResource, subresource: str, method: str) -> Serve | None:
        return self._served.get((resource.full_name, subresource, method))

    # -- serviceaccounts/token

    def _token(
        self, request: ServerRequest, info: RequestInfo, resource: ServedResource, user: RequestUser
    ) -> ServerResponse:
        del user
        accepted = negotiate(request)
        account = self._reader.require(resource, info.namespace, info.name)
        options = write_options(request, "CreateOptions")
        body = _token_request(request)
        name = (body.get("metadata") or {}).get("name")
        if name and name != info.name:
            message = f'Invalid value: "{name}": must match the service account name if specified'
            cause = {"reason": "FieldValueInvalid", "message": message, "field": "metadata.name"}
            raise invalid("TokenRequest.authentication.k8s.io", info.name, [cause])
        spec = body.get("spec") or {}
        seconds = spec.get("expirationSeconds", _USUAL_TOKEN)
        _check_seconds(seconds)
        audiences = spec.get("audiences") or [ISSUER]
        bound = self._bound(spec.get("boundObjectRef"), info)
        token, end = self._tokens.sign(
            info.namespace, info.name, account.uid, audiences=audiences, seconds=seconds, bound=bound
        )
        answer = {
            "kind": "TokenRequest",
            "apiVersion": "authentication.k8s.io/v1",
            "metadata": {
                "name": info.name,
                "namespace": info.namespace,
                "uid": str(uuid.uuid4()),
                "creationTimestamp": timestamp(self._clock.now()),
                **_token_owner(spec, options.manager, timestamp(self._clock.now())),
            },
            "spec": {
                "audiences": audiences,
                "expirationSeconds": seconds,
                "boundObjectRef": spec.get("boundObjectRef"),
            },
            "status": {"token": token, "expirationTimestamp": timestamp(end)},
        }
        return encode(answer, accepted, 201)

    def _bound(self, ref: dict[str, Any] | None, info: RequestInfo) -> dict[str, Any]:
        if not ref:
            return {}
        kind = ref.get("kind")
        if kind not in ("Pod", "Secret"):
            raise bad_request(f"cannot bind token to object of type {ref.get('apiVersion')}, Kind={kind}")
        resource = kind.lower() + "s"
        stored = self._store.get(resource, info.namespace, ref.get("name") or "")
        if stored is None:
            message = f'{resource} "{ref.get("name")}" not found'
            raise failure(404, "NotFound", message, {"name": ref.get("name"), "kind": resource})
        if ref.get("uid") and ref["uid"] != stored.uid:
            why = f"the UID in the bound object reference ({ref['uid']}) does not match the UID in record. "
            raise conflict(resource, stored.name, why + "The object might have been deleted and then recreated")
        return {kind.lower(): {"name": stored.name, "uid": stored.uid}}

    # -- pods

    def _log(
        self, request: ServerRequest, info: RequestInfo, resource: ServedResource, user: RequestUser
    ) -> ServerResponse:
        del user
        pod = self._reader.object(resource, self._reader.require(resource, info.namespace, info.name))
        return self._logs.answer(request, pod)

    def _evict(
        self, request: ServerRequest, info: RequestInfo, resource: ServedResource, user: RequestUser
    ) -> ServerResponse:
        """Delete the pod unless a disruption budget forbids it."""
        stored = self._reader.require(resource, info.namespace, info.name)
        body = _body(request)
        if ((body.get("metadata") or {}).get("name") or info.name) != info.name:
            raise bad_request("name in URL does not match name in Eviction object")
        options = delete_options(request, body.get("deleteOptions"))
        self._check_budgets(self._reader.object(resource, stored))
        self._deleter.delete_object(resource, stored, options, user)
        return encode(_created(), negotiate(request), 201)

    def _check_budgets(self, pod: Object) -> None:
        labels = pod["metadata"].get("labels") or {}
        for stored in self._store.walk("poddisruptionbudgets.policy", pod["metadata"]["namespace"]):
            budget = stored.body()
            match_labels = ((budget.get("spec") or {}).get("selector") or {}).get("matchLabels") or {}
            if not match_labels or any(labels.get(key) != value for key, value in match_labels.items()):
                continue
            if (budget.get("status") or {}).get("disruptionsAllowed", 0) <= 0:
                cause = {
                    "reason": "DisruptionBudget",
                    "message": f"The disruption budget {stored.name} does not allow another disruption now",
                }
                message = "Cannot evict pod as it would violate the pod's disruption budget."
                raise failure(429, "TooManyRequests", message, {"causes": [cause]})

    def _bind(
        self, request: ServerRequest, info: RequestInfo, resource: ServedResource, user: RequestUser
    ) -> ServerResponse:
        """Assign the pod to a node, once."""
        del user
        stored = self._reader.require(resource, info.namespace, info.name)
        pod = self._reader.object(resource, stored)
        target = (_body(request).get("target") or {}).get("name") or ""
        if not target:
            cause = {"reason": "FieldValueRequired", "message": "Required value", "field": "target.name"}
            raise invalid("Binding", info.name, [cause])
        node_name = (pod.get("spec") or {}).get("nodeName")
        if node_name:
            raise conflict("pods/binding", info.name, f'pod {info.name} is already assigned to node "{node_name}"')
        pod["spec"]["nodeName"] = target
        status = pod.setdefault("status", {})
        now = timestamp(self._clock.now())
        condition = {"type": "PodScheduled", "status": "True", "lastProbeTime": None, "lastTransitionTime": now}
        others = [known for known in status.get("conditions") or () if known["type"] != "PodScheduled"]
        status["conditions"] = [*others, condition]
        self._store.put("pods", pod)
        return encode(_created(), negotiate(request), 201)

    # -- namespaces/finalize

    def _finalize(
        self, request: ServerRequest, info: RequestInfo, resource: ServedResource, user: RequestUser
    ) -> ServerResponse:
        """Replace spec.finalizers; a terminating namespace without any is deleted."""
        del user
        accepted = negotiate(request)
        stored = self._reader.require(resource, "", info.name)
        body, live = _body(request), self._reader.object(resource, stored)
        metadata = body.get("metadata") or {}
        if metadata.get("name") and metadata["name"] != info.name:
            raise bad_request(
                f"the name of the object ({metadata['name']}) does not match the name on the URL ({info.name})"
            )
        if metadata.get("resourceVersion") and metadata["resourceVersion"] != live["metadata"]["resourceVersion"]:
            raise modified("namespaces", info.name)
        set_or_drop(live["metadata"], "finalizers", metadata.get("finalizers"))
        live["spec"] = {"finalizers": (body.get("spec") or {}).get("finalizers") or []}
        if not live["spec"]["finalizers"]:
            del live["spec"]["finalizers"]
        gone = live["metadata"].get("deletionTimestamp") and "finalizers" not in live["spec"]
        if gone and not live["metadata"].get("finalizers"):
            self._store.remove("namespaces", "", info.name)
        else:
            live = self._reader.object(resource, self._store.put("namespaces", live))
        return encode(live, accepted)


def _token_request(request: ServerRequest) -> Object:
    """Return the body. Raise StatusError 400 if it is no TokenRequest."""
    body = _body(request)
    kind, api_version = body.get("kind") or "TokenRequest", body.get("apiVersion") or _TOKENS
    if (kind, api_version) != ("TokenRequest", _TOKENS):
        version = api_version.rpartition("/")[2]
        why = f"converting ({version}.{kind}) to (authentication.TokenRequest): unknown conversion"
        raise bad_request(f'{kind} in version "{version}" cannot be handled as a TokenRequest: {why}')
    return body


def _token_owner(spec: Object, manager: str, now: str) -> Object:
    """Return the managed fields entry of the request, {} if it sets nothing."""
    asked: Object = {f"f:{name}": {} for name in ("audiences", "boundObjectRef", "expirationSeconds") if spec.get(name)}
    if not asked:
        return {}
    entry = {
        "manager": manager,
        "operation": "Update",
        "apiVersion": _TOKENS,
        "time": now,
        "fieldsType": "FieldsV1",
        "fieldsV1": {"f:spec": asked},
        "subresource": "token",
    }
    return {"managedFields": [entry]}


def _created() -> Object:
    return {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201}


def _body(request: ServerRequest) -> Object:
    try:
        value = parse_json(as_json(request))
    except ValueError as error:
        raise bad_request(f"couldn't get version/kind; json parse error: {error}") from None
    return value if isinstance(value, dict) else {}


def _check_seconds(seconds: int) -> None:
    field = "spec.expirationSeconds"
    text = ""
    if seconds < _SHORTEST_TOKEN:
        text = "may not specify a duration less than 10 minutes"
    elif seconds > _LONGEST_TOKEN:
        text = "may not specify a duration larger than 2^32 seconds"
    if text:
        cause = {"reason": "FieldValueInvalid", "message": f"Invalid value: {seconds}: {text}", "field": field}
        raise invalid("TokenRequest.authentication.k8s.io", "", [cause])
