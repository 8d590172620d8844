"""Names of runtimes, and of what each offers, that a shell completes: kept as those of a cluster's modules are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING

from kymatui.sessions.cluster.completion_cache import CompletionNames, load_names, save_names, save_session_names

if TYPE_CHECKING:
    from kymatui.adapters.kube.api.client import Client
    from kymatui.domain.fleet.fleet_tracker import RuntimeKey
    from kymatui.domain.remote.runtime_pair import RuntimePair

_ALL = "runtimes"


def save_runtime_names(home: Client, keys: Iterable[RuntimeKey]) -> None:
    """Keep the names of all runtimes of a control plane; those that several namespaces have go with theirs."""
    connection = home.transport.connection
    known = sorted(keys)
    times = Counter(name for _, name in known)
    names = [name if times[name] == 1 else f"{namespace}/{name}" for namespace, name in known]
    if not connection.from_secret:
        save_names((_ALL, connection.key), CompletionNames(dict.fromkeys(names, ())))


def load_runtime_names(home: Client) -> tuple[tuple[str, ...], bool]:
    """Return the saved names of a control plane's runtimes, and whether they are young enough to be offered."""
    known, young = load_names((_ALL, home.transport.connection.key))
    return tuple(known.modules), young


def save_pair_names(home: Client, pair: RuntimePair) -> None:
    """Keep what a runtime offers, under its name, and what its control plane does."""
    connection = home.transport.connection
    if connection.from_secret:
        return
    save_session_names(connection.key, pair.control)
    if pair.runtime is not None:
        save_session_names((pair.name, connection.key), pair.runtime)
