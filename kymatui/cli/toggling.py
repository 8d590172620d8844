"""`kymatui enable|disable|channel|manage|unmanage|policy NAME`: the plan first, then the edit, then the wait.

The answer (what was planned, or what came of it) goes to standard output, and everything on the way to standard error.
"""

from __future__ import annotations

import argparse
import sys
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kymatui.cli.asking import confirm
from kymatui.cli.direct.options import cancellable
from kymatui.cli.editing import (
    action_words,
    add_editing,
    goes_on,
    hand_over,
    opened_to_edit,
    plan_json,
    refuse_timeout,
    require_rights,
    tell_of_handing_over,
    tell_stage,
)
from kymatui.cli.printing import markdown, say, table
from kymatui.cli.targets import plan_document, plan_text
from kymatui.domain.texts import plain
from kymatui.domain.toggling import Verb
from kymatui.errors import KymatuiError, RefusedError, UsageError

if TYPE_CHECKING:
    from kymatui.domain.toggling import Proposal, Toggle
    from kymatui.wiring import CatalogSession
    from kymatui.wiring.pairs import PairSession
    from kymatui.wiring.toggling import Toggling

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
        add_fleet_options(parser)

    def run(self, args: argparse.Namespace) -> int:
        refuse_timeout(args)
        toggles = [self._toggle(args, name) for name in dict.fromkeys(args.names)]
        if args.fleet:
            from kymatui.cli import campaigns

            if len(toggles) > 1:
                raise UsageError("--fleet is about one module at a time", hint="many runtimes are the plan there")
            return campaigns.run(args, toggles[0])
        with opened_to_edit(args) as (session, changed):
            if len(toggles) == 1:
                return _Run(args, toggles[0], session, changed).go()
            from kymatui.cli.toggling_several import SeveralEdits

            return SeveralEdits(args, toggles, session, changed).go()

    def _toggle(self, args: argparse.Namespace, name: str) -> Toggle:
        from kymatui.domain.kymas import Policy
        from kymatui.domain.toggling import Toggle

        channel, policy = getattr(args, "channel", None), getattr(args, "policy", None)
        own = "" if channel == _OWN_CHANNEL else channel
        return Toggle(Verb(self.verb), name, own, Policy(policy) if policy else None)


ENABLE, DISABLE, CHANNEL = ToggleCommand("enable"), ToggleCommand("disable"), ToggleCommand("channel")
MANAGE, UNMANAGE, POLICY = ToggleCommand("manage"), ToggleCommand("unmanage"), ToggleCommand("policy")


class _Run:
    """One run of one command."""

    def __init__(
        self,
        args: argparse.Namespace,
        toggle: Toggle,
        session: CatalogSession | PairSession,
        changed: threading.Event,
    ) -> None:
        from kymatui.wiring.pair_toggling import edits_of

        self._args = args
        self._toggle = toggle
        self._session = session
        self._changed = changed
        self._toggling: Toggling = edits_of(session)

    def go(self) -> int:
        proposal = self._toggling.propose(self._toggle)
        if goes_on(self._args, self._toggling, proposal):
            with cancellable() as cancel:
                return self._wait(proposal, 0, cancel)
        if proposal.is_refused:
            return self._refused(proposal)
        if proposal.is_done:
            return self._answer(proposal, "unchanged", "the Kyma says so already")
        if self._args.dry_run:
            return self._answer(proposal, "planned", "nothing was done")
        require_rights(self._session, self._toggling, proposal)
        self._confirm(proposal)
        with cancellable() as cancel:
            generation = self._toggling.carry_out(proposal)  # cut off in the middle nobody would know what came of it
            if not self._args.wait:
                return self._answer(proposal, "accepted", "the Kyma is edited")
            return self._wait(proposal, generation, cancel)

    def _refused(self, proposal: Proposal) -> int:
        if self._args.output == "table":
            raise RefusedError("; ".join(proposal.refusals), hint="nothing was changed")
        self._answer(proposal, "refused", "nothing was changed")
        return RefusedError.exit_code

    def _confirm(self, proposal: Proposal) -> None:
        target = self._session.target
        say(plan_text(target, _plan(proposal, "table"), "table"), sys.stderr)
        tell_of_handing_over(self._session, self._toggle)
        confirm(target, action_words([self._toggle]), yes=self._args.yes)

    def _wait(self, proposal: Proposal, generation: int, cancel: threading.Event) -> int:
        try:
            last = self._toggling.follow(proposal, generation, self._changed, self._args.timeout, tell_stage, cancel)
        except KymatuiError as error:
            if self._args.output != "table":
                self._answer(proposal, "unfinished", str(error))
            raise
        handed = hand_over(self._session, self._toggle)
        return self._answer(proposal, "done", handed or last.words)

    def _answer(self, proposal: Proposal, outcome: str, words: str) -> int:
        form = self._args.output
        if form in ("json", "yaml"):
            say(plan_document(self._session.target, plan_json(self._session.name, proposal, outcome, words), form))
        elif outcome in ("planned", "refused"):
            say(plan_text(self._session.target, _plan(proposal, form), form))
        else:
            say(f"{self._toggle.module}: {plain(words)}")
        return 0


def _plan(proposal: Proposal, form: str) -> str:
    """The edit, what it does to which module, and what is to be known; for people."""
    draw = markdown if form == "md" else table
    lines = proposal.edit.lines() if proposal.edit is not None else ()
    parts = [draw(("FIELD", "BEFORE", "AFTER"), [list(line) for line in lines])] if lines else []
    if proposal.effects:
        parts.append(draw(("MODULE", "EFFECT"), [[effect.module, effect.words] for effect in proposal.effects]))
    parts += [f"refused: {plain(text)}" for text in proposal.refusals]
    parts += [f"warning: {plain(text)}" for text in proposal.warnings]
    return "\n\n".join(parts)
