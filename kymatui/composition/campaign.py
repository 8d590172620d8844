"""The control plane of a campaign: one edit over many of its runtimes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from kymatui.actions.edits.campaign import Campaign
from kymatui.adapters.files.job_journals import job_records
from kymatui.adapters.sessions.cluster.cluster_target import read_cluster_target
from kymatui.adapters.sessions.control_plane.pair_session import PairSession
from kymatui.adapters.sessions.control_plane.shared_feeds import ControlPlane
from kymatui.composition.session_ports import edits_of
from kymatui.domain.fleet.campaigns import CampaignPace
from kymatui.domain.kubernetes.refs import split_name
from kymatui.domain.kyma_edit.module_edit import edit_options
from kymatui.engine.jobs.job_records import of_cluster, unfinished_runtimes
from kymatui.errors import ConfigurationError, UnreachableError

if TYPE_CHECKING:
    from kymatui.actions.edits.cluster_edits import ClusterKymaEdits
    from kymatui.actions.edits.uninstall import UninstallConsent
    from kymatui.actions.session import Session
    from kymatui.adapters.sessions.cluster.session_options import RemoteOptions
    from kymatui.domain.kyma_edit.module_edit import ModuleEdit
    from kymatui.domain.plans.cluster_name import ClusterName
    from kymatui.engine.cluster.ports import Cluster

_LISTED: Final = 10.0  # seconds until one runtime has to be listed
_CONTROL_LISTED: Final = 60.0  # seconds until the control plane has to be listed, with all its Kymas


def open_campaign(
    options: RemoteOptions, toggle: ModuleEdit, pace: CampaignPace, consent: UninstallConsent | None = None
) -> Campaign:
    """Return one edit over many runtimes. Raise ConfigurationError where one runtime's cluster was named by hand."""
    if options.by_hand is not None:
        raise ConfigurationError("edits of several runtimes cannot use a runtime's own kubeconfig")
    return Campaign(partial(_listed, replace(options, runtime="")), toggle, pace, consent)


@contextmanager
def _listed(options: RemoteOptions, runtimes: Sequence[str]) -> Iterator[_Fleet]:
    plane = ControlPlane(options.control, [split_name(name) for name in runtimes])
    try:
        plane.start(_CONTROL_LISTED)
        yield _Fleet(plane, options)
    finally:
        plane.close()


class _Fleet:
    """The control plane is listed once; each runtime is asked by itself, and closed again."""

    def __init__(self, plane: ControlPlane, options: RemoteOptions) -> None:
        self._plane, self._options = plane, options
        self.target = replace(read_cluster_target(plane.home.client), namespace=options.control.namespace)
        self.cluster: Cluster = plane.home

    def begun(self, cluster: ClusterName, toggle: ModuleEdit) -> frozenset[str]:
        records = of_cluster(job_records(cluster.name), cluster)
        return unfinished_runtimes(records, toggle.verb.value, toggle.module, edit_options(toggle))

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

    def edits(self, session: Session) -> ClusterKymaEdits:
        return edits_of(session)
