"""Names of runtimes, and of what each offers, that a shell completes: kept as those of a cluster's modules are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

from kymatui.adapters.sessions.cluster.completion_cache import (
    CompletionNames,
    find_names,
    load_names,
    save_names,
    save_session_names,
)

if TYPE_CHECKING:
    from kymatui.adapters.kube.api.client import Client
    from kymatui.adapters.sessions.cluster.session_options import SessionOptions
    from kymatui.domain.fleet.fleet_tracker import RuntimeKey
    from kymatui.domain.remote.runtime_pair import RuntimePair

_ALL = "runtimes"


def save_runtime_names(home: Client, keys: Iterable[RuntimeKey]) -> None:
    """Keeps the names of all runtimes of a control plane; those that several namespaces have go with theirs."""
    connection = home.transport.connection
    known = sorted(keys)
    times = Counter(name for _, name in known)
    names = [name if times[name] == 1 else f"{namespace}/{name}" for namespace, name in known]
    if not connection.given:
        save_names((_ALL, connection.key), CompletionNames(dict.fromkeys(names, ())))


def save_pair_names(home: Client, pair: RuntimePair) -> None:
    """Keeps what a runtime offers, under its name, and what its control plane does."""
    connection = home.transport.connection
    if connection.given:
        return
    save_session_names(connection.key, pair.control)
    if pair.runtime is not None:
        save_session_names((pair.name, connection.key), pair.runtime)


def find_runtime_names(options: SessionOptions) -> tuple[str, ...]:
    """The runtimes of a control plane: those that are kept, or else of one that answers within a second.

    Raises KymatuiError where there is no usable kubeconfig, and what listing the Kymas raises.
    """
    from kymatui.adapters.sessions.cluster.cluster_access import open_cluster
    from kymatui.composition.sessions.pair_session import list_runtimes

    home = open_cluster(replace(options, read_only=True))
    try:
        place = (_ALL, home.client.transport.connection.key)
        known, young = load_names(place)
        if not young:
            save_runtime_names(home.client, list_runtimes(home))
            known, _ = load_names(place)
        return tuple(known.modules)
    finally:
        home.client.transport.close()


def find_module_names(options: SessionOptions, runtime: str) -> CompletionNames:
    """Names for a command about a runtime: its own where they are kept, else those of its control plane."""
    from kymatui.adapters.kube.auth.kubeconfig import read_kubeconfig

    config = read_kubeconfig(options.kubeconfig)
    if config is not None:
        known, _ = load_names((runtime.rpartition("/")[2], config.context(options.context).key))
        if known.modules:
            return known
    return find_names(options)
