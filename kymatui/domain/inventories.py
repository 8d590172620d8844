"""The inventory of a name, as stored in the cluster; upgrades and deletions need nothing else."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable, Iterable, Mapping
from enum import StrEnum
from typing import Any, Final, NamedTuple

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from kymatui.domain.kubernetes.refs import GroupVersionKind, ObjectRef
from kymatui.domain.kyma.kymas import Policy
from kymatui.domain.kyma.manifests import Manifest
from kymatui.domain.ownership import Owner, OwnerKind
from kymatui.errors import ConfigurationError
from kymatui.json_input import read_json, require_few_values
from kymatui.structs import resolved_type

SCHEMA: Final = "kymatui.io/inventory/v1"
KEY: Final = "inventory"
ANNOTATION_INSTALLS: Final = "kymatui.io/installs"
"""The installations of a Manifest, as kymatui's operator records them on it."""


LAYER: Final = "oci"
"""The kind of an origin that is a layer of a module, whose address ends in its digest."""
COMPONENT: Final = "component"
"""The kind of an origin that is a component version."""
OPERATOR: Final = "operator"
"""The kind of an origin that is kymatui itself, which installs its operator."""


class Origin(Struct, frozen=True):
    """The source of a bundle.

    `kind` is helm, oci, component, kustomize, raw or operator; `address` is what the user named, without passwords;
    `digest` ("sha256:…") is that of the read bytes; `repository` is the address of a chart's repository, without
    passwords.
    """

    kind: str
    address: str
    version: str = ""
    digest: str = ""
    repository: str = ""


class InventoryState(StrEnum):
    """The states of the last run."""

    PENDING = "pending"  # running or interrupted
    INSTALLED = "installed"
    DELETING = "deleting"


class InventoryItem(Struct, frozen=True):
    """One object; `adopted` ones existed before and stay after a deletion.

    `definition` ones are of a chart's `crds/`: created once and never changed. `kept` ones had helm's annotation
    `helm.sh/resource-policy` in the source, and outlive a deletion whatever the live object says.
    """

    ref: ObjectRef
    adopted: bool = False
    definition: bool = False
    kept: bool = False


class Inventory(Struct, frozen=True):
    """The installed objects of a name in a namespace.

    items             in order of installation; old and new ones during a run
    digest            digest of the installed bundle, or of the one being installed
    done              completed hooks of the current run
    resource_created  the default CRs were created once and are never created again
    made_namespace    the installation created its namespace
    chart             stored in a Helm release Secret, in `revision`
    rollback_to       target revision of a rollback, 0 for none
    adopting          the current or interrupted run adopts existing objects
    resource_version  resourceVersion of the stored object
    finished          the last run was not interrupted
    helm_status       "pending-…" of a newest revision that helm is working on, or left when it was interrupted
    deployed          the newest deployed revision, 0 for none
    in_config_maps    the release is stored in ConfigMaps, as with HELM_DRIVER=configmap
    """

    name: str
    namespace: str
    origin: Origin
    version: str = ""
    state: InventoryState = InventoryState.PENDING
    items: tuple[InventoryItem, ...] = ()
    digest: str = ""
    done: tuple[str, ...] = ()
    resource: ObjectRef | None = None
    resources: tuple[ObjectRef, ...] = ()
    resource_created: bool = False
    policy: Policy = Policy.CREATE_AND_DELETE
    associated: tuple[GroupVersionKind, ...] = ()
    made_namespace: bool = False
    first: bool = True
    chart: bool = False
    revision: int = 0
    resource_version: str = ""
    finished: bool = False
    rollback_to: int = 0
    adopting: bool = False
    helm_status: str = ""
    deployed: int = 0
    in_config_maps: bool = False

    @property
    def defaults(self) -> tuple[ObjectRef, ...]:
        """Return the default CR and further ones."""
        return (*((self.resource,) if self.resource is not None else ()), *self.resources)

    @property
    def from_component(self) -> bool:
        """Return whether it was installed from a component version in a registry or layout."""
        return self.origin.kind == COMPONENT

    @property
    def chosen_namespace(self) -> str:
        """Return the namespace that the next version goes to, "" where the catalog has that of its modules."""
        return self.namespace if self.chart or self.from_component else ""

    @property
    def is_deleting(self) -> bool:
        """Return whether a deletion is under way or was interrupted."""
        return self.state is InventoryState.DELETING

    def is_cut_off(self, digest: str) -> bool:
        """Return whether the last run installed a bundle with this digest and was interrupted."""
        return self.state is InventoryState.PENDING and self.digest == digest

    def item(self, ref: ObjectRef) -> InventoryItem | None:
        key = ref.key
        return next((item for item in self.items if item.ref.key == key), None)

    def holds(self, ref: ObjectRef) -> bool:
        return self.item(ref) is not None


def is_deleted(refs: Iterable[ObjectRef], exists: Callable[[ObjectRef], bool]) -> bool:
    """Return whether another tool deleted an installation with these objects; one without objects is not deleted.

    Its workloads and CRDs decide where it has both, since its module CRs went with the CRDs; else everything but
    namespaces. A workload that is missing alone can be repaired. `exists` is not asked after the first that does.
    """
    own = tuple(ref for ref in refs if ref.kind.kind != "Namespace")
    workloads = tuple(ref for ref in own if ref.kind.group == "apps")
    definitions = tuple(ref for ref in own if ref.kind.kind == "CustomResourceDefinition")
    deciding = (*workloads, *definitions) if workloads and definitions else own
    return bool(deciding) and not any(map(exists, deciding))


def reset_if_deleting(inventory: Inventory | None) -> Inventory | None:
    """Reset the inventory of an interrupted deletion, so that the next installation starts fresh."""
    return reset(inventory) if inventory is not None and inventory.is_deleting else inventory


def reset(inventory: Inventory) -> Inventory:
    """Return an inventory as of a first installation, which creates the default CRs and runs all hooks."""
    return replace(inventory, first=True, resource_created=False, done=())


def merge_items(old: Iterable[InventoryItem], new: Iterable[InventoryItem]) -> tuple[InventoryItem, ...]:
    """Return both lists without duplicates; an old item keeps its flags, but for what its source says now."""
    before = {item.ref.key: item for item in old}
    merged: dict[tuple[str, str, str, str], InventoryItem] = {}
    for item in new:
        known = before.get(item.ref.key)
        merged[item.ref.key] = replace(known, ref=item.ref, kept=item.kept) if known is not None else item
    for key, item in before.items():
        merged.setdefault(key, item)
    return tuple(merged.values())


def write_document(inventory: Inventory) -> str:
    """Return the inventory as JSON, without what is known of its object."""
    unstored = {"resource_version": "", "finished": False, "helm_status": "", "deployed": 0, "in_config_maps": False}
    plain = {**msgspec.to_builtins(inventory), **unstored}
    return msgspec.json.encode({"schema": SCHEMA, **plain}, order="deterministic").decode()


def read_document(text: str | bytes, where: str) -> Inventory:
    """Parse an inventory. Raises ConfigurationError that names `where` it is stored."""
    try:
        require_few_values(text)
        document: Mapping[str, Any] = msgspec.json.decode(text, type=dict[str, Any])
        if document.get("schema") != SCHEMA:
            raise ConfigurationError(
                f"{where} is an inventory of another version of kymatui ({document.get('schema')!r})",
                hint="use that version or a newer one",
            )
        return msgspec.convert(document, resolved_type(Inventory))
    except RecursionError:
        raise ConfigurationError(f"{where} has no readable inventory: it is nested too deeply") from None
    except (msgspec.DecodeError, ValueError) as error:  # ValueError: not UTF-8, or too many values
        raise ConfigurationError(f"{where} has no readable inventory: {error}") from error


def inventory_name(name: str) -> str:
    """Return the name of the object that stores the inventory of a name."""
    return f"kymatui.{name}"


def applyset_id(name: str, namespace: str, kind: str = "ConfigMap", group: str = "") -> str:
    """Return the id of an ApplySet from its parent object, as kubectl computes it."""
    digest = hashlib.sha256(f"{name}.{namespace}.{kind}.{group}".encode()).digest()
    return f"applyset-{base64.urlsafe_b64encode(digest).decode().rstrip('=')}-v1"


def inventory_owner(inventory: Inventory) -> Owner:
    """Return the owner in the marks of an installation's objects."""
    return installation_owner(inventory.name, inventory.namespace, chart=inventory.chart)


def installation_owner(name: str, namespace: str, *, chart: bool) -> Owner:
    """Return the owner in the marks of what is installed under a name: Helm's for a chart, else the ApplySet's."""
    if chart:
        return Owner(OwnerKind.HELM, f"{namespace}/{name}")
    return Owner(OwnerKind.APPLYSET, applyset_id(inventory_name(name), namespace))


class InstallRecord(NamedTuple):
    """One name in one namespace of the target cluster; `install` is the Manifest's name for it."""

    install: str
    name: str
    namespace: str


def read_record(manifest: Manifest) -> tuple[InstallRecord, ...]:
    """Return the record of a Manifest, empty if unreadable."""
    try:
        document = read_json(manifest.meta.annotations.get(ANNOTATION_INSTALLS, "[]"))
        return tuple(InstallRecord(*map(str, entry)) for entry in document)
    except (ValueError, TypeError):
        return ()
