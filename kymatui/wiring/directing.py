"""Direct installations for the screen: what is offered, what it consists of, and the plan of it."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from kymatui.domain.catalog import catalog
from kymatui.domain.direct import choose, is_downgrade, refusals, taken_over
from kymatui.domain.forms import Field, fields
from kymatui.domain.observing import observe
from kymatui.domain.versions import order, same
from kymatui.errors import ConfigurationError, RefusedError

if TYPE_CHECKING:
    from kymatui.engine.bundles import Bundle
    from kymatui.engine.inventories import Inventory
    from kymatui.engine.plans import Intent, Plan
    from kymatui.engine.ports import Blobs, Cluster
    from kymatui.wiring.jobs import Report
    from kymatui.wiring.pairs import PairSession
    from kymatui.wiring.runtime_sessions import RuntimeSession
    from kymatui.wiring.sessions import CatalogSession

Object = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Standing:
    """What there is of a module before anything is asked.

    refusals   why it cannot be installed directly at all
    advanced   why that is the advanced way here, "" where it is the only one
    known      what kymatui has installed of it
    versions   those that can be chosen, the newest first
    """

    module: str
    refusals: tuple[str, ...]
    advanced: str
    known: Inventory | None
    versions: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a person chose; `document` is the default resource, or a chart's values, None as the source has it.

    chart  a chart instead of the catalog's template: a path, a URL, or `oci://…`
    adopt  what is there becomes kymatui's, over whoever owns it now
    """

    module: str
    version: str = ""
    chart: str = ""
    namespace: str = ""
    document: Object | None = None
    ignore: bool = False
    prune_definitions: bool = False
    force: bool = False
    adopt: bool = False


class Directing:
    """The direct installations of one session, which was started. Methods block.

    With a runtime and its control plane, what is managed is said by both, and what is installed goes to the runtime.
    """

    def __init__(self, session: CatalogSession | PairSession | RuntimeSession, blobs: Blobs | None = None) -> None:
        self._session = session
        self._given = blobs

    @cached_property
    def _cluster(self) -> Cluster:
        from kymatui.wiring.engine import cluster_of

        return cluster_of(self._session.client)

    @cached_property
    def _blobs(self) -> Blobs:
        from kymatui.wiring.operating import fetcher

        return self._given if self._given is not None else fetcher()

    def standing(self, module: str) -> Standing:
        """Asks the server only for what is installed."""
        from kymatui.wiring.installing import find_installed

        snapshot = self._session.snapshot()
        seen = catalog(snapshot, time.time())
        row = seen.row(module)
        never = tuple(refusals(seen, module, row, snapshot.feeds, direct=True))
        careful = tuple(refusals(seen, module, row, snapshot.feeds, direct=False))
        known = find_installed(self._cluster, module)
        offers = [template.version for template in observe(snapshot).shelf.offers(module) if template.version]
        versions = tuple(sorted(dict.fromkeys(offers), key=order, reverse=True))
        return Standing(module, never, "; ".join(careful) if not never else "", known, versions)

    def adoption(self, module: str) -> Wanted:
        """The installation of the very version that is there. Raises RefusedError where it is not to be had."""
        from kymatui.wiring.installing import find_installed

        row = taken_over(catalog(self._session.snapshot(), time.time()).row(module), module)
        if find_installed(self._cluster, module) is not None:
            raise RefusedError(f"{module} is kymatui's already", hint="there is nothing to take over")
        if not row.installed:
            raise RefusedError(
                f"nobody knows which version of {module} is there", hint=f"`kymatui adopt {module} --version …`"
            )
        return Wanted(module, row.installed, adopt=True)

    def bundle(self, wanted: Wanted) -> Bundle:
        """What it consists of; fetched. Raises ConfigurationError, RegistryError and HelmError."""
        from kymatui.wiring.installing import catalog_bundle

        if wanted.chart:
            return self._chart(wanted)
        choice = choose(observe(self._session.snapshot()).shelf, wanted.module, wanted.version)
        if isinstance(choice, str):
            raise ConfigurationError(choice)
        made = catalog_bundle(choice, self._blobs)
        return replace(made, resource=wanted.document) if wanted.document is not None else made

    def _chart(self, wanted: Wanted) -> Bundle:
        from kymatui.engine.sources import charts
        from kymatui.wiring.installing import find_installed
        from kymatui.wiring.operating import target_of

        loaded = charts.located(wanted.chart, self._blobs, version=wanted.version)
        namespace = wanted.namespace or "default"
        known = find_installed(self._cluster, wanted.module, namespace)
        target = target_of(self._cluster, installed=known is not None, revision=(known.revision if known else 0) + 1)
        values = charts.Values(inline=wanted.document or {})
        return charts.chart_bundle(loaded, name=wanted.module, namespace=namespace, values=values, target=target)

    def form(self, wanted: Wanted) -> tuple[tuple[Field, ...], Object]:
        """The fields that a person may fill in, and the document as the source has it; ({}) where there is none."""
        from kymatui.engine.sources import charts

        if wanted.chart:
            chart = charts.located(wanted.chart, self._blobs, version=wanted.version).chart
            return fields(_chart_schema(chart.schema)), dict(chart.values)
        bundle = self.bundle(wanted)
        if bundle.resource is None:
            return (), {}
        return fields(_spec_schema(bundle, bundle.resource), ("spec",)), bundle.resource

    def plan(self, wanted: Wanted) -> Plan:
        """Raises RefusedError and what `bundle` raises; nothing is written."""
        from kymatui.engine.planning import plan
        from kymatui.engine.running import SystemClock

        return plan(self._intent(wanted), self._cluster, SystemClock())

    def _intent(self, wanted: Wanted) -> Intent:
        from kymatui.engine.plans import Intent, Policy

        choice = choose(observe(self._session.snapshot()).shelf, wanted.module, wanted.version)
        associated = () if wanted.chart or isinstance(choice, str) else choice.template.associated
        return Intent(
            self.bundle(wanted),
            force=wanted.force or wanted.adopt,
            adopt=wanted.adopt,
            prune_definitions=wanted.prune_definitions,
            policy=Policy.IGNORE if wanted.ignore else Policy.CREATE_AND_DELETE,
            associated=associated,
        )

    def carry_out(self, plan: Plan, report: Report) -> str:
        """The job; what lifecycle-manager took up meanwhile is refused."""
        from kymatui.engine.applying import apply
        from kymatui.engine.running import begin
        from kymatui.wiring.engine import journal_path

        standing = self.standing(plan.bundle.name)
        if standing.refusals:
            raise RefusedError("; ".join(standing.refusals), hint="nothing was changed")
        journal = journal_path(plan.cluster, plan.bundle.namespace, plan.bundle.name)
        purpose = f"{plan.verb} {plan.bundle.name} {plan.bundle.version}".strip()
        with begin(self._cluster, cancel=report.cancel, journal=journal, tell=report.tell, purpose=purpose) as run:
            ended = apply(plan, run)
        return f"{len(ended.written)} written, {len(ended.deleted)} deleted"


def is_lower(standing: Standing, version: str) -> bool:
    """Whether a lower version would be installed over what is there."""
    return standing.known is not None and is_downgrade(standing.known.version, version)


def newer(standing: Standing) -> str:
    """The version that an upgrade leads to, "" where what is installed is the newest, and whole."""
    from kymatui.engine.inventories import State

    is_whole = standing.known is not None and standing.known.state is not State.PENDING
    known = standing.known.version if standing.known is not None else ""
    best = next((one for one in standing.versions if "-" not in one), next(iter(standing.versions), ""))
    return "" if not best or not known or (same(best, known) and is_whole) or is_downgrade(known, best) else best


def _spec_schema(bundle: Bundle, resource: Object) -> Object:
    """The schema of `spec` as the definition that comes with the bundle has it; {} where none does."""
    from kymatui.domain.objects import read_ref

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
    """A schema that cannot be read makes no form; Helm says what is wrong with it when the chart is rendered."""
    import json

    try:
        found = json.loads(text) if text is not None else {}
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}
