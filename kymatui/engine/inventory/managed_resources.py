"""The existing objects that a module's manager handles, in all namespaces, each once.

Which installations have a CRD: Helm releases, kymatui's inventories, and Manifests, whoever installed them.

A CRD that several have belongs to none of them alone: the API server deletes its objects with it, those of all.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Final

from msgspec import Struct, field
from msgspec.structs import replace

from kymatui.domain.gitops import GitSource, git_source
from kymatui.domain.installed import RELEASES
from kymatui.domain.inventories import (
    KEY,
    Inventory,
    InventoryItem,
    installation_owner,
    inventory_name,
    inventory_owner,
    read_document,
)
from kymatui.domain.kubernetes.managed_fields import created_by, manager_name
from kymatui.domain.kubernetes.object_meta import OPERATOR, field_managers, parse_time, read_ref
from kymatui.domain.kubernetes.refs import CONFIG_MAP, SECRET, GroupVersionKind, ObjectKey, ObjectRef
from kymatui.domain.kubernetes.terminal_text import first_of
from kymatui.domain.kyma.manifests import Manifest, read_manifest
from kymatui.domain.ownership import (
    RESOURCE_POLICY,
    ObjectOwnership,
    OwnedObject,
    Owner,
    OwnerKind,
    deletion_protection,
    is_applied_from,
    owner_text,
    ownership_of,
    read_owner,
    resource_policy,
    was_created_by_hook,
)
from kymatui.engine.cluster.concurrency import run_for_each
from kymatui.engine.cluster.kind_order import (
    DEFINITION,
    defined_kinds,
    deletion_blocker,
    is_definition,
    is_namespace,
    is_system_namespace,
)
from kymatui.engine.cluster.ports import Cluster, Object
from kymatui.engine.inventory.ownership_marks import ADOPTED_MANAGERS, LABEL_HELM
from kymatui.engine.inventory.release_store import ReleaseStore
from kymatui.errors import CancelledError, ForbiddenError, KymatuiError
from kymatui.helm.rendering.releases import from_record, mentioned_crds, record_text

_MANIFEST: Final = GroupVersionKind(OPERATOR, "v1beta2", "Manifest")
_NAMED: Final = 3  # holders that a message names; the others are counted


class CrdHolders(Struct, frozen=True):
    """The other installations by the names of the CRDs that they have.

    unread  why not all installations could be read, "" if all were; any of them may then have any CRD
    """

    names: Mapping[str, tuple[str, ...]]
    unread: str = ""

    def reason(self, crd: str) -> str:
        """Return why a CRD stays for other installations, "" if only one has it."""
        holder_names = self.names.get(crd, ())
        if holder_names:
            return f"{first_of(holder_names, _NAMED)} {'have' if len(holder_names) > 1 else 'has'} it, too"
        return f"it is unknown whether other installations have it: {self.unread}" if self.unread else ""


NO_HOLDERS: Final = CrdHolders({})


def find_crd_holders(
    cluster: Cluster,
    crds: Collection[str],
    mine: Collection[Owner],
    cancel: threading.Event,
    width: int,
    manifests: Iterable[object] | None = None,
) -> CrdHolders:
    """Return which installations besides `mine` have these CRDs.

    `manifests` are the Manifests that describe this cluster, as those of a control plane; None reads the cluster's own.
    An installation that cannot be read, or listed, may have any CRD.
    """
    names = frozenset(crds)
    if not names:
        return NO_HOLDERS
    by_crd: dict[str, list[str]] = {}
    unread: list[str] = []

    def note(holders: Iterable[tuple[str, str]]) -> None:
        for crd, holder in holders:
            if holder not in (known := by_crd.setdefault(crd, [])):
                known.append(holder)

    readers: tuple[Callable[[], list[tuple[str, str]]], ...] = (
        lambda: list(_of_inventories(cluster, names, mine)),
        lambda: list(_of_releases(cluster, names, mine)),
        lambda: list(_of_manifests(_manifests_in(cluster) if manifests is None else manifests, names, mine)),
    )
    for answer in run_for_each(readers, _attempt, cancel, width):
        if isinstance(answer, str):
            unread.append(answer)
        else:
            note(answer)
    return CrdHolders({crd: tuple(sorted(holders)) for crd, holders in by_crd.items()}, "; ".join(unread))


def _attempt(read: Callable[[], list[tuple[str, str]]]) -> list[tuple[str, str]] | str:
    try:
        return read()
    except CancelledError:
        raise
    except ForbiddenError as error:
        return f"you may not list them: {error}"
    except KymatuiError as error:
        return str(error)


def _of_inventories(cluster: Cluster, crds: frozenset[str], mine: Collection[Owner]) -> Iterator[tuple[str, str]]:
    for raw in cluster.list(CONFIG_MAP, labels=f"{LABEL_HELM}=kymatui"):
        name, namespace = str(raw["metadata"]["name"]), str(raw["metadata"].get("namespace") or "")
        short = name.removeprefix(inventory_name(""))
        text = (raw.get("data") or {}).get(KEY)
        if not text or installation_owner(short, namespace, chart=False) in mine:
            continue
        inventory = read_document(text, f"ConfigMap {namespace}/{name}")
        yield from ((crd, f"installation {namespace}/{short}") for crd in _crds_of(inventory, crds))


def _of_releases(cluster: Cluster, crds: frozenset[str], mine: Collection[Owner]) -> Iterator[tuple[str, str]]:
    for record in (*cluster.list(SECRET, labels=RELEASES), *cluster.list(CONFIG_MAP, labels=RELEASES)):
        namespace = str(record["metadata"].get("namespace") or "")
        name = str((record["metadata"].get("labels") or {}).get("name") or "")
        if installation_owner(name, namespace, chart=True) in mine:
            continue
        text, release = record_text(record, KEY), from_record(record)
        own = _crds_of(read_document(text, str(read_ref(record))), crds) if text else frozenset()
        yield from ((crd, f"Helm release {namespace}/{name}") for crd in own | mentioned_crds(release, crds))


def _of_manifests(
    manifests: Iterable[object], crds: frozenset[str], mine: Collection[Owner]
) -> Iterator[tuple[str, str]]:
    for raw in manifests:
        manifest = read_manifest(raw)
        if not isinstance(manifest, Manifest):
            continue
        name = f"{manifest.meta.namespace}/{manifest.meta.name}"
        if Owner(OwnerKind.LIFECYCLE_MANAGER, name) not in mine:
            synced = {ref.name for ref in manifest.synced if (ref.kind.group, ref.kind.kind) == DEFINITION}
            yield from ((crd, f"Manifest {name}") for crd in synced & crds)


def _manifests_in(cluster: Cluster) -> list[Object]:
    served = cluster.kinds(_MANIFEST.group, _MANIFEST.kind)
    return cluster.list(served[0].gvk) if served else []


def _crds_of(inventory: Inventory, crds: frozenset[str]) -> frozenset[str]:
    items = (item.ref for item in inventory.items)
    return crds & {ref.name for ref in items if (ref.kind.group, ref.kind.kind) == DEFINITION}


def keep_reason(item: InventoryItem, live: Object, mine: Owner, *, adopt: bool = False, unmarked: bool = False) -> str:
    """Return why an object stays, "" if it may be deleted.

    The annotation counts in the live object and in the source from which it was installed, as helm reads that one.
    With `adopt`, an object without an owner may be deleted if kubectl or lifecycle-manager wrote it; an `unmarked`
    one, as a namespace that the installation created, never had marks.
    """
    if is_namespace(item.ref) and is_system_namespace(item.ref.name):
        return "a system namespace"
    if item.adopted:
        return "it existed before the module"
    if reason := resource_policy(live):
        return reason
    if item.kept:
        return f"kept: it was installed with the annotation {RESOURCE_POLICY}"
    created_once = item.definition and is_definition(item.ref)  # others may write the inventory
    return _foreign_claim(live, mine, adopt=adopt, unmarked=unmarked or created_once)


def _foreign_claim(live: Object, mine: Owner, *, adopt: bool, unmarked: bool) -> str:
    owner = read_owner(live)
    if adopt and (owner is None or owner.kind is OwnerKind.LIFECYCLE_MANAGER):
        writers = field_managers(live)
        return (
            ""
            if writers & ADOPTED_MANAGERS
            else f"written by {', '.join(sorted(writers)) or 'an unknown field manager'}"
        )
    if owner is not None and owner != mine:
        return f"owned by the {owner} now"
    if owner is None and not unmarked:
        return "its ownership labels were removed, so another client uses it"
    return ""


GroupKind = tuple[str, str]

_NEVER: Final = frozenset(
    (OPERATOR, kind) for kind in ("Kyma", "Manifest", "ModuleTemplate", "ModuleReleaseMeta", "Watcher")
)
"""Kinds of lifecycle-manager, which are never a module's resources, even if a template names one."""

_KUBERNETES: Final = frozenset({"apps", "autoscaling", "batch", "extensions", "policy"})
_OTHERS_SUFFIX: Final = (".x-k8s.io", "gateway.networking.k8s.io", "snapshot.storage.k8s.io", "metrics.k8s.io")


def is_shared_kind(group: str) -> bool:
    """Return whether a group is Kubernetes' own, so that any software may use its kinds."""
    return not group or group in _KUBERNETES or (group.endswith(".k8s.io") and not group.endswith(_OTHERS_SUFFIX))


class ManagedObject(Struct, frozen=True):
    """One managed object; `owner` is the other installation in its marks, `keep_reason` what keeps it; "" for none.

    `protection` says why the server refuses its deletion, `git` what applies it from Git, if anything.

    `applied` means that lifecycle-manager applied it from the module's manifest and deletes it with the module.
    `created` and `deleted_at` are in seconds of the Unix clock, None if absent; `held` is text after the name that
    tells what blocks the deletion; `maker` is the creator.
    """

    ref: ObjectRef
    uid: str
    ownership: ObjectOwnership = ObjectOwnership.USER
    created: float | None = None
    finalizers: tuple[str, ...] = ()
    held: str = ""
    deleted_at: float | None = None
    maker: str = ""
    resource_version: str = ""
    applied: bool = False
    owner: str = ""
    keep_reason: str = ""
    protection: str = ""
    git: GitSource | None = None

    @property
    def owned(self) -> OwnedObject:
        """Return the object with whose it is, for what a person consents to."""
        return OwnedObject(str(self.ref), self.ref.kind.kind, self.ownership, self.owner)

    @property
    def ours(self) -> bool:
        """Return whether it goes with the module, which installed it."""
        return self.ownership in (ObjectOwnership.MODULE, ObjectOwnership.DEFAULT_CR)

    @property
    def stays(self) -> bool:
        """Return whether it is never deleted with the module."""
        return self.ownership.stays

    @property
    def stay_reason(self) -> str:
        """Return why it outlives the deletion, "" if it does not."""
        match self.ownership:
            case ObjectOwnership.OTHER:
                return f"the {self.owner} has it" if self.owner else "another installation has its CRD, too"
            case ObjectOwnership.SHARED:
                return "a Kubernetes kind that other workloads use too"
            case _:
                return self.keep_reason if self.stays else ""


class ManagedObjects(Struct, frozen=True):
    """All managed objects, and the kinds that could not be listed, with the reason."""

    instances: tuple[ManagedObject, ...] = ()
    unknown: tuple[tuple[str, str], ...] = ()

    @property
    def theirs(self) -> tuple[ManagedObject, ...]:
        """Return the objects that block the deletion without consent."""
        return tuple(instance for instance in self.instances if instance.ownership in _BLOCKING)

    @property
    def ours(self) -> tuple[ManagedObject, ...]:
        return tuple(instance for instance in self.instances if instance.ours)


_BLOCKING: Final = (ObjectOwnership.USER, ObjectOwnership.SHARED, ObjectOwnership.KEPT_BY_USER)


class ManagedKinds(Struct, frozen=True):
    """The kinds that a module's manager handles; `crds` has the inventory's item of the CRD where that has one."""

    kinds: tuple[GroupKind, ...] = ()
    crds: Mapping[GroupKind, InventoryItem] = field(default_factory=dict)


def managed_kinds(inventory: Inventory, cluster: Cluster) -> ManagedKinds:
    """Return the kinds that the manager handles: of its CRDs, of the default CRs, and associated ones."""
    items = [item for item in inventory.items if is_definition(item.ref)]
    crds: dict[GroupKind, InventoryItem] = {}
    for item in items:
        body = cluster.get(item.ref)
        crds |= {(gvk.group, gvk.kind): item for gvk in defined_kinds([body] if body is not None else [])}
    kinds = [*crds, *((ref.kind.group, ref.kind.kind) for ref in inventory.defaults)]
    kinds += [(gvk.group, gvk.kind) for gvk in inventory.associated]
    return ManagedKinds(without_operator_kinds(kinds), crds)


def without_operator_kinds(kinds: Iterable[GroupKind]) -> tuple[GroupKind, ...]:
    """Return each kind once, without the kinds of lifecycle-manager, which a template may name."""
    return tuple(kind for kind in dict.fromkeys(kinds) if kind not in _NEVER)


def list_managed_resources(
    inventory: Inventory,
    cluster: Cluster,
    kinds: ManagedKinds,
    cancel: threading.Event,
    width: int,
    owners: Collection[Owner] = (),
    manifests: Iterable[object] | None = None,
) -> ManagedObjects:
    """Return all objects of the kinds, in all namespaces; kinds that are not served have none.

    Objects of a kind that another installation has, too, are not the module's to delete. `owners` are this
    installation, too; `manifests` are as in `find_crd_holders`.
    """
    is_hooked = inventory.chart and bool(kinds.kinds)
    store = ReleaseStore(cluster, inventory.name, inventory.namespace, time.time)
    claim = InstallationClaim(
        frozenset(ref.key for ref in inventory.defaults) if inventory.resource_created else frozenset(),
        inventory_owner(inventory),
        {item.ref.key: item for item in inventory.items},
        keeps_own=True,
        hooked=frozenset(read_ref(hook.body).key for hook in store.hooks(inventory)) if is_hooked else frozenset(),
    )
    instances = list_instances(claim, cluster, kinds.kinds, cancel, width)
    foreign = {
        kinds.crds[kind] for managed_object in instances.theirs if (kind := _group_kind(managed_object)) in kinds.crds
    }
    names = {item.ref.name for item in foreign}
    holders = find_crd_holders(cluster, names, (*claim.owners, *owners), cancel, width, manifests)
    return replace(instances, instances=tuple(_elsewhere(instance, kinds, holders) for instance in instances.instances))


def _elsewhere(managed_object: ManagedObject, kinds: ManagedKinds, holders: CrdHolders) -> ManagedObject:
    """Return an object as another installation's if that has its kind, or it is in a chart's `crds/`, which stay."""
    item = kinds.crds.get(_group_kind(managed_object))
    if item is None or managed_object.ownership not in _BLOCKING:
        return managed_object
    theirs = item.ref.name in holders.names or (item.definition and bool(managed_object.owner))
    return replace(managed_object, ownership=ObjectOwnership.OTHER) if theirs else managed_object


def _group_kind(managed_object: ManagedObject) -> GroupKind:
    return (managed_object.ref.kind.group, managed_object.ref.kind.kind)


class InstallationClaim(Struct, frozen=True):
    """What an installation has of the kinds that it handles.

    defaults   identities of its default CRs
    owner      its owner in marks, None if only its Manifest is known
    installed  its objects by identity
    manifest   its Manifest ("namespace/name"), from which lifecycle-manager applies objects, "" for none
    keeps_own  whether an annotation keeps its own objects; lifecycle-manager reads none
    hooked     identities of what a chart's hooks create
    """

    defaults: Collection[ObjectKey] = ()
    owner: Owner | None = None
    installed: Mapping[ObjectKey, InventoryItem] = field(default_factory=dict)
    manifest: str = ""
    keeps_own: bool = False
    hooked: Collection[ObjectKey] = ()

    @property
    def owners(self) -> tuple[Owner, ...]:
        """Return all owners in marks that are this installation."""
        manifest = (Owner(OwnerKind.LIFECYCLE_MANAGER, self.manifest),) if self.manifest else ()
        return (*((self.owner,) if self.owner is not None else ()), *manifest)

    def instance(self, gvk: GroupVersionKind, body: Object) -> ManagedObject:
        """Return an object with whose it is.

        lifecycle-manager waits for every other object of the default CR's kind, even its own, so those are not
        `applied`.
        """
        metadata = body["metadata"]
        ref = ObjectRef(gvk, str(metadata.get("namespace") or ""), str(metadata["name"]))
        owner, key = read_owner(body), ref.key
        waited_for = {(group, kind) for group, kind, *_ in self.defaults}
        applied = (gvk.group, gvk.kind) not in waited_for and is_applied_from(body, self.manifest)
        applied_by_hook = key in self.hooked and was_created_by_hook(body)
        installed, default = key in self.installed or applied or applied_by_hook, key in self.defaults
        reason = self._keep_reason(key, body) if self.keeps_own or not (installed or default) else ""
        shared = is_shared_kind(gvk.group)
        ownership = ownership_of(installed=installed, default=default, keeps=bool(reason), any_software=shared)
        named = owner is not None and bool(owner.name) and owner not in self.owners
        return ManagedObject(
            ref,
            str(metadata.get("uid") or ""),
            ownership,
            parse_time(str(metadata.get("creationTimestamp") or "")),
            tuple(metadata.get("finalizers") or ()),
            deletion_blocker(body) if metadata.get("deletionTimestamp") else "",
            parse_time(str(metadata.get("deletionTimestamp") or "")),
            _maker(body),
            str(metadata.get("resourceVersion") or ""),
            applied,
            owner_text(owner) if named and owner is not None else "",
            reason,
            deletion_protection(body),
            git_source(body),
        )

    def _keep_reason(self, key: ObjectKey, body: Object) -> str:
        item = self.installed.get(key)
        if item is None or self.owner is None:
            return resource_policy(body)
        return keep_reason(item, body, self.owner)


def list_instances(
    claim: InstallationClaim, cluster: Cluster, kinds: Sequence[GroupKind], cancel: threading.Event, width: int
) -> ManagedObjects:
    """Return all objects of the kinds, in all namespaces, each with whose it is."""
    bodies = run_for_each(kinds, lambda kind: _list(cluster, *kind), cancel, width)
    instances: dict[str, ManagedObject] = {}
    unknown = []
    for kind, listed in zip(kinds, bodies, strict=True):
        if isinstance(listed, str):
            unknown.append((".".join(part for part in reversed(kind) if part), listed))
            continue
        for gvk, body in listed:
            instance = claim.instance(gvk, body)
            instances.setdefault(instance.uid or str(instance.ref), instance)
    return ManagedObjects(tuple(instances.values()), tuple(unknown))


def _list(cluster: Cluster, group: str, kind: str) -> list[tuple[GroupVersionKind, Object]] | str:
    served = cluster.kinds(group, kind)
    if not served:
        return []
    bodies = list_kind(cluster, served[0].gvk)
    return bodies if isinstance(bodies, str) else [(served[0].gvk, body) for body in bodies]


def list_kind(cluster: Cluster, gvk: GroupVersionKind) -> list[Object] | str:
    """Return the objects of a kind in all namespaces, or why they may not be listed."""
    try:
        return cluster.list(gvk)
    except ForbiddenError as error:
        return str(error)


def _maker(body: Object) -> str:
    """Return the owner of an object, else the field manager that created it."""
    for owner in body["metadata"].get("ownerReferences") or ():
        return f"{owner.get('kind')} {owner.get('name')}"
    return manager_name(created_by(body))
