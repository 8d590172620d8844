"""`kymatui operator handover`: what lifecycle-manager wrote becomes the operator's, or the reverse."""

from __future__ import annotations

import argparse
import sys
import threading
import time
from collections.abc import Sequence

from msgspec.structs import replace

from kymatui.cli.cluster_options import add_cluster_options, add_option, add_output
from kymatui.cli.options.editing import confirm
from kymatui.cli.options.unknown_names import require_namespace
from kymatui.cli.output.plan_changes import plan_document, plan_text
from kymatui.cli.output.printing import print_line, print_text, table
from kymatui.cli.session_arguments import session_options_of
from kymatui.domain.kubernetes.terminal_text import format_count
from kymatui.domain.kyma.problems import Actor
from kymatui.errors import PartlyDoneError
from kymatui.operator.installation.handover import ClusterHandover, ControllerHandover
from kymatui.operator.program import CONTROL_PLANE_NAMESPACE
from kymatui.sessions.cluster.cluster_access import open_cluster, read_cluster_target
from kymatui.sessions.control_plane.runtime_clients import SecretRuntimes

_NEXT = {
    Actor.OPERATOR: "start the operator with `kymatui operator install` or `kymatui operator run`",
    Actor.KLM: "scale the Deployment of lifecycle-manager to 1",
}


def configure_handover(parser: argparse.ArgumentParser) -> None:
    direction = parser.add_mutually_exclusive_group(required=True)
    for name, text in (("--from", "give the operator what it wrote"), ("--to", "give it what the operator wrote")):
        help_text = f"the other controller: {text}"
        add_option(direction, name, help_text, choices=(Actor.KLM.value,), dest=name.replace("--", "handover_"))
    add_option(parser, "--dry-run", "print the plan, change nothing")
    add_option(parser, "--yes -y", "skip the confirmation")
    add_output(parser, ("table", "json", "yaml"))
    add_cluster_options(parser)


def hand_over(args: argparse.Namespace) -> int:
    """Hand the control plane over. Return the exit status."""
    to, giver = (Actor.KLM, Actor.OPERATOR) if args.handover_to else (Actor.OPERATOR, Actor.KLM)
    home = open_cluster(session_options_of(args)[0])
    require_namespace(home, args)
    namespace = args.namespace or CONTROL_PLANE_NAMESPACE
    handover = ControllerHandover(home, namespace, to, SecretRuntimes(home), threading.Event())
    handover.require_stopped(time.time())
    planned = handover.plan()
    target = replace(read_cluster_target(home.client), namespace=namespace)
    failed = [item for item in planned if item.error is not None]
    count = sum(len(item.refs) for item in planned)
    if count:
        summary = f"Of {format_count(count, 'object')}, fields of {giver.value} become {to.value}'s; no value changes"
        plan = plan_text(target, summary, _table(planned), "table")
        print_text(plan, sys.stdout if args.dry_run and args.output == "table" else sys.stderr)
    outcome = "planned" if args.dry_run and count else "unchanged"
    if count and not args.dry_run:
        confirm(target, f"Hand over to {to.value}", yes=args.yes)
        failed += handover.carry_out([item for item in planned if item.refs])
        outcome = "incomplete" if failed else "done"
    if args.output != "table":
        document = {"clusters": [_json(item) for item in planned], "outcome": outcome}
        print_text(plan_document(target, document, args.output))
    if failed:
        names = ", ".join(item.kyma or "the control plane" for item in failed)
        raise PartlyDoneError(f"not handed over: {names}: {failed[0].error}", hint="run the same command again")
    result = {
        "done": f"{format_count(count, 'object')} handed over; {_NEXT[to]}",
        "unchanged": f"nothing has fields of {giver.value}; no changes made",
    }
    if outcome in result:
        print_line(result[outcome], sys.stdout if args.output == "table" else sys.stderr)
    return 0


def _table(planned: Sequence[ClusterHandover]) -> str:
    rows = [
        [item.kyma or "control plane", f"unknown: {item.error}" if item.error is not None else str(len(item.refs))]
        for item in planned
    ]
    return table(["CLUSTER", "OBJECTS"], rows)


def _json(item: ClusterHandover) -> dict[str, object]:
    error = {"error": str(item.error)} if item.error is not None else {}
    return {"kyma": item.kyma, "objects": [str(ref) for ref in item.refs], **error}
