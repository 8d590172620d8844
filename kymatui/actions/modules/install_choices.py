"""What a screen offers of direct installations: versions, forms, what can be done of what was chosen, and the plans."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from kymatui.actions.modules.adopt import newer_version
from kymatui.actions.modules.install import Installation, InstallControls, plan_installs
from kymatui.actions.modules.install_plan import (
    Adoption,
    InstallPort,
    InstallRequest,
    install_intent,
    namespace_of,
    read_catalog,
    template_namespaces,
    with_interrupted_values,
)
from kymatui.actions.modules.module_sources import (
    ModuleSource,
    find_installed,
    located_chart,
    refuse_deleting,
    release_values,
)
from kymatui.actions.modules.upgrade import newest_source, survey_upgrades
from kymatui.domain.installed import is_deleted_elsewhere
from kymatui.domain.inventories import Inventory, InventoryState
from kymatui.domain.kubernetes.object_meta import read_ref
from kymatui.domain.kubernetes.schema_forms import FormField, form_fields
from kymatui.domain.kubernetes.terminal_text import with_subject
from kymatui.domain.kyma.versions import newest_version, same_version, version_order
from kymatui.domain.plans.cluster_management import detect_management
from kymatui.domain.plans.direct_install import adoptable_row, install_refusals, is_lower_version
from kymatui.domain.snapshot.cluster_index import index_cluster
from kymatui.engine.bundles.bundle import Bundle
from kymatui.engine.jobs.run import Progress
from kymatui.engine.plans.plan import Plan
from kymatui.errors import KymatuiError, RefusedError
from kymatui.helm.charts.values import merge_maps
from kymatui.json_input import read_json

Object = dict[str, Any]
Key = TypeVar("Key")


class InstallStatus(Struct, frozen=True):
    """What there is of a module before anything is asked.

    refusals   why it cannot be installed directly at all
    advanced   why that is the advanced way here, "" where it is the only one
    known      what kymatui has installed of it
    versions   those that can be chosen, the newest first
    spaces     namespaces that can get its ModuleTemplate, () where the cluster has all of its templates
    """

    module: str
    refusals: tuple[str, ...]
    advanced: str
    known: Inventory | None
    versions: tuple[str, ...]
    spaces: tuple[str, ...] = ()

    @property
    def known_chart(self) -> bool:
        """Return whether what is installed is a Helm release."""
        return self.known is not None and self.known.chart


class InstallSelection(Struct, frozen=True):
    """Valid requests, and the reason of each excluded one: "istio: it is managed by …"."""

    requests: tuple[InstallRequest, ...]
    left_out: tuple[str, ...]
    nothing: str = ""

    def require(self) -> None:
        """Raise RefusedError where nothing can be done; `nothing` says what there might have been."""
        if not self.requests:
            reasons = [self.nothing] if self.nothing else []
            words = "; ".join([*reasons, *self.left_out])
            raise RefusedError(words or "nothing to do", unchanged=True)


class PlannedInstalls(Struct, frozen=True):
    """Plans of what was chosen, each with what there was before; `left_out` says why there is none for the rest."""

    requests: tuple[InstallRequest, ...]
    plans: tuple[Plan, ...]
    standings: tuple[InstallStatus, ...]
    left_out: tuple[str, ...]


class InstallAction:
    """What a screen offers of the installations of one session. Methods block."""

    def __init__(self, port: InstallPort) -> None:
        self._port = port

    def standing(self, module: str, namespace: str = "") -> InstallStatus:
        """Ask the server only for what is installed."""
        snapshot = self._port.snapshot()
        catalog = read_catalog(self._port, module)
        row = catalog.row(module)
        never = tuple(install_refusals(catalog, module, row, snapshot.feeds, direct=True))
        keeper = detect_management(snapshot).keeper
        careful = tuple(install_refusals(catalog, module, row, snapshot.feeds, direct=False, keeper=keeper))
        known = find_installed(self._port.cluster, module, namespace)
        if known is not None and not known.chart and row is not None and is_deleted_elsewhere(row.run):
            known = None
        templates = index_cluster(snapshot, cache=self._port.cache).templates
        offers = templates.offers(module)
        numbers = dict.fromkeys(template.version for template in offers if template.version)
        versions = tuple(sorted(numbers, key=version_order, reverse=True))
        is_outside = any(template.outside for template in offers)
        spaces = template_namespaces(snapshot, self._port.cache) if is_outside else ()
        return InstallStatus(module, never, "; ".join(careful) if not never else "", known, versions, spaces)

    def installations(self, modules: Sequence[str]) -> InstallSelection:
        """Return the newest version of each, of those that are not installed."""

        def choice(module: str) -> InstallRequest:
            standing = self._open(module)
            if standing.known is not None:
                raise RefusedError(f"{standing.known.version} is already installed".strip())
            best = newest_version(standing.versions)
            if not best:
                raise RefusedError("not in any catalog")
            return InstallRequest(module, ModuleSource(version=best))

        return _choices(modules, choice)

    def adoptions(self, modules: Sequence[str]) -> InstallSelection:
        """Return those of the modules that can be taken over."""
        return _choices(modules, self.adoption)

    def upgrades(self, modules: Sequence[str]) -> InstallSelection:
        """Return the newest versions of those that are outdated: of the catalog, or of where a chart came from."""

        def choice(module: str) -> InstallRequest:
            standing = self._open(module)
            if standing.known is None:
                return self._adopting_upgrade(module, standing)
            refuse_deleting(standing.known)
            if standing.known.adopting:
                return _cut_off_adoption(standing.known)
            if standing.known.from_component:
                return self._component_upgrade(standing.known)
            request = (
                self._chart_upgrade(standing.known)
                if standing.known.chart
                else InstallRequest(module, ModuleSource(version=upgraded_version(standing)))
            )
            if not request.source.version:
                raise RefusedError("up to date")
            return request

        return _choices(modules, choice)

    def _adopting_upgrade(self, module: str, standing: InstallStatus) -> InstallRequest:
        """Return the newest version of a module of others. Raise RefusedError if it cannot be adopted."""
        snapshot = self._port.snapshot()
        row = adoptable_row(read_catalog(self._port, module).row(module), module)
        if standing.advanced:
            raise RefusedError(standing.advanced)
        version = newer_version(row, index_cluster(snapshot, cache=self._port.cache).templates)
        if not version:
            raise RefusedError("up to date" if row.installed else "its version is unknown")
        return InstallRequest(module, ModuleSource(version=version), adoption=Adoption.UPGRADE)

    def all_upgrades(self) -> InstallSelection:
        """Return the same of everything that kymatui has installed, whether the catalog knows of it or not."""
        survey = survey_upgrades(self._port.cluster, self._port.snapshot(), self._port.blobs, self._port.artifacts)
        outdated = {
            (module.name, module.known.namespace if module.known is not None else ""): module
            for module in survey.outdated
        }

        def choice(key: tuple[str, str]) -> InstallRequest:
            known, source = outdated[key].known, outdated[key].source
            if known is None:
                self._open(key[0])
                return InstallRequest(key[0], source, adoption=Adoption.UPGRADE)
            self._open(known.name, known.namespace)
            if known.adopting:
                return _cut_off_adoption(known)
            return InstallRequest(known.name, source, known.chosen_namespace)

        selection = _choices(list(outdated), choice, lambda key: key[0])
        others = [skipped.message for skipped in survey.left_out]
        return InstallSelection(
            selection.requests, (*selection.left_out, *others), "all directly installed modules are up to date"
        )

    def _open(self, module: str, namespace: str = "") -> InstallStatus:
        standing = self.standing(module, namespace)
        if standing.refusals:
            raise RefusedError(standing.refusals[0])
        return standing

    def _component_upgrade(self, known: Inventory) -> InstallRequest:
        """Raise RefusedError where the place that it came from has nothing newer, or cannot be asked."""
        source = newest_source(known, self._port.blobs, self._port.artifacts)
        is_same = source.component is None or same_version(source.component.version, known.version)
        if is_same and known.finished:
            raise RefusedError("up to date")
        return InstallRequest(known.name, source, known.namespace)

    def _chart_upgrade(self, known: Inventory) -> InstallRequest:
        """Raise RefusedError where nobody can be asked; without a version where there is no newer one."""
        source = newest_source(known, self._port.blobs, self._port.artifacts)
        is_newest = same_version(source.version, known.version) and known.state is InventoryState.INSTALLED
        return InstallRequest(known.name, replace(source, version="" if is_newest else source.version), known.namespace)

    def adoption(self, module: str) -> InstallRequest:
        """Return the installation of the very version that is there. Raises RefusedError where it is not to be had."""
        row = adoptable_row(read_catalog(self._port, module).row(module), module)
        known = find_installed(self._port.cluster, module)
        if known is not None and known.finished:
            raise RefusedError(f"kymatui already owns {module}", hint="nothing to adopt")
        if known is not None and known.adopting:
            return _cut_off_adoption(known)
        if not row.installed:
            raise RefusedError(
                f"the installed version of {module} is unknown", hint=f"run `kymatui adopt {module} --version …`"
            )
        return InstallRequest(module, ModuleSource(version=row.installed), adoption=Adoption.AS_IS)

    def form(self, request: InstallRequest) -> tuple[tuple[FormField, ...], Object]:
        """Return the fields of the form, and the document as its source has it; {} without one."""
        source = request.source
        if source.chart:
            chart = located_chart(source, self._port.blobs).chart
            known = find_installed(self._port.cluster, request.module, namespace_of(self._port, request))
            values = merge_maps(chart.values, release_values(self._port.cluster, known))
            return form_fields(_chart_schema(chart.schema)), values
        bundle = install_intent(self._port, replace(request, direct=True)).bundle
        if bundle.resource is None:
            return (), {}
        return form_fields(_spec_schema(bundle, bundle.resource), ("spec",)), bundle.resource

    def plans(self, choices: InstallSelection) -> PlannedInstalls:
        """Plan modules; leave out what cannot be planned, and beside others what does not change.

        Raises the error of a single module, RefusedError where nothing to do.
        """
        choices.require()
        items = plan_installs(self._port, {str(at): _allowed(request) for at, request in enumerate(choices.requests)})
        pairs = list(zip(choices.requests, items, strict=True))
        planned = [(request, item.plan) for request, item in pairs if item.plan is not None]
        changed = [(request, plan) for request, plan in planned if not plan.changes_nothing] or planned
        reasons = [with_subject(request.module, str(item.refusal)) for request, item in pairs if item.plan is None]
        reasons += [
            with_subject(request.module, "no changes") for request, plan in planned if (request, plan) not in changed
        ]
        left_out = (*choices.left_out, *reasons)
        if not changed:
            alone = items[0].refusal if not left_out[1:] else None
            raise alone or RefusedError("; ".join(left_out), unchanged=True)
        requests = tuple(request for request, _ in changed)
        standings = tuple(self.standing(request.module, request.namespace) for request in requests)
        return PlannedInstalls(requests, tuple(plan for _, plan in changed), standings, left_out)

    def interrupted(self, request: InstallRequest, *, has_others: bool) -> InstallRequest:
        """Return the request of an interrupted installation with its values. Raise as `with_interrupted_values`."""
        return with_interrupted_values(self._port, request, has_others=has_others)

    def installation(self, progress: Callable[[Progress], None]) -> Installation:
        """Return the verb that applies plans which a person has accepted."""
        return Installation(self._port, InstallControls(progress))


def _allowed(request: InstallRequest) -> InstallRequest:
    return replace(request, direct=True, allow_downgrade=True)


def _cut_off_adoption(known: Inventory) -> InstallRequest:
    """Return the request that continues an adoption, in the version that it began with."""
    return InstallRequest(known.name, ModuleSource(version=known.version), adoption=Adoption.UPGRADE)


def _choices(
    keys: Iterable[Key], choice: Callable[[Key], InstallRequest], name: Callable[[Key], str] = str
) -> InstallSelection:
    """Split the names into valid requests and reasons for exclusion."""
    requests, left_out = [], []
    for key in keys:
        try:
            requests.append(choice(key))
        except KymatuiError as error:
            left_out.append(with_subject(name(key), str(error)))
    return InstallSelection(tuple(requests), tuple(left_out))


def is_lower(standing: InstallStatus, version: str) -> bool:
    """Return whether a lower version would be installed over what is there."""
    return standing.known is not None and is_lower_version(standing.known.version, version)


def upgraded_version(standing: InstallStatus) -> str:
    """Return the version that an upgrade leads to, "" where what is installed is the newest, and whole."""
    is_whole = standing.known is not None and standing.known.state is not InventoryState.PENDING
    known = standing.known.version if standing.known is not None else ""
    best = newest_version(standing.versions)
    return (
        ""
        if not best or not known or (same_version(best, known) and is_whole) or is_lower_version(known, best)
        else best
    )


def _spec_schema(bundle: Bundle, resource: Object) -> Object:
    """Return the schema of `spec` as the definition that comes with the bundle has it; {} where none does."""
    gvk = read_ref(resource).kind
    for body in (*bundle.objects, *bundle.crds):
        spec = body.get("spec") or {}
        names = spec.get("names") or {} if body.get("kind") == "CustomResourceDefinition" else {}
        if (spec.get("group"), names.get("kind")) != (gvk.group, gvk.kind):
            continue
        for version in spec.get("versions") or ():
            if version.get("name") == gvk.version:
                schema = ((version.get("schema") or {}).get("openAPIV3Schema") or {}).get("properties") or {}
                return dict(schema.get("spec") or {})
    return {}


def _chart_schema(text: bytes | None) -> Object:
    """Return the fields of a schema; none of one that cannot be read, which Helm reports when it renders the chart."""
    try:
        document = read_json(text) if text is not None else {}
    except ValueError:  # Helm reports the broken schema
        return {}
    return document if isinstance(document, dict) else {}
