"""`kymatui enable|disable|channel|manage|unmanage|policy NAME`: the plan first, then the edit, then the wait.

The answer (what was planned, or what came of it) goes to standard output, and everything on the way to standard error.
"""

from __future__ import annotations

import argparse

from msgspec import Struct

from kymatui.cli.cluster_options import add_option, uses_contexts
from kymatui.cli.commands.fleet import campaign
from kymatui.cli.options.editing import add_editing, open_for_edit
from kymatui.cli.options.uninstalls import add_uninstalling
from kymatui.cli.options.unknown_names import refuse_versions
from kymatui.domain.kyma.kymas import OWN_CHANNEL, Policy
from kymatui.domain.kyma_edit.module_edit import EditVerb, ModuleEdit
from kymatui.errors import UsageError

_POLICIES = ("CreateAndDelete", "Ignore")


class KymaEditCommand(Struct, frozen=True):
    """One of the verbs of `kymatui.domain.kyma_edit.module_edit`, as a command."""

    verb: str

    def configure(self, parser: argparse.ArgumentParser) -> None:
        add_option(parser, "names NAME", "module; several names make one plan", nargs="+")
        parser.set_defaults(verb=self.verb)
        channel_help = f"channel of the module; `{OWN_CHANNEL}`: the channel of the Kyma"
        if self.verb == "channel":
            add_option(parser, "channel CHANNEL", channel_help)
        if self.verb == "policy":
            add_option(
                parser,
                "policy",
                "who creates and deletes the default CR: lifecycle-manager, or you (Ignore)",
                choices=_POLICIES,
            )
        if self.verb == "enable":
            add_option(parser, "--channel CHANNEL", f"{channel_help} (default: {OWN_CHANNEL})")
            add_option(
                parser,
                "--policy",
                "who creates and deletes the default CR: lifecycle-manager, or you (default: CreateAndDelete)",
                choices=_POLICIES,
            )
        add_editing(parser, remote="runtime of the control plane to work on: Kyma name, shoot or runtime ID")
        add_uninstalling(parser)
        campaign.add_fleet_options(parser)

    def run(self, args: argparse.Namespace) -> int:
        from kymatui.cli.commands.modules.kyma_edit_run import run_edits

        refuse_versions(args.names, "the channel decides the version: `kymatui channel NAME CHANNEL`")
        toggles = [self._toggle(args, name) for name in dict.fromkeys(args.names)]
        campaign.refuse_fleet_options(args)
        has_many = args.fleet or uses_contexts(args)
        if args.backup and (len(toggles) > 1 or has_many):
            raise UsageError(
                "--backup works with one module only", hint="without --backup each module gets a file of its own"
            )
        if has_many:
            if len(toggles) > 1:
                option = "--fleet" if args.fleet else "--contexts"
                raise UsageError(f"{option} works with one module only", hint="run the command once for each module")
            from kymatui.cli.commands.fleet.campaign_run import edit_fleet

            return edit_fleet(args, toggles[0])
        with open_for_edit(args) as (session, changed):
            return run_edits(args, toggles, session, changed)

    def _toggle(self, args: argparse.Namespace, name: str) -> ModuleEdit:
        channel, policy = getattr(args, "channel", None), getattr(args, "policy", None)
        own = "" if channel == OWN_CHANNEL else channel
        return ModuleEdit(EditVerb(self.verb), name, own, Policy(policy) if policy else None)


ENABLE, DISABLE, CHANNEL = KymaEditCommand("enable"), KymaEditCommand("disable"), KymaEditCommand("channel")
MANAGE, UNMANAGE, POLICY = KymaEditCommand("manage"), KymaEditCommand("unmanage"), KymaEditCommand("policy")
