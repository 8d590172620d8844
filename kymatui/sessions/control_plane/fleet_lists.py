"""A control plane's Kymas and release metas, listed page by page: what a fleet is made of."""

from __future__ import annotations

import time
from collections.abc import Iterable
from contextlib import closing

from msgspec import Struct
from msgspec.structs import replace

from kymatui.adapters.kube.api.client import Client
from kymatui.domain.fleet.fleet_tracker import FleetSnapshot, FleetTracker
from kymatui.domain.fleet.manifest_summary import read_summary
from kymatui.domain.fleet.runtimes import Fleet, Runtime, build_fleet, with_lease
from kymatui.domain.kubernetes.object_meta import read_ref
from kymatui.domain.kubernetes.refs import GroupVersionKind
from kymatui.domain.kyma.kyma_keeper import why_stopped
from kymatui.domain.kyma.module_templates import ModuleTemplate, read_template
from kymatui.domain.kyma.template_index import ReleaseMeta, read_release_meta
from kymatui.domain.snapshot.missing_lists import ListGap, UnknownFact
from kymatui.domain.snapshot.snapshots import Feed, FeedState
from kymatui.errors import ClusterError, ForbiddenError, NotFoundError
from kymatui.sessions.cluster.catalog_feeds import lease_namespaces, read_keeper
from kymatui.sessions.cluster.cluster_access import open_cluster, require_namespace
from kymatui.sessions.cluster.session_options import SessionOptions
from kymatui.sessions.control_plane.runtime_completion import save_runtime_names
from kymatui.sessions.feeds.feeds import KYMA_KINDS, OPERATOR, WatchedKind, raise_gc_thresholds


def read_fleet(options: SessionOptions, *, labels: str = "") -> tuple[str, Fleet, tuple[str, ...]]:
    """Return the context's name, the fleet, and messages about what is unreadable.

    Raises what a list of Kymas raises, and UnknownNameError for a namespace that does not exist. `options.namespace` ""
    means all namespaces; `labels` is a selector, which the server applies.
    """
    raise_gc_thresholds()
    cluster = open_cluster(options)
    client = cluster.client
    notes = []
    unknown: UnknownFact | None = None
    kymas = list_kind(client, KYMA_KINDS[0], options.namespace, labels=labels)
    if options.namespace and not kymas:
        require_namespace(cluster, options.namespace)
    try:
        metas = list_kind(client, KYMA_KINDS[2], options.namespace)
    except (ForbiddenError, NotFoundError) as error:
        metas = []
        forbidden = isinstance(error, ForbiddenError)
        unknown = UnknownFact(ListGap.FORBIDDEN if forbidden else ListGap.UNKNOWN, (KYMA_KINDS[2].feed,), str(error))
        notes.append(f"drift is unknown: {error}")
    if not labels and not options.namespace:
        save_runtime_names(client, [(ref.namespace, ref.name) for ref in map(read_ref, kymas)])
    fleet = build_fleet(kymas, metas, unknown)
    if fleet.runtimes:
        keepers = {runtime.keeper for runtime in fleet.runtimes}
        lease = read_keeper(client, keepers, lease_namespaces(runtime.ref.namespace for runtime in fleet.runtimes))
        fleet = replace(fleet, runtimes=tuple(with_lease(runtime, lease) for runtime in fleet.runtimes))
        notes += filter(None, (why_stopped(keeper, (), lease) for keeper in sorted(keepers)))
    return cluster.name, fleet, tuple(notes)


def fleet_picture(options: SessionOptions, cluster: str, fleet: Fleet, runtimes: Iterable[Runtime]) -> FleetSnapshot:
    """Return some runtimes of a fleet with their Manifests; where these cannot be listed, its feed says why."""
    now, tracker = time.time(), FleetTracker()
    feed = Feed(FeedState.LIVE, now)
    with closing(open_cluster(options)) as home:
        try:
            summaries = filter(None, map(read_summary, list_kind(home.client, KYMA_KINDS[3], options.namespace)))
            tracker.manifests({(summary.namespace, summary.name): summary for summary in summaries})
        except (ForbiddenError, NotFoundError) as error:
            feed = unread_feed(error)
    tracker.kymas({(runtime.ref.namespace, runtime.name): runtime for runtime in runtimes}, now, notice=False)
    picture = tracker.picture(cluster, {KYMA_KINDS[3].feed: feed}, now)
    return replace(picture, malformed=fleet.malformed)


def unread_feed(error: ClusterError) -> Feed:
    """Return the status of a list that failed."""
    state = {403: FeedState.FORBIDDEN, 404: FeedState.ABSENT}.get(error.status, FeedState.FAILED)
    return Feed.of_error(state, time.time(), error)


class FleetNames(Struct, frozen=True):
    """The modules and channels that a runtime or the catalog of a control plane has."""

    modules: frozenset[str]
    channels: frozenset[str]


def fleet_names(options: SessionOptions) -> FleetNames | None:
    """Return all names of a control plane, whichever of its runtimes are chosen; None where they are not known."""
    try:
        with closing(open_cluster(replace(options, namespace=""))) as home:
            kymas, templates, metas = (_listed(home.client, fixed) for fixed in KYMA_KINDS[:3])
    except ClusterError:
        return None
    runtimes = build_fleet(kymas).runtimes
    offered = [template for raw in templates if isinstance(template := read_template(raw), ModuleTemplate)]
    released = [meta for raw in metas if isinstance(meta := read_release_meta(raw), ReleaseMeta)]
    modules = {entry.module for entry in offered} | {entry.module for entry in released}
    modules |= {module.name for runtime in runtimes for module in runtime.modules}
    channels = {entry.channel for entry in offered} | {runtime.channel for runtime in runtimes}
    channels |= {channel for entry in released for channel in entry.channels}
    channels |= {module.channel for runtime in runtimes for module in runtime.modules}
    return FleetNames(frozenset(modules), frozenset(channels - {""}))


def _listed(client: Client, fixed: WatchedKind) -> list[dict[str, object]]:
    try:
        return list_kind(client, fixed)
    except NotFoundError:  # an older or newer lifecycle-manager has no such kind
        return []


def list_kind(
    client: Client, fixed: WatchedKind, namespace: str = "", *, labels: str = "", fields: str = ""
) -> list[dict[str, object]]:
    """List a kind in its first served version. Raise NotFoundError if none is served."""
    for version in fixed.versions:
        gvk = GroupVersionKind(fixed.group, version, fixed.kind)
        resource = client.discovery.find(gvk)
        if resource is not None:
            return client.list(resource, namespace, labels=labels, fields=fields).items
    raise NotFoundError(
        f"{client.transport.connection.context} does not serve {fixed.kind} of {OPERATOR}",
        hint="check that it is a control plane, or use another --context",
        status=404,
    )
