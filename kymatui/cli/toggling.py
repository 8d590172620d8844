"""`kymatui enable|disable|channel|manage|unmanage|policy NAME`: the plan first, then the edit, then the wait.

The answer (what was planned, or what came of it) goes to standard output, and everything on the way to standard error.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kymatui.cli.editing import add_editing, opened_to_edit, refuse_timeout
from kymatui.cli.uninstalling import add_uninstalling
from kymatui.domain.toggling import Verb
from kymatui.errors import UsageError

if TYPE_CHECKING:
    from kymatui.domain.toggling import Toggle

_OWN_CHANNEL = "default"
_POLICIES = ("CreateAndDelete", "Ignore")


@dataclass(frozen=True, slots=True)
class ToggleCommand:
    """One of the verbs of `kymatui.domain.toggling`, as a command."""

    verb: str

    def configure(self, parser: argparse.ArgumentParser) -> None:
        from kymatui.cli.campaigns import add_fleet_options

        parser.add_argument("names", metavar="NAME", nargs="+", help="a module; several are one plan")
        parser.set_defaults(verb=self.verb)
        channel_help = f"the channel; `{_OWN_CHANNEL}` is the one that the Kyma has for all modules"
        if self.verb == "channel":
            parser.add_argument("channel", metavar="CHANNEL", help=channel_help)
        if self.verb == "policy":
            parser.add_argument("policy", choices=_POLICIES, help="what becomes of the module's default resource")
        if self.verb == "enable":
            parser.add_argument("--channel", metavar="CHANNEL", help=channel_help)
            parser.add_argument("--policy", choices=_POLICIES, help="what becomes of the module's default resource")
        add_editing(parser, remote="in this runtime of the control plane: its name, its shoot or its id")
        add_uninstalling(parser)
        add_fleet_options(parser)

    def run(self, args: argparse.Namespace) -> int:
        from kymatui.cli.kyma_edits import EditRun

        refuse_timeout(args)
        toggles = [self._toggle(args, name) for name in dict.fromkeys(args.names)]
        if args.backup and (len(toggles) > 1 or args.fleet):
            raise UsageError("--backup is about one module", hint="without it each has a file of its own")
        if args.fleet:
            from kymatui.cli import campaigns

            if len(toggles) > 1:
                raise UsageError("--fleet is about one module at a time", hint="many runtimes are the plan there")
            return campaigns.run(args, toggles[0])
        with opened_to_edit(args) as (session, changed):
            return EditRun(args, toggles, session, changed).go()

    def _toggle(self, args: argparse.Namespace, name: str) -> Toggle:
        from kymatui.domain.kymas import Policy
        from kymatui.domain.toggling import Toggle

        channel, policy = getattr(args, "channel", None), getattr(args, "policy", None)
        own = "" if channel == _OWN_CHANNEL else channel
        return Toggle(Verb(self.verb), name, own, Policy(policy) if policy else None)


ENABLE, DISABLE, CHANNEL = ToggleCommand("enable"), ToggleCommand("disable"), ToggleCommand("channel")
MANAGE, UNMANAGE, POLICY = ToggleCommand("manage"), ToggleCommand("unmanage"), ToggleCommand("policy")
