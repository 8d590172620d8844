"""What the API server deletes with a CRD or a namespace, and what of it must not be deleted along.

Uninstallation, pruning and the operator's controllers ask here before they delete a CRD or a namespace.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, Final

from msgspec import Struct

from kymatui.domain.kubernetes.object_meta import read_ref, uid_of
from kymatui.domain.kubernetes.refs import GroupVersionKind, ObjectRef
from kymatui.domain.kubernetes.terminal_text import first_of, format_count
from kymatui.domain.ownership import Owner, read_owner, resource_policy
from kymatui.engine.cluster.concurrency import WIDTH, run_for_each
from kymatui.engine.cluster.kind_order import defined_kinds, is_definition, is_namespace
from kymatui.engine.cluster.ports import Cluster, Object, ServedKind
from kymatui.engine.cluster.request_scope import optional_requests
from kymatui.engine.inventory.managed_resources import list_kind
from kymatui.errors import ForbiddenError, NotFoundError, ServerError

_TRANSIENT: Final = frozenset(
    {
        ("", "Event"),
        ("events.k8s.io", "Event"),
        ("", "Endpoints"),
        ("discovery.k8s.io", "EndpointSlice"),
        ("coordination.k8s.io", "Lease"),
        ("metrics.k8s.io", "PodMetrics"),
    }
)
_NOTHING_TO_LOSE: Final = frozenset({"metrics.k8s.io", "custom.metrics.k8s.io", "external.metrics.k8s.io"})
"""Groups without stored objects; their API servers are often down."""
_NAMED: Final = 5  # objects that a reason names; the others are counted
_GIVEN: Final = frozenset({("ServiceAccount", "default"), ("ConfigMap", "kube-root-ca.crt")})


class ContainedObject(Struct, frozen=True):
    """One object in a CRD or a namespace; without a reference for a kind whose objects cannot be read.

    hold  why it is never deleted with its container, "" if a person may consent to it
    """

    message: str
    uid: str = ""
    ref: ObjectRef | None = None
    hold: str = ""

    @property
    def held(self) -> str:
        """Return the object with what holds it, for a sentence."""
        return f"{self.message} ({self.hold})" if self.hold and self.ref is not None else self.message


class CascadeContents(Struct, frozen=True):
    """The search for what is deleted with CRDs and namespaces.

    mine    whether an owner is the installation that asks, so that its objects may be deleted along
    record  whether an object only stores the inventory of that installation
    """

    cluster: Cluster
    cancel: threading.Event
    width: int = WIDTH
    mine: Callable[[Owner], bool] = lambda _: False
    record: Callable[[ObjectRef, Object], bool] = lambda _ref, _body: False

    def of(self, live: Object) -> tuple[ContainedObject, ...]:
        """Return what is deleted with this object; empty for all kinds but CRDs and namespaces."""
        ref = read_ref(live)
        if is_definition(ref):
            return self._instances(live)
        return self._in_namespace(ref.name) if is_namespace(ref) else ()

    def _instances(self, live: Object) -> tuple[ContainedObject, ...]:
        """Return the objects of a CRD; a kind that is not served may have objects that no list returns."""
        kinds = dict.fromkeys((gvk.group, gvk.kind) for gvk in defined_kinds([live]))
        served = [kind for name in kinds for kind in served_versions(self.cluster, *name)[:1]]
        if not served:
            return (_unread(f"the objects of {read_ref(live).name}, which is not served"),)
        return tuple(content for kind in served for content in self._of_kind(kind.gvk))

    def _of_kind(self, gvk: GroupVersionKind) -> list[ContainedObject]:
        bodies = list_kind(self.cluster, gvk)
        if isinstance(bodies, str):
            return [_unread(f"the objects of {gvk.kind}, which may not be listed")]
        return [self._content(ref_in(gvk, body), body) for body in bodies]

    def _in_namespace(self, namespace: str) -> tuple[ContainedObject, ...]:
        kinds = [kind for kind in self.cluster.all_kinds() if _matters(kind)]
        listed = run_for_each(kinds, lambda kind: _list(self.cluster, kind, namespace), self.cancel, self.width)
        bodies = [
            (ref_in(kind.gvk, body), body)
            for kind, some in zip(kinds, listed, strict=True)
            if not isinstance(some, str)
            for body in some
        ]
        own = [
            (ref, body)
            for ref, body in bodies
            if not (_comes_and_goes(ref, body["metadata"]) or self.record(ref, body))
        ]
        collected = self._collected([body for _, body in own], {uid_of(body) for _, body in bodies})
        contents = [self._content(ref, body) for ref, body in own if uid_of(body) not in collected]
        unread = [
            f"{kind.resource}, which {some}" for kind, some in zip(kinds, listed, strict=True) if isinstance(some, str)
        ]
        unread += [f"the kinds of {'/'.join(name)}, which cannot be read" for name in _unread_groups(self.cluster)]
        return (*contents, *map(_unread, unread))

    def _collected(self, bodies: Iterable[Object], present: Collection[str]) -> frozenset[str]:
        """Return the uids of what is deleted with its owners: those that are in the namespace, or are gone already.

        An object with an owner elsewhere, which stays, would be lost with the namespace.
        """
        owned = {uid_of(body): body for body in bodies if body["metadata"].get("ownerReferences")}
        owners = {
            str(owner.get("uid")): (owner, str(body["metadata"].get("namespace") or ""))
            for body in owned.values()
            for owner in body["metadata"]["ownerReferences"]
            if owner.get("uid") not in present
        }
        exists = run_for_each(list(owners.values()), lambda pair: self._exists(*pair), self.cancel, self.width)
        staying = {uid for uid, is_there in zip(owners, exists, strict=True) if is_there}
        return frozenset(
            uid
            for uid, body in owned.items()
            if staying.isdisjoint(str(owner.get("uid")) for owner in body["metadata"]["ownerReferences"])
        )

    def _exists(self, owner: Mapping[str, Any], namespace: str) -> bool:
        """Return whether an owner exists and is not being deleted; its kind says whether it has a namespace."""
        gvk = GroupVersionKind.of(str(owner.get("apiVersion") or ""), str(owner.get("kind") or ""))
        served = self.cluster.kind(gvk)
        if served is None:
            return False
        try:
            ref = ObjectRef(gvk, namespace if served.namespaced else "", str(owner.get("name") or ""))
            with optional_requests():
                live = self.cluster.get(ref)
        except ForbiddenError:  # unknown is not gone
            return True
        return live is not None and uid_of(live) == owner.get("uid") and not live["metadata"].get("deletionTimestamp")

    def _content(self, ref: ObjectRef, body: Object) -> ContainedObject:
        owner = read_owner(body)
        others = f"owned by the {owner}" if owner is not None and not self.mine(owner) else ""
        return ContainedObject(str(ref), uid_of(body), ref, resource_policy(body) or others)


def staying(
    contents: Iterable[ContainedObject], going: Collection[str], *, with_contents: bool = False
) -> tuple[ContainedObject, ...]:
    """Return the contents for which their container stays.

    `going` are the uids of what is deleted anyway; `with_contents` means consent to delete whatever nothing holds.
    """
    rest = (content for content in contents if not (content.uid and content.uid in going))
    return tuple(contained_object for contained_object in rest if contained_object.hold or not with_contents)


def instances_left(rest: Sequence[ContainedObject]) -> str:
    """Return why a CRD stays for its objects, "" without any."""
    known = [contained_object for contained_object in rest if contained_object.ref is not None]
    if known:
        return f"{format_count(len(known), 'object')} of its kind left: {name_contents(known)}"
    return f"it is unknown whether it has objects: {name_contents(rest)}" if rest else ""


def contents_left(rest: Sequence[ContainedObject]) -> str:
    """Return why a namespace stays for its contents, "" without any."""
    return f"it contains other objects: {name_contents(rest)}" if rest else ""


def name_contents(contents: Sequence[ContainedObject]) -> str:
    """Return the first few contents with what holds them, and the number of the rest."""
    return first_of((content.held for content in contents), _NAMED)


def served_versions(cluster: Cluster, group: str, kind: str) -> Sequence[ServedKind]:
    """Return the served versions of a kind; kinds are read again before one counts as not served."""
    kinds = cluster.kinds(group, kind)
    if not kinds:
        cluster.forget_kinds()
        kinds = cluster.kinds(group, kind)
    return kinds


def ref_in(gvk: GroupVersionKind, body: Object) -> ObjectRef:
    """Return the reference of an object of a list, in the version that was listed."""
    metadata = body["metadata"]
    return ObjectRef(gvk, str(metadata.get("namespace") or ""), str(metadata["name"]))


def _unread(message: str) -> ContainedObject:
    return ContainedObject(message, hold="it is unknown what is in it")


def _unread_groups(cluster: Cluster) -> list[tuple[str, str]]:
    return [name for name in cluster.unread_groups() if name[0] not in _NOTHING_TO_LOSE]


def _matters(kind: ServedKind) -> bool:
    listed = {"list", "delete"} <= set(kind.verbs)
    return kind.namespaced and listed and (kind.gvk.group, kind.gvk.kind) not in _TRANSIENT


def _list(cluster: Cluster, kind: ServedKind, namespace: str) -> list[Object] | str:
    """Return the objects of a kind in a namespace, or why they are unknown."""
    try:
        with optional_requests():
            return cluster.list(kind.gvk, namespace)
    except ForbiddenError:
        return "may not be listed"
    except NotFoundError:  # its CRD was deleted a moment ago, and its objects with it
        return []
    except ServerError as error:  # such as a conversion webhook that is gone
        return f"cannot be listed: {error}"


def _comes_and_goes(ref: ObjectRef, metadata: Mapping[str, Any]) -> bool:
    """Return whether an object is in every namespace, or is already being deleted."""
    return bool((ref.kind.kind, ref.name) in _GIVEN or metadata.get("deletionTimestamp"))
