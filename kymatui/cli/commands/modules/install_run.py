"""Installations, upgrades and adoptions of a command line.

A refused module refuses all where a person named it, and is left out where everything was meant.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Mapping, Sequence

from kymatui.actions.modules.install import Installation, InstallControls, InstallItem, plan_installs
from kymatui.actions.modules.install_plan import Adoption, InstallRequest, with_interrupted_values
from kymatui.actions.modules.module_sources import ModuleSource
from kymatui.actions.modules.upgrade import SkippedUpgrade
from kymatui.cli.options.batch_renderers import run_in_session
from kymatui.cli.options.direct_install import CommandContext, ProgressPrinter, install_request
from kymatui.cli.output.install_results import InstallView
from kymatui.cli.output.printing import print_message, print_text
from kymatui.domain.plans.jobs import VALUES_LEFT_OUT
from kymatui.engine.jobs.run import USER_ACTION_SECONDS, RunLimits
from kymatui.errors import OutdatedError, UsageError


def refuse_words_for_one(args: argparse.Namespace, names: Sequence[str]) -> None:
    """Raise UsageError where a source is named, which several modules cannot have in common."""
    sources = ("version", "file", "chart", "repo", "kustomize", "component")
    values = ("values", "set", "set_string", "set_json", "set_file", "set_literal")
    if len(names) != 1 and (option := next((option for option in (*sources, *values) if getattr(args, option)), "")):
        raise UsageError(
            f"--{option.replace('_', '-')} works with one module only", hint="run the command once for each module"
        )


def install_modules(
    context: CommandContext,
    verb: str,
    named: Iterable[tuple[str, ModuleSource, str]],
    adoption: Adoption = Adoption.NEVER,
) -> int:
    """Run `verb` (install, upgrade or adopt) for modules, each with its source and namespace. Return the status."""
    requests = install_requests(context, named, adoption)
    return apply_installs(context, verb, plan_installs(context.port, requests), requests)


def install_requests(
    context: CommandContext, named: Iterable[tuple[str, ModuleSource, str]], adoption: Adoption
) -> dict[str, InstallRequest]:
    """Return what a command line wants of each module; of an interrupted one with the values that it has written."""
    requests = {name: install_request(context, name, source, namespace, adoption) for name, source, namespace in named}
    if resumed := getattr(context.args, "resumed_job", None):
        has_others = VALUES_LEFT_OUT in resumed.heading.options
        requests = {
            name: with_interrupted_values(context.port, request, has_others=has_others)
            for name, request in requests.items()
        }
    return requests


def apply_installs(
    context: CommandContext,
    verb: str,
    items: Sequence[InstallItem],
    requests: Mapping[str, InstallRequest] | None = None,
    *,
    everything: bool = False,
    left_out: Sequence[SkippedUpgrade] = (),
    kind: str = "",
) -> int:
    """Apply plans; `everything` for a command without names, `left_out` are the others. Return the status.

    `requests` may be planned again if other clients change the cluster; `kind` is the command for its journal, where
    it is not `verb`.
    """
    args = context.args
    is_list = everything or len(items) != 1
    view = InstallView(context.target, args, context.cluster.name, verb, left_out, kind=kind, is_list=is_list)

    def print_new_plan(item: InstallItem, error: OutdatedError) -> None:
        print_message(f"{error}; planning again")
        if args.output == "table":
            print_text(view.text([item], "table"), sys.stderr)

    limits = RunLimits(ready=args.timeout, hooks=args.timeout, gone=args.timeout, broken=USER_ACTION_SECONDS)
    controls = InstallControls(ProgressPrinter(), limits, args.wait, args.yes, print_new_plan)
    installation = Installation(context.port, controls, requests)
    return run_in_session(items, installation, view, context.session, skips_refused=everything)
