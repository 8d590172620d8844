"""Names of a command line that nothing has: one error, one exit status, and what is near."""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from kymatui.actions.unknown_names import unknown_module
from kymatui.domain.kyma.kymas import OWN_CHANNEL
from kymatui.domain.kyma.states import State
from kymatui.errors import NotFoundError, UnknownNameError, UsageError
from kymatui.patterns import deferred

_VERSION: Final = deferred(r"v?\d+\.\d+(\.\d+)?([-+].*)?")

if TYPE_CHECKING:
    from kymatui.actions.session import Session
    from kymatui.domain.catalog.rows import ModuleRow
    from kymatui.domain.fleet.runtimes import Fleet
    from kymatui.engine.cluster.ports import Cluster
    from kymatui.sessions.cluster.session_options import SessionOptions


def require_known(session: Session, names: Sequence[str], channel: str | None) -> None:
    """Raise UnknownNameError for a module or a channel that nothing has; while lists are missing it is not known."""
    from kymatui.domain.catalog.catalog import build_catalog
    from kymatui.domain.plans.direct_install import unknown_lists

    snapshot = session.snapshot()
    if any(unknown_lists(snapshot.feeds)):
        return
    catalog = build_catalog(snapshot, time.time())
    for name in names:
        if catalog.row(name) is None:
            raise unknown_module(catalog, name)
    if channel and channel not in (OWN_CHANNEL, *catalog.channels):
        raise _unknown_channel(channel, catalog.channels, f"in {catalog.cluster}")


def no_manager(row: ModuleRow, cluster: str, others: str = "") -> NotFoundError:
    """Return the error of a module without a manager; `others` is the hint where it has other objects."""
    hint = others or f"`kymatui module {row.name}` prints whether it is installed"
    return NotFoundError(f"{row.name} has no manager in cluster {cluster}", hint=hint)


def refuse_versions(names: Sequence[str], hint: str) -> None:
    """Raise UsageError for a version among names of modules; NAME and VERSION in `hint` are replaced."""
    for index, name in enumerate(names):
        if _VERSION.fullmatch(name):
            module = names[index - 1] if index else "NAME"
            advice = hint.replace("NAME", module).replace("VERSION", name)
            raise UsageError(f'"{name}" is a version, not a module', hint=advice)


def require_states(states: Sequence[str], fleet: Fleet) -> None:
    """Raise UnknownNameError for a state that no Kyma can have and no runtime has."""
    known = {*(state.value for state in State if state is not State.NOT_INSTALLED), *fleet.count("state")}
    for name in states:
        if name.lower() not in {state.lower() for state in known}:
            raise UnknownNameError.near("state", name, known, hint=f"states: {', '.join(sorted(known))}")


def require_plan_and_region(plan: str | None, region: str | None, cluster: str, fleet: Fleet) -> None:
    """Raise UnknownNameError for a plan or region that no runtime of a whole control plane has."""
    plans, regions = (
        {value for runtime in fleet.runtimes if (value := getattr(runtime, of))} for of in ("plan", "region")
    )
    for what, name, known in (("plan", plan, plans), ("region", region, regions)):
        if name and known and name not in known:
            where, hint = f"in the control plane {cluster}", f"{what}s: {', '.join(sorted(known))}"
            raise UnknownNameError.near(what, name, known, where=where, hint=hint)


def require_in_fleet(control: SessionOptions, modules: Sequence[str], channels: Sequence[str]) -> None:
    """Raise UnknownNameError for a module or a channel that no runtime and no catalog of a control plane has.

    To be asked only where a name chose nothing: it lists the whole control plane.
    """
    from kymatui.sessions.cluster.cluster_access import context_name
    from kymatui.sessions.control_plane.fleet_lists import fleet_names

    known = fleet_names(control) if [*modules, *channels] else None
    if known is None:
        return
    where = f"in the control plane {context_name(control)}"
    for name in modules:
        if name not in known.modules:
            hint = "`kymatui matrix` lists the modules of the fleet"
            raise UnknownNameError.near("module", name, known.modules, where=where, hint=hint)
    for channel in channels:
        if channel not in known.channels:
            raise _unknown_channel(channel, sorted(known.channels), where)


def _unknown_channel(channel: str, known: Sequence[str], where: str) -> UnknownNameError:
    return UnknownNameError.near("channel", channel, known, where=where, hint=f"channels: {', '.join(known)}")


def require_namespace(cluster: Cluster, args: argparse.Namespace) -> None:
    """Raise UnknownNameError where --namespace names none of the cluster; what may not be read is not known."""
    from kymatui.sessions.cluster.cluster_access import require_namespace as require

    if name := getattr(args, "namespace", None):
        require(cluster, name)
