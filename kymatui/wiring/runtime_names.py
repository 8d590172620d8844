"""Names of runtimes, and of what each offers, that a shell completes: kept as those of a cluster's modules are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

from kymatui.wiring.names import Names, find_names, recall, remember, remember_session

if TYPE_CHECKING:
    from kymatui.adapters.kube.client import Client
    from kymatui.domain.fleet_pictures import Key
    from kymatui.domain.pairs.pair import Pair
    from kymatui.wiring.options import SessionOptions

_ALL = "runtimes"


def remember_runtimes(home: Client, keys: Iterable[Key]) -> None:
    """Keeps the names of all runtimes of a control plane; those that several namespaces have go with theirs."""
    connection = home.transport.connection
    known = sorted(keys)
    times = Counter(name for _, name in known)
    names = [name if times[name] == 1 else f"{namespace}/{name}" for namespace, name in known]
    if not connection.given:
        remember((_ALL, connection.key), Names(dict.fromkeys(names, ())))


def remember_pair(home: Client, pair: Pair) -> None:
    """Keeps what a runtime offers, under its name, and what its control plane does."""
    connection = home.transport.connection
    if connection.given:
        return
    remember_session(connection.key, pair.control)
    if pair.runtime is not None:
        remember_session((pair.name, connection.key), pair.runtime)


def find_runtimes(options: SessionOptions) -> tuple[str, ...]:
    """The runtimes of a control plane: those that are kept, or else of one that answers within a second.

    Raises KymatuiError where there is no usable kubeconfig, and what listing the Kymas raises.
    """
    from kymatui.wiring.engine import open_cluster
    from kymatui.wiring.pairs import runtimes_of

    home = open_cluster(replace(options, read_only=True))
    try:
        place = (_ALL, home.client.transport.connection.key)
        known, young = recall(place)
        if not young:
            remember_runtimes(home.client, runtimes_of(home))
            known, _ = recall(place)
        return tuple(known.modules)
    finally:
        home.client.transport.close()


def find_names_of(options: SessionOptions, runtime: str) -> Names:
    """Names for a command about a runtime: its own where they are kept, else those of its control plane."""
    from kymatui.adapters.kube.kubeconfig import read_kubeconfig

    config = read_kubeconfig(options.kubeconfig)
    if config is not None:
        known, _ = recall((runtime.rpartition("/")[2], config.context(options.context).key))
        if known.modules:
            return known
    return find_names(options)
