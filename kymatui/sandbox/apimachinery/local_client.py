"""In-process client: controllers and the sample world call the API like any client, without a socket.

    client = LocalClient(api.handle, store, clock, catalog)
    pods = client.list("pods", namespace="default", labels="app=web")
    client.patch_status("deployments.apps", "web", {"status": {"replicas": 1}}, namespace="default")
    client.subscribe("pods", lambda change: queue.add(change.current.key))

Resources have their full names as in kubectl: "pods", "deployments.apps", "kymas.operator.kyma-project.io"; the
default version is the preferred one. Every call takes the path of an HTTP request as the user
`system:kube-controller-manager` (of system:masters), so defaults, validation, managed fields and versions are the
same. It returns or raises synchronously. The caller may change the returned object.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, Protocol
from urllib.parse import quote

import msgspec

from kymatui.sandbox.apimachinery.clock import SandboxClock
from kymatui.sandbox.apimachinery.exchange import SYSTEM, Handler, RequestUser, ServerRequest
from kymatui.sandbox.apimachinery.object_store import ObjectStore, StoreChange
from kymatui.sandbox.apimachinery.statuses import StatusError

PatchType = Literal["merge", "json", "strategic", "apply"]
Objects = list[dict[str, Any]]
Query = Mapping[str, Sequence[str]]
PATCH_TYPES: Mapping[PatchType, str] = {
    "merge": "application/merge-patch+json",
    "json": "application/json-patch+json",
    "strategic": "application/strategic-merge-patch+json",
    "apply": "application/apply-patch+yaml",
}


class ResourceOfKind(Protocol):
    """A resource served at one version."""

    group: str
    version: str
    name: str
    kind: str
    namespaced: bool
    verbs: tuple[str, ...]

    @property
    def full_name(self) -> str: ...

    @property
    def subresources(self) -> Mapping[str, object]: ...


class ResourcePaths(Protocol):
    """Finds the URL paths of resources, and the resources of kinds."""

    def path(self, resource: str, version: str | None = None) -> tuple[str, bool]:
        """Return (prefix, namespaced), such as ("/apis/apps/v1", True). Raise `LookupError`."""
        ...

    def by_kind(self, api_version: str, kind: str) -> ResourceOfKind | None: ...

    def all(self) -> Iterable[ResourceOfKind]: ...


class LocalClient:
    """Get, list, create, update, patch and delete; failures raise `StatusError` (see `statuses`)."""

    def __init__(
        self,
        handle: Handler,
        store: ObjectStore,
        clock: SandboxClock,
        paths: ResourcePaths,
        *,
        user: RequestUser = SYSTEM,
        manager: str = "kube-controller-manager",
    ) -> None:
        self._handle = handle
        self._store = store
        self._paths = paths
        self._user = user
        self._manager = manager
        self.clock = clock

    def named(self, manager: str, user: RequestUser | None = None) -> LocalClient:
        """Return a client with another field manager (and user), such as a simulated operator's."""
        return LocalClient(self._handle, self._store, self.clock, self._paths, user=user or self._user, manager=manager)

    def resource_of_kind(self, api_version: str, kind: str) -> ResourceOfKind | None:
        """Return the resource of a kind at this version, None if it is not served."""
        return self._paths.by_kind(api_version, kind)

    def all_resources(self) -> Iterable[ResourceOfKind]:
        """Return the resources at every served version."""
        return self._paths.all()

    # -- reading

    def get(self, resource: str, name: str, *, namespace: str = "", version: str | None = None) -> dict[str, Any]:
        """Return the object with `kind` and `apiVersion`. Raise StatusError NotFound."""
        answer: dict[str, Any] = self._ask("GET", self._path(resource, namespace, name, version))
        return answer

    def find(
        self, resource: str, name: str, *, namespace: str = "", version: str | None = None
    ) -> dict[str, Any] | None:
        """Return the object as `get`, but None if the object or its resource does not exist."""
        try:
            return self.get(resource, name, namespace=namespace, version=version)
        except LookupError:
            return None
        except StatusError as error:
            if error.reason == "NotFound":
                return None
            raise

    def list(
        self, resource: str, *, namespace: str = "", labels: str = "", fields: str = "", version: str | None = None
    ) -> Objects:
        """Return the objects of a namespace ("": of all), each with `kind` and `apiVersion`."""
        query = {"labelSelector": [labels], "fieldSelector": [fields]}
        answer = self._ask(
            "GET", self._path(resource, namespace, "", version), query={k: v for k, v in query.items() if v[0]}
        )
        kind = answer["kind"].removesuffix("List")
        for item in answer["items"]:
            item.setdefault("apiVersion", answer["apiVersion"])
            item.setdefault("kind", kind)
        items: Objects = answer["items"]
        return items

    def subscribe(self, resource: str, callback: Callable[[StoreChange], None]) -> Callable[[], None]:
        """Call `callback` with each later change of a resource ("*": any), in order, after the write.

        `StoreChange.current.body()` is a copy of the object (without kind and apiVersion). Callbacks run on the
        clock's thread and may write. Return a function that ends the subscription. Existing objects are not reported:
        call `list` first.
        """
        active = True

        def stop() -> None:
            nonlocal active
            active = False
            unlisten()

        def deliver(change: StoreChange) -> None:
            if active:
                callback(change)

        def later(change: StoreChange) -> None:
            self.clock.call_later(0, lambda: deliver(change))

        unlisten = self._store.listen(resource, later)
        return stop

    # -- writing

    def create(
        self, resource: str, obj: Mapping[str, Any], *, namespace: str = "", version: str | None = None
    ) -> dict[str, Any]:
        """Create an object in `namespace`, else in its own; `kind` and `apiVersion` are optional."""
        namespace = namespace or obj.get("metadata", {}).get("namespace", "")
        return self._write("POST", self._path(resource, namespace, "", version), obj)

    def update(
        self, resource: str, obj: Mapping[str, Any], *, subresource: str = "", version: str | None = None
    ) -> dict[str, Any]:
        """Replace the whole object (PUT). If it has a resourceVersion, it must be current (Conflict)."""
        metadata = obj["metadata"]
        path = self._path(resource, metadata.get("namespace", ""), metadata["name"], version, subresource)
        return self._write("PUT", path, obj)

    def update_status(self, resource: str, obj: Mapping[str, Any], *, version: str | None = None) -> dict[str, Any]:
        """Replace the status: only `status` and managed fields change."""
        return self.update(resource, obj, subresource="status", version=version)

    def patch(
        self,
        resource: str,
        name: str,
        patch: Any,
        *,
        namespace: str = "",
        type: PatchType = "merge",
        subresource: str = "",
        force: bool = False,
        version: str | None = None,
    ) -> dict[str, Any]:
        """Send one of the four patches; `apply` creates a missing object and accepts `force`."""
        query = {"force": ["true"]} if force else {}
        path = self._path(resource, namespace, name, version, subresource)
        return self._write("PATCH", path, patch, query=query, content_type=PATCH_TYPES[type])

    def patch_status(
        self, resource: str, name: str, patch: Any, *, namespace: str = "", version: str | None = None
    ) -> dict[str, Any]:
        """Send a merge patch to the status subresource."""
        return self.patch(resource, name, patch, namespace=namespace, subresource="status", version=version)

    def delete(
        self,
        resource: str,
        name: str,
        *,
        namespace: str = "",
        propagation: str = "",
        grace_seconds: int | None = None,
        uid: str = "",
        resource_version: str = "",
        version: str | None = None,
    ) -> dict[str, Any]:
        """Delete the object, or mark it if finalizers block. Return the answer.

        `uid` and `resource_version` are preconditions.
        """
        options: dict[str, Any] = {}
        if propagation:
            options["propagationPolicy"] = propagation
        if grace_seconds is not None:
            options["gracePeriodSeconds"] = grace_seconds
        conditions = {"uid": uid, "resourceVersion": resource_version}
        if uid or resource_version:
            options["preconditions"] = {name: value for name, value in conditions.items() if value}
        return self._write("DELETE", self._path(resource, namespace, name, version), options)

    # -- requests

    def _path(self, resource: str, namespace: str, name: str, version: str | None, subresource: str = "") -> str:
        prefix, namespaced = self._paths.path(resource, version)
        parts = [prefix]
        if namespaced and namespace:
            parts.append("namespaces/" + quote(namespace, safe=""))
        parts.append(resource.split(".", 1)[0])
        if name:
            parts.append(quote(name, safe=":"))
        if subresource:
            parts.append(subresource)
        return "/".join(parts)

    def _write(
        self, method: str, path: str, body: Any, query: Query | None = None, content_type: str = "application/json"
    ) -> dict[str, Any]:
        answer: dict[str, Any] = self._ask(
            method,
            path,
            query={**(query or {}), "fieldManager": [self._manager]},
            headers={"content-type": content_type},
            body=msgspec.json.encode(body),
        )
        return answer

    def _ask(
        self,
        method: str,
        path: str,
        *,
        query: Query | None = None,
        headers: Mapping[str, str] | None = None,
        body: bytes = b"",
    ) -> Any:
        request = ServerRequest(
            method, path, query or {}, {"accept": "application/json", **(headers or {})}, body, self._user
        )
        response = self._handle(request)
        answer = response.json()
        if response.status >= 400:
            raise StatusError(answer)
        return answer
