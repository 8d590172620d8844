"""One runtime with its control plane, for commands: found by name, looked at once (or again and again), let go of."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from kymatui.adapters.kube.objects.api_resource import ApiResource
from kymatui.adapters.kube.watch.kube_cluster import KubeCluster
from kymatui.adapters.kube.watch.projections import MetadataOnly
from kymatui.domain.fleet.fleet_tracker import RuntimeKey
from kymatui.domain.kubernetes.object_meta import read_ref
from kymatui.domain.kubernetes.refs import GroupVersionKind
from kymatui.domain.kyma.maintenance_windows import ControllerSettings
from kymatui.domain.remote.runtime_pair import RuntimePair
from kymatui.domain.snapshot.snapshots import Snapshot
from kymatui.engine.cluster.logins import WaitLimit
from kymatui.errors import NotFoundError, UnknownNameError, UnreachableError, UsageError
from kymatui.sessions.cluster.cluster_access import open_cluster, require_namespace
from kymatui.sessions.cluster.controller_rules import read_controller_rules
from kymatui.sessions.cluster.session_options import RemoteOptions
from kymatui.sessions.control_plane.runtime_clients import CONNECT_SECONDS, owner_kyma
from kymatui.sessions.control_plane.runtime_completion import save_pair_names
from kymatui.sessions.control_plane.runtime_session import LOOK, RuntimeSession
from kymatui.sessions.feeds.feeds import KYMA_KINDS

if TYPE_CHECKING:
    from kymatui.sessions.control_plane.shared_feeds import ControlPlane

_KYMAS: Final = KYMA_KINDS[0]
_NAMES: Final = ("kyma-project.io/shoot-name", "kyma-project.io/runtime-id")


def kyma_resource(home: KubeCluster) -> ApiResource:
    """Return the kind of Kymas in a cluster. Raise NotFoundError if it is no control plane."""
    for version in _KYMAS.versions:
        resource = home.client.discovery.find(GroupVersionKind(_KYMAS.group, version, _KYMAS.kind))
        if resource is not None:
            return resource
    raise NotFoundError(
        f"cluster {home.name!r} does not serve Kymas",
        hint="check that it is a control plane, or use another --kcp-context",
        status=404,
    )


def list_runtimes(home: KubeCluster, namespace: str = "") -> list[RuntimeKey]:
    """Return all runtimes of a control plane, from their Kymas."""
    items = home.client.list(kyma_resource(home), namespace, decode=MetadataOnly).items
    return [(ref.namespace, ref.name) for ref in map(read_ref, items)]


def find_runtime(home: KubeCluster, name: str, namespace: str = "") -> RuntimeKey:
    """Find a Kyma by name, `namespace/name`, shoot or runtime id. Raise UsageError with similar names."""
    resource = kyma_resource(home)
    within, _, last = name.rpartition("/")
    items = home.client.list(resource, within or namespace, fields=f"metadata.name={last}", decode=MetadataOnly).items
    for label in () if items or not last else _NAMES:
        items = (
            items
            or home.client.list(resource, within or namespace, labels=f"{label}={last}", decode=MetadataOnly).items
        )
    keys = [(ref.namespace, ref.name) for ref in map(read_ref, items)]
    if len(keys) == 1:
        return keys[0]
    if keys:
        several = ", ".join("/".join(key) for key in keys)
        raise UsageError(f"several runtimes are named {name!r}: {several}", hint="write NAMESPACE/NAME")
    if within or namespace:
        require_namespace(home, within or namespace)
    known = [known_name for _, known_name in list_runtimes(home, namespace)]
    where = f"in the control plane {home.name}"
    raise UnknownNameError.near("runtime", name, known, where=where, hint="`kymatui fleet` lists the runtimes")


def open_pair(options: RemoteOptions) -> PairSession:
    """Return the runtime of `options.runtime`; without a name, that which the cluster named by hand belongs to.

    Raises what reading the configuration and finding the runtime raise.
    """
    home = open_cluster(options.control)
    try:
        name = options.runtime
        if not name and options.by_hand is not None:
            with closing(open_cluster(options.by_hand)) as by_hand:
                name = owner_kyma(by_hand.client)
        if not name:
            raise UsageError("no runtime named", hint="`kymatui fleet` lists the runtimes")
        return PairSession(home, find_runtime(home, name, options.control.namespace), options)
    except BaseException:
        home.close()
        raise


class PairSession(RuntimeSession):
    """Both sides of one runtime for commands: one thread waits until they are listed."""

    def __init__(
        self,
        home: KubeCluster,
        key: RuntimeKey,
        options: RemoteOptions,
        connect_timeout: float = CONNECT_SECONDS,
        plane: ControlPlane | None = None,
    ) -> None:
        super().__init__(
            home, key, options.control, by_hand=options.by_hand, connect_timeout=connect_timeout, plane=plane
        )
        self._plane = plane
        self._rules: ControllerSettings | None = None
        self._rule_notes: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """Return the runtime's name."""
        return self.kyma[1]

    @property
    def notes(self) -> tuple[str, ...]:
        return self._rule_notes

    def wait_connected(self, timeout: float) -> None:
        """Wait until the runtime is connected. Raise what prevents it, and UnreachableError if that takes longer."""
        limit = WaitLimit(timeout)
        while self.inner is None:
            self._changed.clear()
            if self.failure is not None:
                raise self.failure
            if (rest := limit.remaining) <= 0:
                raise UnreachableError(f"{self.name} was not connected within {timeout:g} s")
            self._changed.wait(min(rest, LOOK))

    def wait_complete(self, timeout: float) -> bool:
        limit = WaitLimit(timeout)
        if self._rules is None:
            self._rules, self._rule_notes = self._read_rules()
        is_complete = super().wait_complete(max(limit.remaining, 0.0))
        self._control.look_at_keeper()
        return is_complete

    def _read_rules(self) -> tuple[ControllerSettings, tuple[str, ...]]:
        if self._plane is not None:
            return self._plane.rules(self.kyma[0]), ()
        return read_controller_rules(self.home, self.kyma[0], self._options)

    def pair(self) -> RuntimePair:
        """Return both sides separately, with the known configuration of lifecycle-manager."""
        pair = super().pair()
        return replace(pair, control=replace(pair.control, rules=self._rules or pair.control.rules))

    def snapshot(self) -> Snapshot:
        """Return both sides as one snapshot."""
        snapshot = super().snapshot()
        return replace(snapshot, rules=self._rules or snapshot.rules)

    @property
    def traffic(self) -> tuple[int, int]:
        """Return the number of read requests sent to both sides, and of requests that can write."""
        (reads, writes), (home_reads, home_writes) = super().traffic, self.home.client.transport.traffic
        return reads + home_reads, writes + home_writes

    def close(self) -> None:
        """Release both sides; the known names are kept for shells to complete."""
        if self._plane is None:
            save_pair_names(self.home.client, super().pair())
        super().close()
        if self._plane is None:
            self.home.close()
