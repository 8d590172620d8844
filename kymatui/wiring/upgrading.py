"""What kymatui has installed, and the versions that are newer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from kymatui.domain.direct import choose, is_downgrade
from kymatui.domain.observing import observe
from kymatui.domain.versions import same
from kymatui.errors import ForbiddenError

if TYPE_CHECKING:
    from kymatui.domain.direct import Choice
    from kymatui.domain.shelves import Shelf
    from kymatui.domain.snapshots import Snapshot
    from kymatui.engine.inventories import Inventory
    from kymatui.engine.ports import Cluster


@dataclass(frozen=True, slots=True)
class Outdated:
    """One module that is installed directly in a lower version than the newest stable one of the catalog."""

    known: Inventory
    choice: Choice

    @property
    def name(self) -> str:
        return self.known.name

    @property
    def version(self) -> str:
        """The version that it would be upgraded to."""
        return self.choice.template.version


@dataclass(frozen=True, slots=True)
class LeftOut:
    """What is installed directly and not upgraded with the rest, with the reason and what upgrades it."""

    name: str
    namespace: str
    version: str
    reason: str


def left_out(cluster: Cluster, snapshot: Snapshot) -> tuple[LeftOut, ...]:
    """Everything that the catalog does not offer: which version of it is wanted only a person can say."""
    shelf = observe(snapshot).shelf
    offered = {(one.name, one.namespace) for one in everything_installed(cluster) if _offered(shelf, one)}
    found = (*everything_installed(cluster), *_releases(cluster))
    return tuple(
        LeftOut(one.name, one.namespace, one.version, _left_out_because(one))
        for one in found
        if (one.name, one.namespace) not in offered or one.chart
    )


def _offered(shelf: Shelf, known: Inventory) -> bool:
    choice = choose(shelf, known.name)
    return not isinstance(choice, str) and choice.namespace == known.namespace


def _releases(cluster: Cluster) -> tuple[Inventory, ...]:
    """The charts that kymatui installed; helm's own releases are helm's. Nobody need be allowed to list Secrets."""
    from kymatui.engine.inventories import KEY, read_document
    from kymatui.engine.keeping import secret_text
    from kymatui.engine.releases import SECRET

    try:
        secrets = cluster.list(SECRET, labels="owner=helm,status=deployed")
    except ForbiddenError:
        return ()
    texts = ((raw["metadata"]["name"], secret_text(raw, KEY)) for raw in secrets)
    return tuple(read_document(text, f"Secret {name}") for name, text in texts if text)


def _left_out_because(known: Inventory) -> str:
    came = known.origin.address or "nobody knows where"
    if known.chart:
        word = "--chart"
        what = "a chart has values and versions of its own"
    else:
        word = "--kustomize" if known.origin.kind == "kustomize" else "--file"
        what = "no catalog offers it"
    return f"{what}, and it came from {came}: `kymatui upgrade {known.name} {word} … -n {known.namespace}`"


def everything_installed(cluster: Cluster) -> tuple[Inventory, ...]:
    """All that kymatui keeps an inventory of, except charts: their source is named by a person."""
    from kymatui.engine.keeping import SetKeeper
    from kymatui.wiring.installing import inventories

    found = (SetKeeper(cluster, name, namespace).read() for namespace, name in inventories(cluster))
    return tuple(sorted((one for one in found if one is not None), key=lambda one: (one.name, one.namespace)))


def outdated(cluster: Cluster, snapshot: Snapshot) -> tuple[Outdated, ...]:
    """What could be upgraded; a module whose newer version cannot be installed directly is not among it."""
    shelf, found = observe(snapshot).shelf, []
    for known in everything_installed(cluster):
        choice = choose(shelf, known.name)
        if isinstance(choice, str) or same(known.version, choice.template.version):
            continue
        if not is_downgrade(known.version, choice.template.version) and choice.namespace == known.namespace:
            found.append(Outdated(known, choice))
    return tuple(found)
