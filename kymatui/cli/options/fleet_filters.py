"""The options that select runtimes of a control plane, the same in lists and in edits of several runtimes."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from kymatui.cli.cluster_options import add_option, add_options
from kymatui.cli.options.unknown_names import require_in_fleet, require_plan_and_region, require_states
from kymatui.errors import InvalidError, KymatuiError, UnknownNameError, UsageError

if TYPE_CHECKING:
    from kymatui.domain.fleet.runtimes import Fleet, Runtime
    from kymatui.sessions.cluster.session_options import SessionOptions

FILTERS: Final = ("runtime", "selector", "plan", "region", "state", "in_channel", "module", "drifting")
"""The names of the options in the parsed arguments."""


def add_fleet_filters(group: argparse._ActionsContainer, *, has_channel: bool = False) -> None:
    """Add the filters, with their other names hidden; `has_channel` if the command has another option --channel."""
    add_options(group, {"--runtime NAME…": "only this runtime: Kyma name, shoot or runtime ID; repeatable"})
    add_option(group, "-l --selector SELECTOR", "only Kymas with these labels", default="")
    add_option(group, "--plan PLAN", "only runtimes of this plan")
    add_option(group, "--region REGION", "only runtimes in this region")
    add_option(group, "--state STATE…", "only runtimes in this state; repeatable", default=None)
    add_option(group, "--in-channel CHANNEL", "only runtimes in this channel")
    add_option(group, "--module NAME[@VERSION]", "only runtimes that have this module")
    add_option(group, "--having NAME[@VERSION]", argparse.SUPPRESS, dest="module")
    if not has_channel:
        add_option(group, "--channel CHANNEL", argparse.SUPPRESS, dest="in_channel")
    add_options(group, {"--drifting": "only runtimes with a module whose version differs from its channel"})


def read_selected_fleet(options: SessionOptions, selector: str) -> tuple[str, Fleet, tuple[str, ...]]:
    """Read the fleet that the server selects, as `read_fleet`. Raise UsageError for a selector that it refuses."""
    from kymatui.sessions.control_plane.fleet_lists import read_fleet

    try:
        return read_fleet(options, labels=selector)
    except InvalidError as error:
        if not selector:
            raise
        hint = "use key=value, key!=value, key, !key or key in (a, b), joined by commas"
        raise UsageError(f"invalid selector {selector!r}: {error}", hint=hint) from error


def require_drift(fleet: Fleet, args: argparse.Namespace) -> None:
    """Raise KymatuiError where runtimes are to be chosen by a drift that is not known."""
    if args.drifting and fleet.unknown_drift is not None:
        raise KymatuiError(f"drift is unknown: {fleet.unknown_drift.reason}", hint="run the command without --drifting")


def choose(fleet: Fleet, control: SessionOptions, args: argparse.Namespace) -> list[Runtime]:
    """Return the runtimes that the words choose; raise UnknownNameError where a name chose none and nothing has it."""
    runtimes = choose_listed(fleet, args)
    if not runtimes:
        if args.plan or args.region:
            cluster, full_fleet, _ = read_selected_fleet(replace(control, namespace=""), "")
            require_plan_and_region(args.plan, args.region, cluster, full_fleet)
        modules = [args.module.partition("@")[0]] if args.module else []
        require_in_fleet(control, modules, [args.in_channel] if args.in_channel else [])
    return runtimes


def choose_listed(fleet: Fleet, args: argparse.Namespace) -> list[Runtime]:
    """Return the runtimes that the words choose, and none where no runtime matches; asks no server.

    Raises UnknownNameError for a state or a runtime that does not exist.
    """
    require_states(args.state or (), fleet)
    _require_runtimes(fleet, args.runtime or ())
    return [runtime for runtime in fleet.runtimes if is_chosen(runtime, args)]


def is_chosen(runtime: Runtime, args: argparse.Namespace) -> bool:
    """Return whether the filters choose it."""
    if args.runtime and not any(_is_named(runtime, name) for name in args.runtime):
        return False
    if args.state and runtime.state.lower() not in [state.lower() for state in args.state]:
        return False
    pairs = ((args.in_channel, runtime.channel), (args.plan, runtime.plan), (args.region, runtime.region))
    if any(expected and expected != actual for expected, actual in pairs):
        return False
    if args.drifting and not runtime.drifting:
        return False
    return _has_module(runtime, args.module)


def _has_module(runtime: Runtime, module_text: str | None) -> bool:
    from kymatui.domain.kyma.versions import same_version

    if not module_text:
        return True
    name, _, version = module_text.partition("@")
    module = runtime.module(name)
    return module is not None and (not version or same_version(module.version, version))


def _is_named(runtime: Runtime, name: str) -> bool:
    """Return whether a name is that of the Kyma, `namespace/name`, the shoot or the runtime id, as for --remote."""
    return name in (runtime.name, runtime.ref.path, runtime.shoot, runtime.runtime_id)


def _require_runtimes(fleet: Fleet, names: Sequence[str]) -> None:
    """Raise UnknownNameError for a runtime that the control plane does not have, or that the selector leaves out."""
    for name in names:
        if not any(_is_named(runtime, name) for runtime in fleet.runtimes):
            known = {
                known_name for runtime in fleet.runtimes for known_name in (runtime.name, runtime.shoot) if known_name
            }
            raise UnknownNameError.near("runtime", name, known, hint="`kymatui fleet` lists the runtimes")
