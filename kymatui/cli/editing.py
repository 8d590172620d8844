"""What the commands that edit a Kyma have in common: their options, the cluster they look at, rights, and the wait."""

from __future__ import annotations

import argparse
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from kymatui.cli.asking import untouched
from kymatui.cli.direct.options import FORMATS
from kymatui.cli.names import require_known, require_namespace
from kymatui.cli.printing import say
from kymatui.domain.texts import plain
from kymatui.domain.toggling import Verb
from kymatui.errors import ForbiddenError, UnreachableError, UsageError

if TYPE_CHECKING:
    from kymatui.domain.effects import Effect
    from kymatui.domain.labelling import LabelProposal
    from kymatui.domain.stages import Stage
    from kymatui.domain.toggling import Proposal, Toggle
    from kymatui.wiring import CatalogSession
    from kymatui.wiring.pairs import PairSession
    from kymatui.wiring.toggling import Toggling

LISTED = 30.0


def add_editing(parser: argparse.ArgumentParser, *, remote: str) -> None:
    """Asking, waiting, printing, and which Kyma; `remote` is the help of `--remote`."""
    from kymatui.cli.connecting import add_remote_options
    from kymatui.cli.main import add_cluster_options

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
    add_remote_options(parser, remote=remote)


def refuse_timeout(args: argparse.Namespace) -> None:
    """Raises UsageError where nobody could be waited for."""
    if args.timeout <= 0:
        raise UsageError("--timeout must be more than nothing", hint="it is in seconds, 300 without it")


@contextmanager
def opened_to_edit(args: argparse.Namespace) -> Iterator[tuple[CatalogSession | PairSession, threading.Event]]:
    """The session of a command line, listed, and what is set when something in it changes; until the edit is sent
    (see `cancellable`) a person who stops it has changed nothing."""
    from kymatui.cli.connecting import connected, is_remote, paired, wanted

    session: CatalogSession | PairSession = paired(args) if is_remote(args) else connected(*wanted(args))
    changed = threading.Event()
    try:
        with untouched():
            session.start(changed.set)
            if not session.wait_complete(LISTED):
                raise UnreachableError(
                    f"{session.name} was not listed within {LISTED:g} s; nothing was changed",
                    hint="`kymatui catalog` shows which kinds are slow",
                )
            session.require_kyma()
            if not is_remote(args):  # there it is the namespace of the runtime's Kyma on the control plane
                require_namespace(session, args)
            require_known(session, getattr(args, "names", ()), getattr(args, "channel", None))
            yield session, changed
    finally:
        session.close()


def action_words(toggles: Sequence[Toggle]) -> str:
    """Return verb and object of the question before an edit: "Enable keda, nats", "Move istio to channel fast"."""
    first, names = toggles[0], ", ".join(one.module for one in toggles)
    if first.verb is Verb.CHANNEL:
        return f"Move {names} to {f'channel {first.channel}' if first.channel else 'the channel of the Kyma'}"
    if first.verb is Verb.POLICY and first.policy is not None:
        return f"Set policy {first.policy.value} for {names}"
    return f"{first.verb.value.capitalize()} {names}"


def tell_stage(stage: Stage, about: str = "") -> None:
    """How far what follows from an edit is, on standard error; `about` comes first."""
    waits = f" (waits for {stage.actor.value})" if stage.actor.value and not stage.finished else ""
    say(f"  {about}{plain(stage.words)}{waits}", sys.stderr)


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
    """Raises ForbiddenError where the edit cannot be made."""
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


def plan_json(
    cluster: str,
    proposal: Proposal,
    outcome: str,
    words: str,
    *,
    refusals: Sequence[str],
    uninstalls: Sequence[Mapping[str, Any]],
) -> dict[str, Any]:
    """One edit as a document; `uninstalls` are the modules that go, with what still exists of each."""
    edit = proposal.edit
    return {
        "cluster": cluster,
        "kyma": f"{edit.kyma.namespace}/{edit.kyma.name}" if edit is not None else None,
        "module": proposal.toggle.module,
        "verb": proposal.toggle.verb.value,
        "before": edit.before if edit is not None else None,
        "after": edit.after if edit is not None else None,
        "effects": effects_json(proposal.effects),
        "uninstalls": list(uninstalls),
        "refusals": list(refusals),
        "warnings": list(proposal.warnings),
        "outcome": outcome,
        "words": words,
    }


def effects_json(effects: Sequence[Effect]) -> list[dict[str, str]]:
    """What becomes of each module; `kind` is for programs, `words` for people."""
    return [{"module": one.module, "kind": one.kind.value, "words": one.words} for one in effects]
