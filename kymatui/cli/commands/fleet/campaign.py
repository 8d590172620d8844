"""The options of `kymatui enable|disable|… MODULE --fleet` and `--contexts`: one edit of many runtimes or contexts."""

from __future__ import annotations

import argparse
from typing import Final

from kymatui.cli.cluster_options import add_contexts, add_option, add_options, uses_contexts
from kymatui.cli.options.fleet_filters import FILTERS, add_fleet_filters
from kymatui.errors import UsageError


def add_fleet_options(parser: argparse.ArgumentParser) -> None:
    """Add `--fleet` and `--contexts` with what chooses runtimes, and at which pace they are edited."""
    group = parser.add_argument_group("edit several runtimes of a control plane, or several contexts")
    add_contexts(group, "edit the clusters of these contexts of the kubeconfig")
    add_option(group, "--fleet", "edit all runtimes that the options below select")
    add_fleet_filters(group, has_channel="--channel" in parser._option_string_actions)
    add_pace(group)


def add_pace(group: argparse._ActionsContainer) -> None:
    """Add the consent to change several clusters, and at which pace."""
    add_options(group, {"--allow-fleet-writes": "allow changes; without it, only the plan is displayed"})
    add_option(group, "--canaries N", "number to change first, one by one (default: 1)", type=int, default=1)
    add_option(
        group, "--at-once N", "number to change in parallel after the canaries (default: 4)", type=int, default=4
    )


_WITHOUT_FLEET: Final = {"selector": "", "drifting": False, "allow_fleet_writes": False, "canaries": 1, "at_once": 4}
_SELECTING: Final = dict.fromkeys((*FILTERS, *_WITHOUT_FLEET))


def refuse_pace(args: argparse.Namespace) -> None:
    """Raise UsageError for an option of `add_pace` without `--contexts`."""
    for name in () if uses_contexts(args) else ("allow_fleet_writes", "canaries", "at_once"):
        if getattr(args, name, _WITHOUT_FLEET[name]) != _WITHOUT_FLEET[name]:
            raise UsageError(f"--{name.replace('_', '-')} needs --contexts")


def refuse_fleet_options(args: argparse.Namespace) -> None:
    """Raise UsageError for an option that selects runtimes where `--fleet` is missing: it would edit another Kyma."""
    for name in () if args.fleet else FILTERS if uses_contexts(args) else _SELECTING:
        if getattr(args, name) != _WITHOUT_FLEET.get(name):
            option = f"--{name.replace('_', '-')}"
            raise UsageError(f"{option} needs --fleet", hint="add --fleet, or name one runtime with --remote")
