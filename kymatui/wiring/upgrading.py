"""What kymatui has installed, and the versions that are newer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from kymatui.domain.direct import choose, is_downgrade
from kymatui.domain.observing import observe
from kymatui.domain.versions import same

if TYPE_CHECKING:
    from kymatui.domain.direct import Choice
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
