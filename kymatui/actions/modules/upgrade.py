"""What kymatui has installed, the versions that are newer, and what nobody can tell of the rest."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from msgspec import Struct
from msgspec.structs import replace

from kymatui.actions.modules.adopt import adoptable
from kymatui.actions.modules.module_sources import ModuleSource, inventories
from kymatui.domain.catalog.catalog import build_catalog
from kymatui.domain.catalog.rows import ModuleRow
from kymatui.domain.installed import deletion_command, is_deleted_elsewhere
from kymatui.domain.inventories import KEY, OPERATOR, Inventory, InventoryState, read_document
from kymatui.domain.kubernetes.object_meta import read_ref
from kymatui.domain.kubernetes.refs import CONFIG_MAP, SECRET
from kymatui.domain.kyma.template_index import TemplateIndex
from kymatui.domain.kyma.versions import newest_above, parse_version, same_version
from kymatui.domain.plans.cluster_management import detect_management
from kymatui.domain.plans.direct_install import choose_template, install_refusals
from kymatui.domain.snapshot.cluster_index import index_cluster
from kymatui.domain.snapshot.snapshots import Snapshot
from kymatui.engine.cluster.concurrency import run_for_each
from kymatui.engine.cluster.ports import Blobs, Cluster
from kymatui.engine.inventory.inventory_store import ApplySetStore
from kymatui.engine.sources.artifact_store import ArtifactStore
from kymatui.engine.sources.chart_lookup import chart_location
from kymatui.errors import ForbiddenError, KymatuiError, RefusedError
from kymatui.helm.rendering.releases import record_text

_DEPLOYED, _UNINSTALLING = "deployed", "uninstalling"  # Helm's label `status` of a release Secret
_WIDTH = 4  # registries and chart repositories that are asked in parallel


class OutdatedModule(Struct, frozen=True):
    """One module that is installed directly, and where its newest version comes from.

    `known` is None where kymatui did not install it: the upgrade adopts it.
    """

    name: str
    source: ModuleSource
    known: Inventory | None = None

    @property
    def version(self) -> str:
        """Return the version that it would be upgraded to."""
        component = self.source.component
        return component.version if component is not None else self.source.version


class SkippedUpgrade(Struct, frozen=True):
    """What is installed directly and not upgraded with the rest, with the reason and what upgrades it."""

    name: str
    namespace: str
    version: str
    reason: str

    @property
    def message(self) -> str:
        return f"{self.name} {self.version}".rstrip() + f": {self.reason}"


class UpgradeSurvey(Struct, frozen=True):
    """Everything that kymatui has installed: what is outdated, and what nobody can tell of."""

    outdated: tuple[OutdatedModule, ...]
    left_out: tuple[SkippedUpgrade, ...]


def survey_upgrades(
    cluster: Cluster,
    snapshot: Snapshot,
    blobs: Blobs,
    artifacts: Callable[[str], ArtifactStore],
    *,
    devel: bool = False,
    direct: bool = False,
) -> UpgradeSurvey:
    """Ask the catalog for modules, and for charts and components the places where they came from, some side by side.

    `devel` takes pre-releases, too; without it they count for what is one already. `direct` also adopts what
    lifecycle-manager could manage.
    """
    templates, catalog = index_cluster(snapshot).templates, build_catalog(snapshot, time.time())
    installed = list_installed(cluster)
    components = [inventory for inventory in installed if inventory.from_component]
    modules = [
        _of_catalog(inventory, catalog.row(inventory.name), templates, devel=devel)
        for inventory in installed
        if inventory not in components
    ]
    cancel = threading.Event()
    modules += run_for_each(
        components, lambda component: _of_place(component, blobs, artifacts, devel=devel), cancel, _WIDTH
    )
    try:
        charts = _releases(cluster)
        taken = frozenset(inventory.name for inventory in (*installed, *charts))
        modules += [
            OutdatedModule(row.name, ModuleSource(version=version))
            for row, version in adoptable(catalog, templates, taken, devel=devel)
            if not list(
                install_refusals(
                    catalog, row.name, row, snapshot.feeds, direct=direct, keeper=detect_management(snapshot).keeper
                )
            )
        ]
    except ForbiddenError as error:  # the modules found so far are upgraded all the same
        modules.append(SkippedUpgrade("Helm releases", "", "", f"unknown: {error}"))
    else:
        modules += run_for_each(charts, lambda chart: _of_place(chart, blobs, artifacts, devel=devel), cancel, _WIDTH)
    return UpgradeSurvey(
        tuple(module for module in modules if isinstance(module, OutdatedModule)),
        tuple(upgrade for upgrade in modules if isinstance(upgrade, SkippedUpgrade)),
    )


def _of_catalog(
    known: Inventory, row: ModuleRow | None, templates: TemplateIndex, *, devel: bool
) -> OutdatedModule | SkippedUpgrade | None:
    """Return None at the newest version and where another tool deleted it.

    The installed version is that of the row: another tool may have changed it since it was recorded. An interrupted
    change to the newest version counts as outdated.
    """
    if row is not None and is_deleted_elsewhere(row.run):
        return None
    if known.is_deleting:
        return _being_deleted(known)
    if known.origin.kind == OPERATOR:
        return SkippedUpgrade(known.name, known.namespace, known.version, "run `kymatui operator upgrade`")
    offers = [offer.version for offer in templates.offers(known.name)]
    word = "--kustomize …" if known.origin.kind == "kustomize" else "--file …"
    if not offers or not known.version:
        why = f"{known.name} in the catalog may be another module" if offers else "not in any catalog"
        return _left_out(known, f"{why}; installed from {known.origin.address or 'an unknown source'}", word)
    running = row.installed if row is not None and known.state is InventoryState.INSTALLED else ""
    version = newest_above(running if parse_version(running) else known.version, offers, devel=devel)
    if not version and known.state is InventoryState.PENDING and known.version in offers:
        version = known.version
    if not version:
        return None
    choice = choose_template(templates, known.name, version)
    if isinstance(choice, str):
        return _left_out(known, choice, word)
    if choice.namespace != known.namespace:
        return _left_out(known, f"the catalog installs {version} in namespace {choice.namespace}", word)
    return OutdatedModule(known.name, ModuleSource(version=version), known)


def _of_place(
    known: Inventory, blobs: Blobs, artifacts: Callable[[str], ArtifactStore], *, devel: bool
) -> OutdatedModule | SkippedUpgrade | None:
    """Ask the place that a chart or component came from."""
    if known.is_deleting:
        return _being_deleted(known)
    try:
        new = OutdatedModule(known.name, newest_source(known, blobs, artifacts, devel=devel), known)
    except KymatuiError as error:
        return _left_out(known, str(error), "--component …" if known.from_component else "--chart …")
    is_whole = not known.from_component or known.state is not InventoryState.PENDING
    return None if same_version(new.version, known.version) and is_whole else new


def newest_source(
    known: Inventory,
    blobs: Blobs,
    artifacts: Callable[[str], ArtifactStore],
    *,
    version: str = "",
    devel: bool = False,
    verb: str = "upgrade",
) -> ModuleSource:
    """Return what a chart or component would be upgraded to: `version`, or the newest one, which may be the present.

    A chart keeps its values. `verb` is the command that a hint names. Raise RefusedError where nobody wrote down where
    it came from, or there is nothing to ask; RegistryError and HelmError where the place does not answer.
    """
    if known.from_component:
        from kymatui.actions.modules.component_install import newest_component

        return newest_component(known, artifacts, version=version, devel=devel)
    location = chart_location(known.origin)
    if isinstance(location, str):
        raise RefusedError(location, hint=f"run `kymatui {verb} {known.name} --chart … -n {known.namespace}`")
    chosen_version = version
    if not version:
        offered = blobs.chart_versions(location.reference, repository=location.repository)
        chosen_version = newest_above(known.version, offered, devel=devel) or known.version
    return ModuleSource(chart=location.reference, repository=location.repository, version=chosen_version)


def _being_deleted(known: Inventory) -> SkippedUpgrade:
    words = f"its deletion was interrupted; run `{deletion_command(known.name, known.namespace)}`"
    return SkippedUpgrade(known.name, known.namespace, known.version, words)


def _left_out(known: Inventory, why: str, words: str) -> SkippedUpgrade:
    reason = f"{why}; run `kymatui upgrade {known.name} {words} -n {known.namespace}`"
    return SkippedUpgrade(known.name, known.namespace, known.version, reason)


def _releases(cluster: Cluster) -> tuple[Inventory, ...]:
    """Return the charts that kymatui installed; helm's own releases are helm's. Raises ForbiddenError."""
    labels = f"owner=helm,status in ({_DEPLOYED},{_UNINSTALLING})"
    documents = []
    for raw in (*cluster.list(SECRET, labels=labels), *cluster.list(CONFIG_MAP, labels=labels)):
        if text := record_text(raw, KEY):
            inventory = replace(read_document(text, str(read_ref(raw))), chart=True)
            is_going = raw["metadata"]["labels"]["status"] == _UNINSTALLING
            documents.append(replace(inventory, state=InventoryState.DELETING) if is_going else inventory)
    return tuple(sorted(documents, key=lambda entry: (entry.name, entry.namespace)))


def list_installed(cluster: Cluster) -> tuple[Inventory, ...]:
    """Return all that kymatui keeps an inventory of, except charts: those are Helm releases."""
    candidates = (ApplySetStore(cluster, name, namespace).read() for namespace, name in inventories(cluster))
    return tuple(
        sorted(
            (inventory for inventory in candidates if inventory is not None),
            key=lambda inventory: (inventory.name, inventory.namespace),
        )
    )
