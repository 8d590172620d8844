"""The plan of one installation, upgrade or adoption: whether it may be, what it consists of, and what it changes.

Nothing is written.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from enum import Enum
from threading import Event
from typing import Any, Protocol

from msgspec import Struct, field
from msgspec.structs import replace

from kymatui.actions.components.template_component import component_name, embedded_descriptor, template_location
from kymatui.actions.modules.adopt import adopt_intent, with_misplaced
from kymatui.actions.modules.module_sources import ModuleSource, catalog_bundle, load_bundle, refuse_deleting
from kymatui.actions.modules.signatures import SignatureOptions, read_trust, refuse_unsigned_kind, signed_module
from kymatui.actions.unknown_names import unknown_module
from kymatui.domain.catalog.catalog import build_catalog
from kymatui.domain.catalog.rows import Catalog
from kymatui.domain.gitops import plain_object
from kymatui.domain.kubernetes.refs import GroupVersionKind
from kymatui.domain.kyma.kymas import KYMA_NAMESPACE, Policy
from kymatui.domain.kyma.module_templates import ModuleTemplate
from kymatui.domain.kyma.template_index import TemplateIndex
from kymatui.domain.kyma.versions import same_version
from kymatui.domain.modules.presence import Presence
from kymatui.domain.plans.cluster_management import detect_management
from kymatui.domain.plans.direct_install import (
    InstallChoice,
    adoptable_row,
    choose_template,
    install_refusals,
    is_lower_version,
)
from kymatui.domain.snapshot.cluster_index import index_cluster
from kymatui.domain.snapshot.snapshots import ReadCache, Snapshot
from kymatui.engine.apply import planner
from kymatui.engine.bundles.bundle import Bundle
from kymatui.engine.cluster.ports import Blobs, Cluster
from kymatui.engine.cluster.retries import read_once
from kymatui.engine.inventory.ownership_marks import bundle_owner
from kymatui.engine.inventory.release_store import interrupted_values
from kymatui.engine.jobs.journal import Journal
from kymatui.engine.jobs.run import Progress, Run, RunLimits, SystemClock
from kymatui.engine.plans.plan import Intent, Plan
from kymatui.engine.sources.artifact_store import ArtifactStore
from kymatui.engine.sources.chart_source import LoadedChart
from kymatui.errors import ConfigurationError, NotInstalledError, RefusedError, UnknownNameError, UsageError
from kymatui.ocm.errors import SignatureError


class Adoption(Enum):
    """What becomes of a module that is there and that kymatui did not install."""

    NEVER = "never"  # it stays its owner's: what would change speaks against the plan
    AS_IS = "as is"  # it is taken over in the version that is there
    UPGRADE = "upgrade"  # it is taken over in whatever version; where nothing is there, nothing is planned
    IF_PRESENT = "if present"  # the same, but what is not there is installed


class InstallRequest(Struct, frozen=True):
    """One module, where it comes from, and what a person said to it.

    namespace   "" where the source says it; for charts and files the session's
    document    the default resource, or the values of a chart; None: as the source has it
    direct      install even if lifecycle-manager could manage it
    template    namespace that gets the module's ModuleTemplate, for tools that find modules by it; "": none
    signers     whose signature is asked for; None: nobody's
    """

    module: str
    source: ModuleSource = field(default_factory=ModuleSource)
    namespace: str = ""
    document: dict[str, Any] | None = None
    force: bool = False
    prune: bool = True
    prune_definitions: bool = False
    prune_namespaces: bool = False
    policy: Policy = Policy.CREATE_AND_DELETE
    adoption: Adoption = Adoption.NEVER
    direct: bool = False
    allow_downgrade: bool = False
    signers: SignatureOptions | None = None
    backup: bool = True
    template: str = ""


class InstallPort(Protocol):
    """What installations need of a session, which was started."""

    @property
    def cluster(self) -> Cluster: ...

    @property
    def namespace(self) -> str:
        """Return the session's namespace, for charts and files: that of `-n`, else of the context, "" without."""
        ...

    @property
    def blobs(self) -> Blobs: ...

    @property
    def insecure(self) -> tuple[str, ...]:
        """Return registries that may go without TLS."""
        ...

    @property
    def registry(self) -> str:
        """Return the registry of components whose template has no descriptor, "" if nobody named one."""
        ...

    @property
    def cache(self) -> ReadCache: ...

    def artifacts(self, layout: str) -> ArtifactStore:
        """Return all registries as one store, or the OCI image layout in a folder."""
        ...

    def snapshot(self) -> Snapshot: ...

    def signed_chart(self, source: ModuleSource, signers: SignatureOptions) -> LoadedChart:
        """Return a chart whose provenance holds. Raises SignatureError before anything of it is read."""
        ...

    def begin(
        self,
        plan: Plan,
        cancel: Event,
        progress: Callable[[Progress], None],
        limits: RunLimits | None,
        journal: Journal,
    ) -> AbstractContextManager[Run]:
        """Return the run of a plan, with the backup of what it deletes."""
        ...


def plan_install(port: InstallPort, request: InstallRequest) -> Plan:
    """Raise RefusedError where something speaks against it, and what `install_intent` raises."""
    cluster = read_once(port.cluster, SystemClock())
    intent = install_intent(port, request, cluster)
    known = planner.read_previous_inventory(cluster, SystemClock(), intent.bundle)
    if request.adoption is Adoption.UPGRADE:
        refuse_deleting(known)
    owned = known is not None and not known.adopting  # a cut-off adoption is one until it comes to its end
    if not owned and request.adoption in (Adoption.UPGRADE, Adoption.IF_PRESENT):
        intent = _adopting(port, request, intent)
    intent = with_misplaced(intent, cluster) if intent.adopt else intent
    planned = planner.plan(intent, cluster, SystemClock(), read_previous=lambda: known)
    if known is not None and known.finished and planned.first:  # another tool has deleted it
        if request.adoption is Adoption.UPGRADE:
            raise _not_installed(request.module)
        return planned
    installed = known.version if known is not None else intent.adopted_version
    if is_lower_version(installed, intent.bundle.version) and not request.allow_downgrade:
        raise RefusedError(
            f"{request.module} {installed} is installed; {intent.bundle.version} would be a downgrade",
            hint="use --allow-downgrade to install it anyway",
        )
    return planned


def _not_installed(name: str) -> NotInstalledError:
    return NotInstalledError(f"{name} is not installed", hint=f"run `kymatui install {name}`")


def _adopting(port: InstallPort, request: InstallRequest, intent: Intent) -> Intent:
    """Return the intent of an upgrade that adopts what kymatui did not install. Raises RefusedError."""
    name = request.module
    row = read_catalog(port, name).row(name)
    if row is None or row.presence in (Presence.NOT_INSTALLED, Presence.ORPHAN):
        if request.adoption is Adoption.IF_PRESENT:
            return intent
        raise _not_installed(name)
    return adopt_intent(intent, row, _shelf(port), port.blobs)


def with_interrupted_values(port: InstallPort, request: InstallRequest, *, has_others: bool) -> InstallRequest:
    """Return the request of an interrupted installation of a chart with the values that it has written to the release.

    `has_others` means that the interrupted command had values that are not in the journal. Raise RefusedError if no
    release has them.
    """
    if not request.source.chart:
        return request
    namespace = namespace_of(port, request)
    values = interrupted_values(port.cluster, request.module, namespace)
    if values is None and has_others:
        raise RefusedError(
            f"the values of {request.module} are in no release and not in the journal; nothing was installed",
            hint="run the same install command again",
        )
    source = request.source if values is None else replace(request.source, value_files=())
    return replace(request, document=values, source=source)


def install_intent(port: InstallPort, request: InstallRequest, cluster: Cluster | None = None) -> Intent:
    """Fetch the source. Raise RefusedError, ConfigurationError, RegistryError, HelmError, SignatureError.

    `cluster` is the port's, where the caller remembers what is read of it.
    """
    as_is = request.adoption is Adoption.AS_IS
    require_unmanaged(port, request.module, direct=request.direct, adopts=as_is)
    bundle, associated = _bundle(port, _present(port, request) if as_is else request, cluster or port.cluster)
    return Intent(
        bundle,
        force=request.force or as_is,
        prune=request.prune,
        prune_definitions=request.prune_definitions,
        prune_namespaces=request.prune_namespaces,
        policy=request.policy,
        associated=associated,
        adopt=as_is,
        backup=request.backup,
    )


def require_unmanaged(port: InstallPort, module: str, *, direct: bool, adopts: bool = False) -> None:
    """Raise RefusedError where lifecycle-manager has the module, or nobody can tell and `direct` does not insist."""
    snapshot, catalog = port.snapshot(), read_catalog(port, module)
    row = catalog.row(module)
    keeper = detect_management(snapshot).keeper
    against = list(install_refusals(catalog, module, row, snapshot.feeds, direct=direct, adopts=adopts, keeper=keeper))
    if against:
        raise RefusedError("; ".join(against), unchanged=True)


def _present(port: InstallPort, request: InstallRequest) -> InstallRequest:
    """Return the same of the very version that is there. Raises RefusedError where nothing is, or somebody has it."""
    source, catalog = request.source, read_catalog(port, request.module)
    if catalog.row(request.module) is None and source.is_catalog:
        raise unknown_module(read_catalog(port), request.module)
    version = source.version if source.is_catalog else ""  # a chart counts its own versions
    row = adoptable_row(catalog.row(request.module), request.module, version)
    if not source.is_catalog or source.version:
        return request
    if not row.installed:
        raise RefusedError(f"the installed version of {row.name} is unknown", hint="set it with --version")
    return replace(request, source=replace(source, version=row.installed))


def namespace_of(port: InstallPort, request: InstallRequest) -> str:
    """Return where a chart or file is installed: as requested, else in the session's namespace, as kubectl does."""
    return request.namespace or port.namespace or "default"


def _bundle(
    port: InstallPort, request: InstallRequest, cluster: Cluster
) -> tuple[Bundle, tuple[GroupVersionKind, ...]]:
    name, source, signers = request.module, request.source, request.signers
    if request.template:
        _refuse_template(request)
    if source.is_catalog or source.component is not None:
        _refuse_chart_options(source)
    if source.component is not None:
        from kymatui.actions.modules.component_install import read_component

        source.require_one()
        store = port.artifacts(source.layout)
        component = read_component(name, request.namespace, source, store, cluster, signers)
        return _with_document(component.bundle, request), component.associated
    if not source.is_catalog:
        chart = None
        if signers is not None:
            refuse_unsigned_kind(source)
            chart = port.signed_chart(source, signers)
        namespace = namespace_of(port, request)
        return load_bundle(name, namespace, source, port.blobs, cluster, chart=chart, values=request.document), ()
    templates = _shelf(port)
    choice = choose_template(templates, name, source.version, request.namespace, from_component=signers is not None)
    if isinstance(choice, str):
        if not templates.offers(name):
            raise unknown_module(read_catalog(port), name)
        if source.version and not any(same_version(offer.version, source.version) for offer in templates.offers(name)):
            raise UnknownNameError(choice)
        raise ConfigurationError(choice)
    if signers is not None:
        bundle = _signed(port, templates, choice, signers)
    else:
        bundle = catalog_bundle(choice, port.blobs)
    bundle = _with_document(bundle, request)
    namespace = _template_namespace(port, request, bundle, choice.template)
    if namespace:
        bundle = replace(bundle, objects=(*bundle.objects, template_copy(choice.template, namespace)))
    return bundle, choice.template.associated


def _refuse_template(request: InstallRequest) -> None:
    if not request.source.is_catalog:
        raise UsageError("--template needs a module of the catalog", hint="only the catalog has ModuleTemplates")
    refuse_template_namespace(request.template)


def refuse_template_namespace(namespace: str) -> None:
    """Raise UsageError for the namespace of lifecycle-manager's templates, as kyma CLI refuses it."""
    if namespace == KYMA_NAMESPACE:
        text = f"lifecycle-manager deletes ModuleTemplates of others from {KYMA_NAMESPACE}"
        raise UsageError(text, hint="choose another namespace, such as default")


def template_namespaces(snapshot: Snapshot, cache: ReadCache | None = None) -> tuple[str, ...]:
    """Return the namespaces that a person can choose for templates: default, and those with community templates."""
    templates = index_cluster(snapshot, cache=cache).templates
    used = {offer.meta.namespace for offer in templates.templates if not (offer.outside or templates.is_kyma(offer))}
    return ("default", *sorted(used - {"default", KYMA_NAMESPACE}))


def _template_namespace(port: InstallPort, request: InstallRequest, bundle: Bundle, template: ModuleTemplate) -> str:
    """Return where the module's template is created, "" if nowhere: as requested, else where kymatui left one before.

    One that another client created there stays that client's.
    """
    known = index_cluster(port.snapshot(), cache=port.cache).installation_of(bundle_owner(bundle))
    items = known.inventory.items if known is not None and known.inventory is not None else ()
    own = [item.ref.namespace for item in items if item.ref.kind.kind == "ModuleTemplate"]
    namespace = request.template or next(iter(own), "")
    is_there = not template.outside and template.meta.namespace == namespace
    return "" if is_there and namespace not in own else namespace


def template_copy(template: ModuleTemplate, namespace: str) -> dict[str, Any]:
    """Return a template for a namespace: as its catalog has it, without what a server or a tool wrote to it."""
    copy = plain_object(template.raw)
    metadata = {**copy["metadata"], "namespace": namespace}
    annotations = dict(metadata.pop("annotations", {}))
    if "://" not in annotations.get("source", ""):
        annotations.pop("source", None)  # a path of this machine
    return {**copy, "metadata": metadata | ({"annotations": annotations} if annotations else {})}


def _signed(port: InstallPort, templates: TemplateIndex, choice: InstallChoice, signers: SignatureOptions) -> Bundle:
    """Return a module as its component was signed; templates without a descriptor have it in a registry."""
    from kymatui.actions.modules.component_install import signed_catalog_module

    if embedded_descriptor(choice.template) is not None:
        return signed_module(choice, signers, port.blobs, port.insecure)
    read_trust(signers)  # a missing key is said before what is not signed
    if not component_name(choice.template, templates):
        raise SignatureError(f"{choice.template.ref} is not signed: it names no component", hint="not installed")
    location = template_location(choice.template, templates, port.snapshot().manifests, port.registry)
    return signed_catalog_module(choice, location, port.artifacts(""), signers)


def _refuse_chart_options(source: ModuleSource) -> None:
    if source.has_values or source.repository:
        raise UsageError("values and --repo need a chart", hint="name the chart with --chart")


def _with_document(bundle: Bundle, request: InstallRequest) -> Bundle:
    return bundle if request.document is None else replace(bundle, resource=request.document)


def read_catalog(port: InstallPort, only: str = "") -> Catalog:
    """Return the catalog as it is now, with the row of one module or with all."""
    return build_catalog(port.snapshot(), time.time(), cache=port.cache, only=only)


def _shelf(port: InstallPort) -> TemplateIndex:
    return index_cluster(port.snapshot(), cache=port.cache).templates
