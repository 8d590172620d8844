"""What is installed, by whom, from what: inventories of kymatui and Helm releases, whoever made them.

What lifecycle-manager installs is in the Kyma and its Manifests; an installation that a Manifest records is the
Manifest's. Of Secrets only the metadata is read.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from enum import StrEnum
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from kymatui.domain.inventories import (
    COMPONENT,
    KEY,
    OPERATOR,
    Inventory,
    InventoryState,
    installation_owner,
    inventory_name,
    is_deleted,
    read_document,
    read_record,
)
from kymatui.domain.kubernetes.json_reader import JsonReader, mapping_at, text_at
from kymatui.domain.kubernetes.managed_fields import created_by
from kymatui.domain.kubernetes.object_meta import parse_time, read_meta, read_ref
from kymatui.domain.kubernetes.refs import ObjectKey, ObjectRef
from kymatui.domain.kubernetes.terminal_text import format_count
from kymatui.domain.kyma.manifests import Manifest
from kymatui.domain.kyma.problems import Advice, AdviceKind, shell_command
from kymatui.domain.ownership import Owner
from kymatui.errors import ConfigurationError

INVENTORIES: Final = "app.kubernetes.io/managed-by=kymatui"
"""The selector of kymatui's inventories among ConfigMaps, and of its Leases."""
RELEASES: Final = "owner=helm,status!=superseded,status!=uninstalled"
"""The selector of the current revision of each Helm release; a failed one may stand beside it."""
ANNOTATION_INVENTORY: Final = "kymatui.io/inventory"
"""A copy of the inventory on a release's Secret, for readers of metadata."""
LARGEST_ANNOTATION: Final = 200_000  # characters; all annotations of an object may have 262,144
KYMATUI: Final = "kymatui"
_OPERATOR_MANAGER: Final = "kymatui-operator"
FLUX: Final = "flux"
_PREFIX: Final = inventory_name("")
_LATE: Final = 30.0  # seconds after its renewal for which a Lease counts as held: twice its duration, as clocks differ
_PENDING: Final = ("pending-install", "pending-upgrade", "pending-rollback")


class InstallationPhase(StrEnum):
    """How far the last run on an installation came; the value appears in JSON."""

    INSTALLED = "installed"
    INSTALLING = "installing"  # a run holds its Lease
    PARTIAL = "partially installed"  # the run ended before it was done
    DELETING = "deleting"  # a run holds its Lease
    DELETION_INTERRUPTED = "deletion interrupted"
    DELETED_ELSEWHERE = "deleted by another tool"  # only its record is left

    @property
    def is_interrupted(self) -> bool:
        return self in (InstallationPhase.PARTIAL, InstallationPhase.DELETION_INTERRUPTED)


class SourceKind(StrEnum):
    """What something was installed from; the value appears in tables and JSON."""

    TEMPLATE = "template"
    COMPONENT = "component"
    CHART = "chart"
    KUSTOMIZATION = "kustomize"
    FILE = "file"
    OPERATOR = "operator"


class ObjectCount(Struct, frozen=True):
    """The objects that a run was to install, and how many of them exist; None if that is unknown."""

    planned: int
    existing: int | None = None

    def __str__(self) -> str:
        return f"{'?' if self.existing is None else self.existing}/{self.planned}"


class RecordedInstallation(Struct, frozen=True):
    """One installation by its record: a ConfigMap of kymatui, or the Secret or ConfigMap of a Helm release.

    installer  kymatui, helm, flux, or another client of Helm by its field manager
    recorded   the state of its last run as recorded
    inventory  None if it cannot be read, or if kymatui did not write it; `unread` then says why
    status     helm's word for the state of a release, "" for what is no release
    deployed   the newest deployed revision of a release, 0 for none
    """

    name: str
    namespace: str
    record: ObjectRef
    installer: str
    recorded: InventoryState
    inventory: Inventory | None = None
    unread: str = ""
    status: str = ""
    created: float | None = None
    deployed: int = 0

    @property
    def is_chart(self) -> bool:
        return bool(self.status)

    @property
    def is_own(self) -> bool:
        """Return whether kymatui installed it, so that it can upgrade and delete it."""
        return self.installer == KYMATUI

    @property
    def owner(self) -> Owner:
        """Return the owner in the marks of its objects."""
        return installation_owner(self.name, self.namespace, chart=self.is_chart)

    @property
    def is_unfinished(self) -> bool:
        return self.recorded is not InventoryState.INSTALLED

    @property
    def version(self) -> str:
        return self.inventory.version if self.inventory is not None else ""

    @property
    def source(self) -> SourceKind | None:
        """Return what it was installed from, None if that is not recorded."""
        if self.is_chart:
            return SourceKind.CHART
        return source_of(self.inventory) if self.inventory is not None else None

    @property
    def address(self) -> str:
        """Return the address that the user named, without passwords; "" if it is not recorded."""
        return self.inventory.origin.address if self.inventory is not None else ""

    @property
    def refs(self) -> tuple[ObjectRef, ...]:
        """Return its own objects; those that existed before belong to nobody's deletion."""
        items = self.inventory.items if self.inventory is not None else ()
        return tuple(item.ref for item in items if not item.adopted)

    @property
    def default_cr(self) -> ObjectRef | None:
        return next(iter(self.inventory.defaults), None) if self.inventory is not None else None

    def count(self, existing: Collection[ObjectKey] | None) -> ObjectCount | None:
        """Return how many of its objects exist; None if not even the planned ones are known."""
        if self.inventory is None:
            return None
        total = None if existing is None else sum(ref.key in existing for ref in self.refs)
        return ObjectCount(len(self.refs), total)


class InstallationRun(Struct, frozen=True):
    """The state of an installation: its phase, its objects, and who works on it.

    `unknown` says why nobody can tell whether a run still works on it, "" where that is known.
    """

    phase: InstallationPhase
    objects: ObjectCount | None = None
    holder: str = ""
    unknown: str = ""


def source_of(inventory: Inventory) -> SourceKind:
    """Return what was installed: a template's manifest has the template's version in its origin."""
    kinds = {COMPONENT: SourceKind.COMPONENT, "kustomize": SourceKind.KUSTOMIZATION, OPERATOR: SourceKind.OPERATOR}
    if inventory.chart:
        return SourceKind.CHART
    template = inventory.origin.kind == "raw" and bool(inventory.origin.version)
    return kinds.get(inventory.origin.kind, SourceKind.TEMPLATE if template else SourceKind.FILE)


# reading


def read_installations(
    inventories: Iterable[Mapping[str, Any]], releases: Iterable[Mapping[str, Any]]
) -> tuple[RecordedInstallation, ...]:
    """Return all installations, from the ConfigMaps of kymatui and the metadata of Helm's Secrets and ConfigMaps."""
    own = [_of_inventory(raw) for raw in inventories if read_ref(raw).name.startswith(_PREFIX)]
    return tuple(
        sorted(
            (*own, *_releases(releases)),
            key=lambda installation: (installation.name, installation.namespace, installation.is_chart),
        )
    )


def _of_inventory(raw: Mapping[str, Any]) -> RecordedInstallation:
    ref = read_ref(raw)
    created = read_meta(JsonReader(raw)).created
    try:
        inventory = read_document(text_at(mapping_at(raw, "data"), KEY), str(ref))
    except ConfigurationError as error:
        name, state = ref.name.removeprefix(_PREFIX), InventoryState.INSTALLED
        return RecordedInstallation(name, ref.namespace, ref, KYMATUI, state, unread=str(error), created=created)
    return RecordedInstallation(
        inventory.name, ref.namespace, ref, KYMATUI, inventory.state, inventory, created=created
    )


def _releases(secrets: Iterable[Mapping[str, Any]]) -> Iterable[RecordedInstallation]:
    newest: dict[tuple[str, str], tuple[int, Mapping[str, Any]]] = {}
    deployed: dict[tuple[str, str], int] = {}
    for raw in secrets:
        labels = mapping_at(mapping_at(raw, "metadata"), "labels")
        name, version = text_at(labels, "name"), text_at(labels, "version")
        number = int(version) if version.isdecimal() and len(version) < 10 else 0
        key = read_ref(raw).namespace, name
        if name and number >= newest.get(key, (-1, raw))[0]:
            newest[key] = (number, raw)
        if text_at(labels, "status") == "deployed":
            deployed[key] = max(number, deployed.get(key, 0))
    return [replace(_of_release(key[1], raw), deployed=deployed.get(key, 0)) for key, (_, raw) in newest.items()]


def _of_release(name: str, raw: Mapping[str, Any]) -> RecordedInstallation:
    ref, meta = read_ref(raw), read_meta(JsonReader(raw))
    status = meta.labels.get("status", "") or "unknown"
    text, inventory, unread = meta.annotations.get(ANNOTATION_INVENTORY, ""), None, ""
    if text:
        try:
            inventory = replace(read_document(text, str(ref)), chart=True)
        except ConfigurationError as error:
            unread = str(error)
    elif ref.name.startswith("sh.helm.release.v1."):
        unread = f"only the data of its {ref.kind.kind}, which is not read, names its objects"
    else:
        unread = "a newer helm wrote its record, in a format that kymatui does not read"
    installer = _installer(created_by(raw))
    state = InventoryState.PENDING if installer == KYMATUI or status in _PENDING else InventoryState.INSTALLED
    state = InventoryState.INSTALLED if status in ("deployed", "unknown") else state
    state = InventoryState.DELETING if status == "uninstalling" else state
    return RecordedInstallation(name, ref.namespace, ref, installer, state, inventory, unread, status, meta.created)


def _installer(manager: str) -> str:
    """Return who made a release by the field manager of its Secret."""
    known = {_OPERATOR_MANAGER: KYMATUI, "helm-controller": FLUX, "": "helm", "Helm": "helm"}
    return known.get(manager, manager)


def manifest_installations(manifests: Iterable[Manifest]) -> frozenset[tuple[str, str]]:
    """Return name and namespace of what Manifests record as their own installations."""
    return frozenset((entry.name, entry.namespace) for manifest in manifests for entry in read_record(manifest))


def installation_run(
    installation: RecordedInstallation,
    existing: Collection[ObjectKey] | None,
    leases: Sequence[Mapping[str, Any]] | None,
    now: float,
) -> InstallationRun:
    """Return the state of an installation; `existing` and `leases` are None if they are not known."""
    if not installation.is_unfinished:
        known = existing if installation.is_own else None
        if known is not None and is_deleted(installation.refs, lambda ref: ref.key in known):
            return InstallationRun(InstallationPhase.DELETED_ELSEWHERE, installation.count(existing))
        return InstallationRun(InstallationPhase.INSTALLED)
    objects = installation.count(existing)
    holder = _holder(installation, leases or (), now)
    deletes = installation.recorded is InventoryState.DELETING
    if holder or (not installation.is_own and not deletes):
        phase = InstallationPhase.DELETING if deletes else InstallationPhase.INSTALLING
        return InstallationRun(phase, objects, holder)
    phase = InstallationPhase.DELETION_INTERRUPTED if deletes else InstallationPhase.PARTIAL
    return InstallationRun(phase, objects, unknown="" if leases is not None else "Leases cannot be listed")


def is_deleted_elsewhere(run: InstallationRun | None) -> bool:
    """Return whether another tool deleted what kymatui installed, of which only the record is left."""
    return run is not None and run.phase is InstallationPhase.DELETED_ELSEWHERE


def _holder(installation: RecordedInstallation, leases: Iterable[Mapping[str, Any]], now: float) -> str:
    """Return which run holds the Lease of an installation, "" for none."""
    name = inventory_name(installation.name)
    for raw in leases:
        ref, spec = read_ref(raw), mapping_at(raw, "spec")
        if (ref.namespace, ref.name) == (installation.namespace, name) and text_at(spec, "holderIdentity"):
            renewed = parse_time(text_at(spec, "renewTime"))
            if renewed is None or now - renewed <= _LATE:
                return text_at(spec, "holderIdentity").partition(" on ")[0]
    return ""


def name_installations(
    installations: Iterable[RecordedInstallation], modules: Collection[str]
) -> tuple[dict[str, RecordedInstallation], dict[str, RecordedInstallation]]:
    """Return installations by the names of their rows: those beside the catalog's modules, and other Helm releases.

    An installation has its module's row. Among those with one name the unfinished one comes first, then that of
    kymatui; the others, and those that only share a name, are called `namespace/name`.
    """
    by_name: dict[str, list[RecordedInstallation]] = {}
    for installation in sorted(
        installations, key=lambda candidate: (not candidate.is_unfinished, not candidate.is_own, candidate.namespace)
    ):
        by_name.setdefault(installation.name, []).append(installation)
    beside: dict[str, RecordedInstallation] = {}
    releases: dict[str, RecordedInstallation] = {}
    for name, same_name in by_name.items():
        for index, entry in enumerate(same_name):
            alone = index == 0 if name in modules else len(same_name) == 1
            is_listed = entry.is_own or (alone and name in modules)
            (beside if is_listed else releases)[name if alone else f"{entry.namespace}/{name}"] = entry
    return beside, releases


# words and commands


def run_words(installation: RecordedInstallation, run: InstallationRun) -> str:
    """Return the state of an unfinished run in one sentence without its end, "" for a finished one."""
    count, tool, unfinished = run.objects, installation.installer, "may have stopped" if run.unknown else "stopped"
    of = f" {installation.version}" if installation.version else ""
    what = "Installation" if installation.inventory is None or installation.inventory.first else "Upgrade"
    match run.phase:
        case InstallationPhase.INSTALLED | InstallationPhase.DELETED_ELSEWHERE:
            return ""
        case InstallationPhase.INSTALLING if not run.holder:
            return f"{tool} is working on it ({installation.status}), or was interrupted{_written(count)}"
        case InstallationPhase.INSTALLING:
            return f"{tool} is installing{of}{_written(count)}{_by(run)}"
        case InstallationPhase.DELETING:
            return f"{tool} is deleting it{_remaining(count)}{_by(run)}"
        case InstallationPhase.PARTIAL if what == "Installation":
            return f"{what}{f' of{of}' if of else ''} {unfinished}{_written(count, ' after')}"
        case InstallationPhase.PARTIAL:
            return f"{what} to{of or ' another version'} {unfinished}{_written(count)}"
        case InstallationPhase.DELETION_INTERRUPTED:
            return f"Deletion {unfinished}{_remaining(count)}"


def _written(count: ObjectCount | None, before: str = "") -> str:
    if count is None or count.existing is None:
        return "; how many of its objects exist is unknown"
    if before:
        return f"{before} {count.existing} of {format_count(count.planned, 'object')}"
    return f"; {count.existing} of {format_count(count.planned, 'object')} exist"


def _remaining(count: ObjectCount | None) -> str:
    if count is None or count.existing is None:
        return "; how many objects are left is unknown"
    if not count.existing:
        return "; only its record is left"
    return f"; {format_count(count.existing, 'object')} {'is' if count.existing == 1 else 'are'} left"


def _by(run: InstallationRun) -> str:
    return f" (by {run.holder})" if run.holder else ""


def interruption_words(installation: RecordedInstallation, run: InstallationRun) -> str:
    """Return what was interrupted."""
    words = run_words(installation, run)
    return words if installation.is_own else f"{words}; {installation.installer} manages this release"


def interruption_advice(installation: RecordedInstallation, run: InstallationRun, *, direct: bool) -> Advice | None:
    """Return the command that ends an interruption on any machine with the source; of another tool what undoes it.

    `direct` is for a module that lifecycle-manager could manage.
    """
    if not installation.is_own:
        undo = undo_command(installation.name, installation.namespace, installation.deployed)
        is_pending = installation.status in _PENDING
        return Advice(AdviceKind.COMPLETE, "If it was interrupted, undo it", undo) if is_pending else None
    delete = deletion_command(installation.name, installation.namespace)
    if run.phase is InstallationPhase.DELETION_INTERRUPTED:
        return Advice(AdviceKind.COMPLETE, "Complete it", delete)
    if installation.inventory is None:
        return Advice(AdviceKind.DELETE_INSTALLATION, "Delete it", delete)
    where = f" where {installation.address} exists" if is_local(installation.inventory) else ""
    text = f"Delete it with `{delete}`, or complete it{where}"
    return Advice(AdviceKind.COMPLETE, text, install_command(installation.inventory, direct=direct))


def undo_command(name: str, namespace: str, deployed: int) -> str:
    """Return helm's command that ends what it left pending; `deployed` is the revision to return to, 0 for none."""
    action = ("rollback", name, str(deployed)) if deployed else ("uninstall", name)
    return shell_command("helm", *action, "-n", namespace)


def deletion_command(name: str, namespace: str) -> str:
    """Return the command that deletes what is installed, or completes its deletion."""
    return shell_command("kymatui", "delete", name, "-n", namespace)


def install_command(known: Inventory, *, direct: bool = False) -> str:
    """Return the command that installs it again from its recorded source, or completes its installation."""
    address, version, name = known.origin.address, known.version, known.name
    options: tuple[str, ...]
    match source_of(known):
        case SourceKind.TEMPLATE:
            verb = "upgrade" if known.adopting else "install"
            options = (*(("--version", version) if version else ()), *(("--direct",) if direct else ()))
            return shell_command("kymatui", verb, name, *options)
        case SourceKind.OPERATOR:
            return "kymatui operator upgrade"
        case SourceKind.COMPONENT:
            options = ("--component", address)
        case SourceKind.KUSTOMIZATION:
            options = ("--kustomize", address)
        case SourceKind.FILE:
            options = ("--file", address)
        case SourceKind.CHART if known.origin.repository and address.startswith(f"{known.origin.repository}/"):
            chart = address.removeprefix(f"{known.origin.repository}/")
            options = ("--chart", chart, "--repo", known.origin.repository, "--version", version)
        case SourceKind.CHART:
            options = ("--chart", address)
    if not address:
        options = (options[0], "…")
    return shell_command("kymatui", "install", name, *options, "-n", known.namespace)


def is_local(known: Inventory) -> bool:
    """Return whether it came from a path of the machine where it was installed."""
    address = known.origin.address
    of_registry = source_of(known) in (SourceKind.TEMPLATE, SourceKind.OPERATOR) or (
        source_of(known) is SourceKind.COMPONENT and not address.startswith("layout:")
    )
    return bool(address) and not of_registry and "://" not in address and not known.origin.repository
