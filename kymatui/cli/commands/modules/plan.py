"""`kymatui plan NAME --out FILE` and `kymatui apply FILE`: a plan now, carried out later."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from msgspec.structs import replace

from kymatui.actions.modules.install import install_item, refuse_unfit_plan
from kymatui.actions.modules.install_plan import Adoption, plan_install, require_unmanaged
from kymatui.adapters.files.plan_files import read_plan, save_plan
from kymatui.cli.cluster_options import add_option
from kymatui.cli.commands.modules.install_run import apply_installs
from kymatui.cli.commands.modules.upgrade import recorded_source
from kymatui.cli.options.direct_install import add_intent, add_running, add_source, install_request, open_context
from kymatui.cli.output.install_results import print_plan
from kymatui.cli.output.printing import print_line, print_message
from kymatui.engine.apply import planner
from kymatui.engine.cluster.ports import cluster_identity
from kymatui.engine.jobs.run import SystemClock
from kymatui.errors import RefusedError

_UNIDENTIFIED = "the plan does not identify its cluster, so only the name of the context is compared"


class PlanCommand:
    """A plan as a file, for `kymatui apply`."""

    def configure(self, parser: argparse.ArgumentParser) -> None:
        add_option(parser, "name NAME", "name of the module or the release")
        add_option(
            parser, "--out FILE", "save the plan with all objects, including Secrets; JSON, or YAML for a .yaml file"
        )
        parser.set_defaults(creates_namespace=True)
        add_source(parser)
        add_intent(parser)
        add_running(parser)

    def run(self, args: argparse.Namespace) -> int:
        with open_context(args, once=True) as context:
            context.port.read_once()
            came = (
                recorded_source(context, args.name)
                if context.source.is_catalog
                else (context.source, context.namespace)
            )
            plan = plan_install(context.port, install_request(context, args.name, *came, Adoption.IF_PRESENT))
            if args.out:
                save_plan(Path(args.out), replace(plan, identity=cluster_identity(context.cluster)))
                print_line(f"plan saved in {args.out}; `kymatui apply {args.out}` applies it", sys.stderr)
            print_plan(context.target, plan, args.output)
            return RefusedError.exit_code if plan.blockers or plan.missing else 0


class ApplyCommand:
    """Carries out a plan from a file, unless the cluster has moved on."""

    def configure(self, parser: argparse.ArgumentParser) -> None:
        add_option(parser, "plan PLAN", "plan file written by `kymatui plan --out`")
        parser.set_defaults(creates_namespace=True)
        add_running(parser)

    def run(self, args: argparse.Namespace) -> int:
        with open_context(args, once=args.dry_run) as context:
            plan = read_plan(Path(args.plan))
            if not plan.identity:
                print_message(f"{_UNIDENTIFIED}")
            if getattr(args, "resumed_job", None):  # the cluster is no longer as the plan displayed it
                plan = planner.plan(plan.intent, context.cluster, SystemClock())
            elif args.dry_run:  # the run compares when it begins
                refuse_unfit_plan(context.port, plan)
            require_unmanaged(
                context.port, plan.bundle.name, direct=True
            )  # who made the plan has insisted, or need not
            return apply_installs(context, plan.verb, [install_item(plan.bundle.name, plan)], kind="apply")


PLAN, APPLY = PlanCommand(), ApplyCommand()
