"""The chains of Watchers for a command: of a control plane, with a runtime also their ends in it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kymatui.adapters.sessions.cluster.cluster_access import cluster_of, open_cluster
from kymatui.adapters.sessions.control_plane.pair_session import open_pair
from kymatui.adapters.sessions.control_plane.watcher_objects import read_control_side, read_runtime_side
from kymatui.domain.remote.watcher_chains import WatcherChain, build_chains

if TYPE_CHECKING:
    from kymatui.adapters.sessions.cluster.session_options import RemoteOptions


def read_chains(options: RemoteOptions, timeout: float) -> tuple[WatcherChain, ...]:
    """Return every Watcher's chain, with a runtime to its end. Raise what keeps a cluster from being reached."""
    if options.runtime or options.by_hand is not None:
        pair = open_pair(options)
        try:
            pair.start(lambda: None)
            pair.wait_connected(timeout)
            return build_chains(read_control_side(pair.home), read_runtime_side(cluster_of(pair.client)))
        finally:
            pair.close()
    home = open_cluster(options.control)
    try:
        return build_chains(read_control_side(home), None)
    finally:
        home.client.transport.close()
