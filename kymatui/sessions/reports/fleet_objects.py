"""The objects of a fleet that decide about modules, from a control plane or a single cluster; no runtime is asked."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kymatui.domain.kubernetes.object_meta import read_ref
from kymatui.domain.whatif.fleet_objects import FleetObjects, build_fleet_objects
from kymatui.errors import InvalidError, NotFoundError, UsageError
from kymatui.sessions.cluster.cluster_access import open_cluster
from kymatui.sessions.cluster.controller_rules import read_controller_rules
from kymatui.sessions.cluster.namespace_check import require_namespace
from kymatui.sessions.control_plane.fleet_lists import list_kind
from kymatui.sessions.feeds.garbage_collector import raise_gc_thresholds
from kymatui.sessions.feeds.watched_kinds import KYMA_KINDS

if TYPE_CHECKING:
    from kymatui.sessions.cluster.session_options import SessionOptions

_KYMAS, _TEMPLATES, _METAS, _ = KYMA_KINDS


def read_fleet_objects(options: SessionOptions, labels: str, now: float) -> tuple[FleetObjects, tuple[str, ...]]:
    """Return the fleet, and in sentences what is to be known of lifecycle-manager's settings.

    `labels` is a selector of Kymas, which the server applies; `now` in seconds of the Unix clock. Raises what a list of
    Kymas or of the catalog raises: with a part of the catalog every forecast would be a guess.
    """
    raise_gc_thresholds()
    home = open_cluster(options)
    client = home.client
    try:
        try:
            kymas = list_kind(client, _KYMAS, options.namespace, labels=labels)
        except InvalidError as error:
            if not labels:
                raise
            raise UsageError(f"invalid selector {labels!r}: {error}") from error
        if options.namespace and not kymas:
            require_namespace(home, options.namespace)
        settings, notes = {}, list[str]()
        catalog: list[dict[str, object]] = []
        for namespace in sorted({read_ref(raw).namespace for raw in kymas}):
            settings[namespace], said = read_controller_rules(home, namespace, options)
            notes += said
            for kind in (_TEMPLATES, _METAS):
                try:
                    catalog += list_kind(client, kind, namespace)
                except NotFoundError:  # an older or newer lifecycle-manager has no such kind
                    continue
        return build_fleet_objects(home.name, kymas, catalog, settings, now), tuple(dict.fromkeys(notes))
    finally:
        client.transport.close()
