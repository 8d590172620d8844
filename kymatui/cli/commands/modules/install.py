"""`kymatui install NAME…` and `kymatui upgrade NAME…`."""

from __future__ import annotations

import argparse

from msgspec import Struct

from kymatui.actions.modules.install_plan import Adoption
from kymatui.cli.cluster_options import add_contexts, add_option, uses_contexts
from kymatui.cli.commands.fleet.campaign import add_pace, refuse_pace
from kymatui.cli.commands.modules.install_run import install_modules, refuse_words_for_one
from kymatui.cli.commands.modules.upgrade import recorded_sources, upgrade_all
from kymatui.cli.options.direct_install import CommandContext, add_intent, add_running, add_source, open_context
from kymatui.cli.options.registry_options import component_source
from kymatui.cli.options.unknown_names import refuse_versions
from kymatui.errors import UsageError


class InstallCommand(Struct, frozen=True):
    """`install` and `upgrade`: the same plan, but an upgrade needs something to be there."""

    upgrade: bool = False

    def configure(self, parser: argparse.ArgumentParser) -> None:
        what = "module or release; several names make one plan"
        what += " (default: the module of --component)"
        add_option(parser, "names NAME", what, nargs="*")
        parser.set_defaults(devel=False, creates_namespace=not self.upgrade)
        if self.upgrade:
            add_option(parser, "--all", "upgrade everything that is outdated, in one plan")
            add_option(parser, "--devel", "also upgrade to pre-releases")
            group = parser.add_argument_group("upgrade several contexts")
            add_contexts(group, "upgrade in the clusters of these contexts of the kubeconfig")
            add_pace(group)
        add_source(parser)
        add_intent(parser)
        add_running(parser)

    def run(self, args: argparse.Namespace) -> int:
        every = self.upgrade and args.all
        names = list(dict.fromkeys(args.names))
        if args.component and not names and not every:
            names = [component_source(args.component)[0].name.rpartition("/")[2]]
        if self.upgrade and every == bool(names):
            raise UsageError(
                "use either module names or --all", hint="run `kymatui upgrade NAME` or `kymatui upgrade --all`"
            )
        refuse_pace(args)
        if not names and not every:
            raise UsageError("no module or release given", hint="run `kymatui install NAME`")
        refuse_words_for_one(args, names)
        refuse_versions(names, f"run `kymatui {'upgrade' if self.upgrade else 'install'} NAME --version VERSION`")
        if uses_contexts(args):
            from kymatui.cli.commands.modules.upgrade_contexts import upgrade_contexts

            return upgrade_contexts(args, names)
        with open_context(args, once=args.dry_run) as context:
            return self._run(context, names)

    def _run(self, context: CommandContext, names: list[str]) -> int:
        if not names:
            return upgrade_all(context)
        if not self.upgrade:
            return install_modules(context, "install", [(name, context.source, context.namespace) for name in names])
        return install_modules(context, "upgrade", recorded_sources(context, names), Adoption.UPGRADE)


INSTALL, UPGRADE = InstallCommand(), InstallCommand(upgrade=True)
