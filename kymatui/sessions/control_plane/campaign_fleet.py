"""The control plane of a campaign: one edit over many of its runtimes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from kymatui.adapters.files.job_journals import job_records
from kymatui.domain.kubernetes.refs import split_name
from kymatui.domain.kyma_edit.module_edit import ModuleEdit, edit_options
from kymatui.domain.plans.cluster_target import ClusterName
from kymatui.engine.cluster.ports import name_cluster
from kymatui.engine.jobs.job_records import of_cluster, unfinished_runtimes
from kymatui.errors import ConfigurationError, UnreachableError
from kymatui.sessions.cluster.cluster_access import read_cluster_target
from kymatui.sessions.cluster.session_options import RemoteOptions
from kymatui.sessions.control_plane.pair_session import PairSession
from kymatui.sessions.control_plane.shared_feeds import ControlPlane

if TYPE_CHECKING:
    from kymatui.actions.session import Session

_LISTED: Final = 10.0  # seconds until one runtime has to be listed
_CONTROL_LISTED: Final = 60.0  # seconds until the control plane has to be listed, with all its Kymas


def listed_fleet(options: RemoteOptions) -> Callable[[Sequence[str]], AbstractContextManager[CampaignFleet]]:
    """Return what lists the control plane of runtimes; raise ConfigurationError for a runtime's own kubeconfig."""
    if options.by_hand is not None:
        raise ConfigurationError("edits of several runtimes cannot use a runtime's own kubeconfig")
    return partial(_listed, replace(options, runtime=""))


@contextmanager
def _listed(options: RemoteOptions, runtimes: Sequence[str]) -> Iterator[CampaignFleet]:
    plane = ControlPlane(options.control, [split_name(name) for name in runtimes])
    try:
        plane.start(_CONTROL_LISTED)
        yield CampaignFleet(plane, options)
    finally:
        plane.close()


class CampaignFleet:
    """The control plane is listed once; each runtime is asked by itself, and closed again."""

    def __init__(self, plane: ControlPlane, options: RemoteOptions) -> None:
        self._plane, self._options = plane, options
        self.target = replace(read_cluster_target(plane.home.client), namespace=options.control.namespace)
        self.home = name_cluster(plane.home)

    has_contexts = False

    def name_runtime(self, runtime: str, session: Session) -> str:
        return runtime

    def begun(self, cluster: ClusterName, toggle: ModuleEdit) -> frozenset[str]:
        return begun_runtimes(cluster, toggle)

    def open(self, runtime: str, on_change: Callable[[], None]) -> PairSession:
        session = PairSession(self._plane.home, split_name(runtime), self._options, plane=self._plane)
        try:
            session.start(on_change)
            if not session.wait_complete(_LISTED):
                raise UnreachableError(f"{runtime} was not listed within {_LISTED:g} s")
            session.require_kyma()
        except BaseException:
            session.close()
            raise
        return session


def begun_runtimes(cluster: ClusterName, toggle: ModuleEdit) -> frozenset[str]:
    """Return the runtimes that an earlier run of the same edit began, and did not see to the end."""
    records = of_cluster(job_records(cluster.name), cluster)
    return unfinished_runtimes(records, toggle.verb.value, toggle.module, edit_options(toggle))
