"""A connection to one cluster, or to a runtime with its control plane: what use cases and front ends ask of it.

Three factories of `sessions` make one: a context, a runtime by its name for commands, and a runtime of a fleet
that is on the screen. Nothing asks a session which of them it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from kymatui.domain.fleet.fleet_tracker import RuntimeKey
    from kymatui.domain.kubernetes.refs import ObjectRef
    from kymatui.domain.plans.cluster_target import ClusterTarget
    from kymatui.domain.remote.runtime_pair import RuntimePair
    from kymatui.domain.remote.watcher_chains import WatcherChain
    from kymatui.domain.snapshot.snapshots import Feed, Object, Snapshot
    from kymatui.engine.cluster.ports import Cluster
    from kymatui.errors import KymatuiError


class ConnectionSource(Protocol):
    """What front ends ask of every connection: to a cluster, a runtime, a fleet of either."""

    @property
    def name(self) -> str:
        """Return the name for people: the context's, or the runtime's."""

    @property
    def title(self) -> str:
        """Return the name for plans, journals and backups if it differs from `name`, else ""."""

    @property
    def namespace(self) -> str: ...

    @property
    def read_only(self) -> bool: ...

    @property
    def traffic(self) -> tuple[int, int]:
        """Return the number of read requests sent, and of requests that can write."""

    @property
    def target(self) -> ClusterTarget:
        """Return the cluster that is written to, as plans and questions name it."""

    @property
    def home(self) -> Cluster:
        """Return the cluster with the Manifests, the labels and the operator."""

    def start(self, on_change: Callable[[], None]) -> None: ...

    def retry(self) -> None:
        """Ask again now for what failed."""

    def close(self) -> None: ...


class Session(ConnectionSource, Protocol):
    """One cluster with modules; `home` is the control plane of a runtime, else the same cluster."""

    @property
    def is_connected(self) -> bool:
        """Return whether the cluster with the modules was reached."""

    @property
    def failure(self) -> KymatuiError | None:
        """Return why the cluster cannot be asked now; None while it can, or while that is tried."""

    @property
    def kyma(self) -> RuntimeKey | None:
        """Return (namespace, name) of the Kyma on the control plane; None where there is one cluster."""

    @property
    def cluster(self) -> Cluster:
        """Return the cluster with the modules. Raise what keeps it from being reached."""

    @property
    def notes(self) -> Sequence[str]:
        """Return where lifecycle-manager's configuration was read, and what of it is not known."""

    @property
    def kymas(self) -> Sequence[Object]:
        """Return the Kymas that edits apply to."""

    @property
    def feeds(self) -> Mapping[str, Feed]: ...

    def snapshot(self) -> Snapshot:
        """Return everything that is known now; never wait for a server."""

    def pair(self) -> RuntimePair | None:
        """Return both sides of a runtime apart; None where there is one cluster."""

    def chains(self) -> tuple[WatcherChain, ...]:
        """Return every Watcher's chain to its end; () where there is one cluster. Ask both clusters."""

    def follow_events(self, refs: Iterable[ObjectRef]) -> None: ...

    def follow_owned(self, refs: Iterable[ObjectRef]) -> None: ...

    def read(self, ref: ObjectRef) -> Object:
        """Return one whole object, of a Secret its metadata alone. Raise the error of its server."""

    def wait_complete(self, timeout: float) -> bool:
        """Wait until every kind is listed or refused; return False if that takes longer."""

    def require_kyma(self) -> None:
        """Raise where nothing of Kyma can be displayed."""
