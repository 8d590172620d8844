"""A control plane's Kymas and release metas, listed page by page: what a fleet is made of."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from kymatui.domain.lists import Gap, Unknown
from kymatui.domain.objects import read_ref
from kymatui.domain.refs import GroupVersionKind
from kymatui.errors import ClusterError, ForbiddenError, NotFoundError
from kymatui.wiring.collecting import relax_collector
from kymatui.wiring.kinds import KYMA_KINDS, OPERATOR, Fixed
from kymatui.wiring.namespaces import require_namespace
from kymatui.wiring.runtime_names import remember_runtimes

if TYPE_CHECKING:
    from kymatui.adapters.kube.client import Client
    from kymatui.domain.fleets import Fleet
    from kymatui.wiring.options import SessionOptions


def read_fleet(options: SessionOptions, *, labels: str = "") -> tuple[str, Fleet, tuple[str, ...]]:
    """The context's name, the fleet, and what could not be read, in sentences.

    Raises what a list of Kymas raises, and UnknownNameError for a namespace that does not exist. `options.namespace` ""
    means all namespaces; `labels` is a selector, which the server applies.
    """
    from kymatui.domain.fleets import fleet
    from kymatui.wiring.engine import open_cluster

    relax_collector()
    cluster = open_cluster(options)
    client = cluster.client
    notes = []
    unknown: Unknown | None = None
    kymas = list_fixed(client, KYMA_KINDS[0], options.namespace, labels=labels)
    if options.namespace and not kymas:
        require_namespace(client, options.namespace)
    try:
        metas = list_fixed(client, KYMA_KINDS[2], options.namespace)
    except (ForbiddenError, NotFoundError) as error:
        metas = []
        forbidden = isinstance(error, ForbiddenError)
        unknown = Unknown(Gap.FORBIDDEN if forbidden else Gap.UNKNOWN, (KYMA_KINDS[2].feed,), str(error))
        notes.append(f"drift is not known: {error}")
    if not labels and not options.namespace:
        remember_runtimes(client, [(ref.namespace, ref.name) for ref in map(read_ref, kymas)])
    return cluster.name, fleet(kymas, metas, unknown), tuple(notes)


@dataclass(frozen=True, slots=True)
class FleetNames:
    """The modules and channels that a runtime or the catalog of a control plane has."""

    modules: frozenset[str]
    channels: frozenset[str]


def fleet_names(options: SessionOptions) -> FleetNames | None:
    """Return all names of a control plane, whichever of its runtimes are chosen; None where they are not known."""
    from kymatui.domain.fleets import fleet
    from kymatui.domain.releases import ReleaseMeta, read_release_meta
    from kymatui.domain.templates import Template, read_template
    from kymatui.wiring.engine import open_cluster

    client = open_cluster(replace(options, namespace="")).client
    try:
        kymas, templates, metas = (_listed(client, fixed) for fixed in KYMA_KINDS[:3])
    except ClusterError:
        return None
    finally:
        client.transport.close()
    runtimes = fleet(kymas).runtimes
    offered = [one for raw in templates if isinstance(one := read_template(raw), Template)]
    released = [meta for raw in metas if isinstance(meta := read_release_meta(raw), ReleaseMeta)]
    modules = {one.module for one in offered} | {one.module for one in released}
    modules |= {module.name for one in runtimes for module in one.modules}
    channels = {one.channel for one in offered} | {one.channel for one in runtimes}
    channels |= {channel for one in released for channel in one.channels}
    channels |= {module.channel for one in runtimes for module in one.modules}
    return FleetNames(frozenset(modules), frozenset(channels - {""}))


def _listed(client: Client, fixed: Fixed) -> list[dict[str, object]]:
    try:
        return list_fixed(client, fixed)
    except NotFoundError:  # an older or newer lifecycle-manager has no such kind
        return []


def list_fixed(
    client: Client, fixed: Fixed, namespace: str = "", *, labels: str = "", fields: str = ""
) -> list[dict[str, object]]:
    """All objects of a kind in the first of its versions that is served; raises NotFoundError where none is."""
    for version in fixed.versions:
        gvk = GroupVersionKind(fixed.group, version, fixed.kind)
        resource = client.discovery.find(gvk)
        if resource is not None:
            return client.list(resource, namespace, labels=labels, fields=fields).items
    raise NotFoundError(
        f"{client.transport.connection.context} serves no {fixed.kind} of {OPERATOR}",
        hint="is it a control plane? name another with --context",
        status=404,
    )
