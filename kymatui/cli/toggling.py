"""`kymatui enable|disable|channel|manage|unmanage|policy NAME`: the plan first, then the edit, then the wait.

The answer (what was planned, or what came of it) goes to standard output, and everything on the way to standard error.
"""

from __future__ import annotations

import argparse
import sys
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kymatui.cli.asking import confirm, untouched
from kymatui.cli.direct.options import cancellable
from kymatui.cli.printing import document, markdown, say, table
from kymatui.domain.texts import plain
from kymatui.domain.toggling import Verb
from kymatui.errors import ForbiddenError, KymatuiError, ReadOnlyError, RefusedError, UnreachableError, UsageError

if TYPE_CHECKING:
    from kymatui.domain.labelling import LabelProposal
    from kymatui.domain.toggling import Proposal, Toggle
    from kymatui.wiring import CatalogSession
    from kymatui.wiring.pairs import PairSession
    from kymatui.wiring.toggling import Toggling

FORMATS = ("table", "json", "yaml", "md")
_OWN_CHANNEL = "default"
_POLICIES = ("CreateAndDelete", "Ignore")


@dataclass(frozen=True, slots=True)
class ToggleCommand:
    """One of the verbs of `kymatui.domain.toggling`, as a command."""

    verb: str

    def configure(self, parser: argparse.ArgumentParser) -> None:
        from kymatui.cli.campaigns import add_fleet_options
        from kymatui.cli.connecting import add_remote_options
        from kymatui.cli.main import add_cluster_options

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
        parser.add_argument("--dry-run", action="store_true", help="print what would be done, and do nothing")
        parser.add_argument("--yes", "-y", action="store_true", help="do not ask")
        wait = parser.add_mutually_exclusive_group()
        wait.add_argument("--wait", dest="wait", action="store_true", default=True, help="until it is done (default)")
        wait.add_argument("--no-wait", dest="wait", action="store_false", help="leave when the Kyma is edited")
        parser.add_argument(
            "--timeout", type=float, default=300.0, metavar="SECONDS", help="for the whole wait (default: 300)"
        )
        parser.add_argument("-o", "--output", choices=FORMATS, default="table", help="default: table")
        add_cluster_options(parser, default=argparse.SUPPRESS)
        add_remote_options(parser, remote="in this runtime of the control plane: its name, its shoot or its id")
        add_fleet_options(parser)

    def run(self, args: argparse.Namespace) -> int:
        from kymatui.cli.connecting import connected, is_remote, paired, wanted

        if args.timeout <= 0:
            raise UsageError("--timeout must be more than nothing", hint="it is in seconds, 300 without it")
        toggles = [self._toggle(args, name) for name in dict.fromkeys(args.names)]
        if args.fleet:
            from kymatui.cli import campaigns

            if len(toggles) > 1:
                raise UsageError("--fleet is about one module at a time", hint="many runtimes are the plan there")
            return campaigns.run(args, toggles[0])
        session: CatalogSession | PairSession = paired(args) if is_remote(args) else connected(*wanted(args))
        changed = threading.Event()
        try:
            with untouched():  # until the edit is sent, see `_Run.go`
                session.start(changed.set)
                if not session.wait_complete(30.0):
                    raise UnreachableError(
                        f"{session.name} was not listed within 30 s; nothing was changed",
                        hint="`kymatui catalog` shows which kinds are slow",
                    )
                session.require_kyma()
                if len(toggles) == 1:
                    return _Run(args, toggles[0], session, changed).go()
                from kymatui.cli.toggling_several import SeveralEdits

                return SeveralEdits(args, toggles, session, changed).go()
        finally:
            session.close()

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
        say(_plan(proposal, "table"), sys.stderr)
        tell_of_handing_over(self._session, self._toggle)
        confirm("Go on?", yes=self._args.yes)

    def _wait(self, proposal: Proposal, generation: int, cancel: threading.Event) -> int:
        def tell(stage: Any) -> None:
            waits = f" (waits for {stage.actor.value})" if stage.actor.value and not stage.finished else ""
            say(f"  {plain(stage.words)}{waits}", sys.stderr)

        try:
            last = self._toggling.follow(proposal, generation, self._changed, self._args.timeout, tell, cancel)
        except KymatuiError as error:
            if self._args.output != "table":
                self._answer(proposal, "unfinished", str(error))
            raise
        handed = hand_over(self._session, self._toggle)
        return self._answer(proposal, "done", handed or last.words)

    def _answer(self, proposal: Proposal, outcome: str, words: str) -> int:
        form = self._args.output
        if form in ("json", "yaml"):
            say(document(plan_json(self._session.name, proposal, outcome, words), form))
        elif outcome in ("planned", "refused"):
            say(_plan(proposal, form))
        else:
            say(f"{self._toggle.module}: {plain(words)}")
        return 0


def goes_on(args: argparse.Namespace, toggling: Toggling, proposal: Proposal) -> bool:
    """Whether what the Kyma says already is still on its way: then it is waited for, as after the edit itself."""
    if proposal.edit is None or not (proposal.is_done or proposal.gone) or args.dry_run or not args.wait:
        return False
    entry = proposal.edit.before
    if entry is not None and entry.get("managed") is False and proposal.toggle.verb is not Verb.UNMANAGE:
        return False  # lifecycle-manager leaves it as it is
    return not toggling.standing(proposal).finished


def require_rights(
    session: CatalogSession | PairSession, toggling: Toggling, proposal: Proposal | LabelProposal
) -> None:
    """Raises ReadOnlyError or ForbiddenError where the edit cannot be made."""
    if session.read_only:
        raise ReadOnlyError("read-only: the Kyma is not edited", hint="--dry-run shows what would be done")
    if not toggling.may_write(proposal):
        assert proposal.edit is not None
        raise ForbiddenError(
            f"you may not patch {proposal.edit.kyma} in {session.name}",
            hint="--dry-run shows what would be done",
            status=403,
        )


def tell_of_handing_over(session: CatalogSession | PairSession, toggle: Toggle) -> None:
    """What becomes of what kymatui installed, before anybody is asked."""
    from kymatui.wiring.engine import cluster_of
    from kymatui.wiring.handing import to_be_handed_over, told_before

    if toggle.verb in ("enable", "manage"):
        known = to_be_handed_over(cluster_of(session.client), toggle.module)
        if known is not None:
            say(f"{toggle.module} {known.version}: {told_before(known)}", sys.stderr)


def hand_over(session: CatalogSession | PairSession, toggle: Toggle) -> str:
    """What kymatui had installed belongs to lifecycle-manager once that has applied it; "" where it had nothing."""
    from kymatui.wiring import handing
    from kymatui.wiring.engine import cluster_of

    if toggle.verb not in ("enable", "manage"):
        return ""
    cluster = cluster_of(session.client)
    known = handing.to_be_handed_over(cluster, toggle.module)
    return handing.told_after(known, handing.hand_over(cluster, known)) if known is not None else ""


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


def plan_json(cluster: str, proposal: Proposal, outcome: str, words: str) -> dict[str, Any]:
    edit = proposal.edit
    return {
        "cluster": cluster,
        "kyma": f"{edit.kyma.namespace}/{edit.kyma.name}" if edit is not None else None,
        "module": proposal.toggle.module,
        "verb": proposal.toggle.verb.value,
        "before": edit.before if edit is not None else None,
        "after": edit.after if edit is not None else None,
        "effects": [{"module": effect.module, "words": effect.words} for effect in proposal.effects],
        "refusals": list(proposal.refusals),
        "warnings": list(proposal.warnings),
        "outcome": outcome,
        "words": words,
    }
