"""What a control plane says of its runtimes: maintenance windows and watchers; no runtime is asked."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import closing

from msgspec.structs import replace

from kymatui.adapters.kube.watch.kube_cluster import KubeCluster
from kymatui.domain.fleet.maintenance import Maintenance, pending_first, runtime_maintenance
from kymatui.domain.kyma.kymas import Kyma, as_requested, read_kyma
from kymatui.domain.kyma.maintenance_windows import ControllerSettings
from kymatui.domain.kyma.template_index import TemplateIndex, index_templates
from kymatui.domain.remote.watcher_chains import WatcherChain, build_chains
from kymatui.domain.snapshot.missing_lists import ListGap, UnknownFact
from kymatui.errors import ForbiddenError, NotFoundError
from kymatui.sessions.cluster.cluster_access import open_cluster, require_namespace
from kymatui.sessions.cluster.controller_rules import read_controller_rules
from kymatui.sessions.cluster.session_options import RemoteOptions, SessionOptions
from kymatui.sessions.control_plane.fleet_lists import list_kind
from kymatui.sessions.control_plane.pair_session import find_runtime, open_pair
from kymatui.sessions.control_plane.watcher_objects import read_control_side
from kymatui.sessions.feeds.feeds import KYMA_KINDS, WatchedKind, raise_gc_thresholds

_KYMAS, _TEMPLATES, _METAS, _ = KYMA_KINDS


def read_maintenance(
    options: RemoteOptions, policy: str, now: float
) -> tuple[tuple[Maintenance, ...], tuple[str, ...]]:
    """Return every runtime, or the one that is named, and what is to be known of the policy, in sentences.

    `policy` is a file that wins over what is configured; `now` in seconds of the Unix clock.
    """
    raise_gc_thresholds()
    control = replace(options.control, maintenance_policy=policy) if policy else options.control
    with closing(open_cluster(control)) as home:
        kymas = _kymas(home, control, options.runtime)
        if control.namespace and not kymas:
            require_namespace(home, control.namespace)
        rules: dict[str, ControllerSettings] = {}
        shelves: dict[str, TemplateIndex] = {}
        unknown: dict[str, UnknownFact | None] = {}
        notes: list[str] = []
        for namespace in sorted({kyma.meta.namespace for kyma in kymas}):
            rules[namespace], rule_notes = read_controller_rules(home, namespace, control)
            notes += rule_notes
            (templates, why), (metas, also) = (_listed(home, fixed, namespace) for fixed in (_TEMPLATES, _METAS))
            shelves[namespace], unknown[namespace] = index_templates(templates, metas, namespace), why or also
        maintenances = (
            runtime_maintenance(
                k, shelves[control_namespace], rules[control_namespace], now, unknown[control_namespace]
            )
            for k in kymas
            for control_namespace in (k.meta.namespace,)
        )
        return tuple(pending_first(maintenances)), tuple(dict.fromkeys(notes))


def _kymas(home: KubeCluster, control: SessionOptions, runtime: str) -> list[Kyma]:
    if not runtime:
        raws: Iterable[object] = list_kind(home.client, _KYMAS, control.namespace)
    else:
        namespace, name = find_runtime(home, runtime, control.namespace)
        raws = list_kind(home.client, _KYMAS, namespace, fields=f"metadata.name={name}")
    return [as_requested(kyma) for kyma in map(read_kyma, raws) if isinstance(kyma, Kyma)]


def _listed(
    home: KubeCluster, fixed: WatchedKind, namespace: str
) -> tuple[list[dict[str, object]], UnknownFact | None]:
    """List the objects, or return why they are unknown; an unserved kind has none."""
    try:
        return list_kind(home.client, fixed, namespace), None
    except NotFoundError:
        return [], None
    except ForbiddenError as error:
        return [], UnknownFact(ListGap.FORBIDDEN, (fixed.feed,), str(error))


def read_chains(options: RemoteOptions, timeout: float) -> tuple[WatcherChain, ...]:
    """Return every Watcher's chain, with a runtime to its end. Raise what keeps a cluster from being reached."""
    if options.runtime or options.by_hand is not None:
        with closing(open_pair(options)) as pair:
            pair.start(lambda: None)
            pair.wait_connected(timeout)
            return pair.chains()
    with closing(open_cluster(options.control)) as home:
        if options.control.namespace:
            require_namespace(home, options.control.namespace)
        return build_chains(read_control_side(home), None)
