"""The chains of Watchers for a command: of a control plane, with a runtime also their ends in it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kymatui.domain.remote.watcher_chains import WatcherChain, build_chains
from kymatui.sessions.cluster.cluster_access import open_cluster, require_namespace
from kymatui.sessions.control_plane.pair_session import open_pair
from kymatui.sessions.control_plane.watcher_objects import read_control_side

if TYPE_CHECKING:
    from kymatui.sessions.cluster.session_options import RemoteOptions


def read_chains(options: RemoteOptions, timeout: float) -> tuple[WatcherChain, ...]:
    """Return every Watcher's chain, with a runtime to its end. Raise what keeps a cluster from being reached."""
    if options.runtime or options.by_hand is not None:
        pair = open_pair(options)
        try:
            pair.start(lambda: None)
            pair.wait_connected(timeout)
            return pair.chains()
        finally:
            pair.close()
    home = open_cluster(options.control)
    try:
        if options.control.namespace:
            require_namespace(home, options.control.namespace)
        return build_chains(read_control_side(home), None)
    finally:
        home.client.transport.close()
