"""CRD lifecycle: accept names, serve resources, delete instances at the end."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Protocol

import msgspec

from kymatui.sandbox.apimachinery.clock import SandboxClock, timestamp
from kymatui.sandbox.apimachinery.local_client import LocalClient
from kymatui.sandbox.apimachinery.object_store import ObjectStore, StoreChange, Stored, type_prefix
from kymatui.sandbox.apiserver.reads.api_discovery import storage_hash
from kymatui.sandbox.apiserver.resources.resource import KindSemantics, Object, ServedResource, Subresource
from kymatui.sandbox.apiserver.resources.resource_catalog import ResourceCatalog
from kymatui.schemas.objects.pruning import prune
from kymatui.schemas.types.schema_node import Schema

DEFINITIONS = "customresourcedefinitions.apiextensions.k8s.io"
CLEANUP = "customresourcecleanup.apiextensions.k8s.io"
_VERBS = ("delete", "deletecollection", "get", "list", "patch", "create", "update", "watch")
_SUB_VERBS = ("get", "patch", "update")
_RETRY = 0.2

CustomSemantics = Callable[[Object, str], tuple[KindSemantics, Schema]]
"""(the definition, one of its versions) -> what its objects mean, and their schema."""


class Remover(Protocol):
    """Deletes every instance of a resource."""

    def __call__(self, resource: ServedResource, stored: Stored) -> None: ...


class CrdLifecycle:
    """Follows the stored CRDs; the catalog holds their resources before a write returns."""

    def __init__(
        self,
        store: ObjectStore,
        clock: SandboxClock,
        catalog: ResourceCatalog,
        semantics: CustomSemantics,
        remove: Remover,
        client: LocalClient,
    ) -> None:
        self._store = store
        self._clock = clock
        self._catalog = catalog
        self._semantics = semantics
        self._remove = remove
        self._client = client.named("kube-apiserver")
        self._served: dict[str, str] = {}
        store.listen(DEFINITIONS, self._changed)

    def _changed(self, change: StoreChange) -> None:
        name = change.current.name
        if change.kind == "DELETED":
            self._catalog.serve(name, ())
            self._served.pop(name, None)
            self._clock.call_later(0, self._accept_waiting)
            return
        self._clock.call_later(0, lambda: self._settle(name))

    # -- conditions

    def _settle(self, name: str) -> None:
        """Update the status, then the served resources."""
        stored = self._store.get(DEFINITIONS, "", name)
        if stored is None:
            return
        definition = stored.body()
        status = definition.setdefault("status", {})
        before = msgspec.json.encode(definition)
        terminating = bool(definition["metadata"].get("deletionTimestamp"))
        self._accept_names(definition, status)
        if terminating:
            self._set(
                status, "Terminating", "True", "InstanceDeletionInProgress", "CustomResource deletion is in progress"
            )
        if msgspec.json.encode(definition) != before:
            self._client.update_status(DEFINITIONS, definition)
        self._serve(definition)
        if terminating:
            self._clean_up(definition)

    def _accept_names(self, definition: Object, status: Object) -> None:
        spec = definition["spec"]
        accepted, problem = accepted_names(spec["names"], status.get("acceptedNames") or {}, self._others(definition))
        status["acceptedNames"] = accepted
        if problem:
            self._set(status, "NamesAccepted", "False", *problem)
        else:
            self._set(status, "NamesAccepted", "True", "NoConflicts", "no conflicts found")
        established = condition_of(status, "Established").get("status")
        if not problem:
            self._set(status, "Established", "True", "InitialNamesAccepted", "the initial names have been accepted")
        elif established != "True":
            self._set(status, "Established", "False", "NotAccepted", "not all names are accepted")
        storage = next((v["name"] for v in spec.get("versions") or () if v.get("storage")), "")
        versions: list[str] = status.setdefault("storedVersions", [])
        if storage and storage not in versions:
            versions.append(storage)

    def _others(self, definition: Object) -> Iterator[Object]:
        """Yield the accepted names of the group's other CRDs."""
        for stored in self._store.walk(DEFINITIONS):
            body = stored.body()
            if stored.name != definition["metadata"]["name"] and body["spec"]["group"] == definition["spec"]["group"]:
                yield (body.get("status") or {}).get("acceptedNames") or {}

    def _accept_waiting(self) -> None:
        """Accept names that became free for the CRDs that wait for them."""
        for stored in list(self._store.walk(DEFINITIONS)):
            if condition_of(stored.body().get("status") or {}, "NamesAccepted").get("status") == "False":
                self._settle(stored.name)

    def _set(self, status: Object, kind: str, value: str, reason: str, message: str) -> None:
        conditions: list[Object] = status.get("conditions") or []
        status["conditions"] = conditions
        fresh = {"type": kind, "status": value, "reason": reason, "message": message}
        for known in conditions:
            if known["type"] == kind:
                if known["status"] != value:
                    known["lastTransitionTime"] = timestamp(self._clock.now())
                known.update(fresh)
                return
        moment = timestamp(self._clock.now())
        conditions.append(
            {"type": kind, "status": value, "lastTransitionTime": moment, "reason": reason, "message": message}
        )

    # -- serving

    def _serve(self, definition: Object) -> None:
        name = definition["metadata"]["name"]
        if condition_of(definition["status"], "Established").get("status") != "True":
            return
        terminating = bool(definition["metadata"].get("deletionTimestamp"))
        parts = [definition["spec"], definition["status"].get("acceptedNames"), terminating]
        key = msgspec.json.encode(parts).decode()
        if self._served.get(name) == key:
            return
        self._served[name] = key
        self._catalog.serve(name, self._resources(definition))

    def _resources(self, definition: Object) -> Iterator[ServedResource]:
        spec, names = definition["spec"], definition["status"]["acceptedNames"]
        changed_at = self._store.version
        plain = _same_schema(spec["versions"])
        storage = next((version["name"] for version in spec["versions"] if version.get("storage")), "")
        stored_as = self._semantics(definition, storage)[0]
        for version in spec["versions"]:
            if not version.get("served"):
                continue
            semantics, schema = self._semantics(definition, version["name"])
            resource = ServedResource(
                group=spec["group"],
                version=version["name"],
                name=names["plural"],
                singular=names.get("singular", ""),
                kind=names["kind"],
                namespaced=spec["scope"] == "Namespaced",
                verbs=_VERBS,
                semantics=semantics,
                schema=schema,
                list_kind=names.get("listKind", ""),
                short_names=tuple(names.get("shortNames") or ()),
                categories=tuple(names.get("categories") or ()),
                storage_hash=_hash_of(spec),
                subresources=_subresources(version, names["kind"]),
                custom=True,
                terminating=bool(definition["metadata"].get("deletionTimestamp")),
                unconditional_update=False,
                selectable_fields=tuple(
                    field["jsonPath"].lstrip(".") for field in version.get("selectableFields") or ()
                ),
                scale_paths=(version.get("subresources") or {}).get("scale"),
            )
            resource.view = _view(resource, stored_as, storage == version["name"], changed_at, plain=plain)
            yield resource

    # -- deletion

    def _clean_up(self, definition: Object) -> None:
        """Delete the instances; the CRD is deleted with the last one."""
        name = definition["metadata"]["name"]
        resource = self._catalog.preferred(name)
        if resource is not None:
            for stored in list(self._store.select(resource.full_name)):
                self._remove(resource, stored)
        if self._store.count(name):
            self._clock.call_later(_RETRY, lambda: self._settle(name))
            return
        stored_now = self._store.get(DEFINITIONS, "", name)
        if stored_now is None:
            return
        body = stored_now.body()
        finalizers = [held for held in body["metadata"].get("finalizers") or () if held != CLEANUP]
        if not finalizers:
            self._store.remove(DEFINITIONS, "", name)
        elif CLEANUP in body["metadata"]["finalizers"]:
            body["metadata"]["finalizers"] = finalizers
            self._store.put(DEFINITIONS, body)


def condition_of(status: Object, kind: str) -> Object:
    """Return the condition of a type, or an empty dict."""
    return next((condition for condition in status.get("conditions") or () if condition["type"] == kind), {})


def accepted_names(requested: Object, known: Object, others: Iterator[Object]) -> tuple[Object, tuple[str, str] | None]:
    """Return the free names, and (reason, message) of the last name that is taken."""
    words: set[str] = set()
    kinds: set[str] = set()
    for names in others:
        words.update(filter(None, (names.get("plural"), names.get("singular"), *(names.get("shortNames") or ()))))
        kinds.update(filter(None, (names.get("kind"), names.get("listKind"))))
    accepted: Object = dict(known)
    problem: tuple[str, str] | None = None

    def take(field: str, reason: str, taken: set[str]) -> None:
        nonlocal problem
        value = requested.get(field)
        if value and value in taken:
            problem = (reason, f'"{value}" is already in use')
        elif value:
            accepted[field] = value

    take("plural", "PluralConflict", words)
    take("singular", "SingularConflict", words)
    shorts = requested.get("shortNames") or []
    taken_shorts = [short for short in shorts if short in words]
    if taken_shorts:
        problem = ("ShortNamesConflict", f'"{taken_shorts[0]}" is already in use')
    else:
        accepted.pop("shortNames", None)
        if shorts:
            accepted["shortNames"] = shorts
    take("kind", "KindConflict", kinds)
    take("listKind", "ListKindConflict", kinds)
    accepted.pop("categories", None)
    if requested.get("categories"):
        accepted["categories"] = requested["categories"]
    accepted.setdefault("plural", "")
    accepted.setdefault("kind", "")
    return accepted, problem


def _hash_of(spec: Object) -> str:
    storage = next((v["name"] for v in spec.get("versions") or () if v.get("storage")), "")
    return storage_hash(spec["group"], storage, spec["names"]["kind"])


def _subresources(version: Object, kind: str) -> dict[str, Subresource]:
    raw: dict[str, Any] = version.get("subresources") or {}
    enabled: dict[str, Subresource] = {}
    if raw.get("status") is not None:
        enabled["status"] = Subresource("status", kind, _SUB_VERBS)
    if raw.get("scale") is not None:
        enabled["scale"] = Subresource("scale", "Scale", _SUB_VERBS, "autoscaling", "v1")
    return enabled


def _same_schema(versions: list[Object]) -> bool:
    return all(version.get("schema") == versions[0].get("schema") for version in versions)


def _view(
    resource: ServedResource, stored_as: KindSemantics, is_storage: bool, changed_at: int, *, plain: bool
) -> Callable[[Stored], bytes] | None:
    """Return a function that reads stored text at a version: decoded at the storage version, then pruned."""
    known: dict[tuple[str, str], tuple[int, bytes]] = {}

    def view(stored: Stored) -> bytes:
        if plain and stored.version > changed_at:
            return stored.data
        cached = known.get(stored.key)
        if cached is None or cached[0] != stored.version:
            prefix = type_prefix(resource.api_version, resource.kind)
            obj: Object = msgspec.json.decode(prefix + stored.data[1:])
            obj, _ = stored_as.decode(obj)
            if not is_storage:
                prune(resource.schema, obj, "", [])
            del obj["kind"], obj["apiVersion"]
            cached = known[stored.key] = (stored.version, msgspec.json.encode(obj))
        return cached[1]

    return view


def begin_deletion(obj: Object, now: float) -> None:
    """Set the deletion fields of a CRD."""
    metadata = obj["metadata"]
    metadata["deletionTimestamp"] = timestamp(now)
    status: Object = obj.setdefault("status", {})
    conditions = status.get("conditions") or []
    conditions.append(
        {
            "type": "Terminating",
            "status": "True",
            "lastTransitionTime": timestamp(now),
            "reason": "InstanceDeletionPending",
            "message": "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon",
        }
    )
    status["conditions"] = conditions
    finalizers: list[str] = obj["metadata"].setdefault("finalizers", [])
    if CLEANUP not in finalizers:
        finalizers.append(CLEANUP)
