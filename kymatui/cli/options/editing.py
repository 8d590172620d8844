"""What the commands that edit a Kyma have in common: their options, the cluster they look at, rights, and the wait.

The question before a write: the only place that reads an answer from standard input.
"""

from __future__ import annotations

import argparse
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING

from kymatui.cli.cluster_options import add_cluster_options, add_remote_options
from kymatui.cli.options.direct_install import LISTED, add_consent, no_changes_on_interrupt, waiting_note
from kymatui.cli.options.unknown_names import require_known, require_namespace
from kymatui.cli.output.plan_changes import question_text
from kymatui.cli.output.printing import print_line, print_text
from kymatui.cli.session_arguments import is_remote, open_chosen
from kymatui.domain.catalog.effects import Effect
from kymatui.domain.kubernetes.terminal_text import with_subject
from kymatui.domain.kyma_edit.module_edit import EditProposal, EditVerb, ModuleEdit
from kymatui.domain.plans.cluster_target import ClusterTarget
from kymatui.domain.rights import role_hint
from kymatui.errors import ForbiddenError, RefusedError, UnreachableError

if TYPE_CHECKING:
    from kymatui.actions.edits.cluster_edits import ClusterKymaEdits
    from kymatui.actions.session import Session
    from kymatui.domain.kyma_edit.edit_progress import EditProgress
    from kymatui.domain.kyma_edit.label_edit import LabelProposal


def confirm(target: ClusterTarget, action: str, consequence: str = "", *, yes: bool) -> None:
    """Ask on standard error whether to do `action` ("Delete nats") in the cluster, unless `yes` was given.

    Raises RefusedError for any other answer than y or yes.
    """
    if yes:
        return
    if _answer(target, action, consequence, "[y/N]", "--yes").lower() not in ("y", "yes"):
        raise RefusedError("not confirmed; no changes made")


def confirm_by_typing(target: ClusterTarget, action: str, word: str, instead: str) -> str:
    """Return what a person types to confirm `action`; `instead` is the option that makes the question needless."""
    return _answer(target, action, "", f"Type {word} to confirm:", instead)


def _answer(target: ClusterTarget, action: str, consequence: str, keys: str, instead: str) -> str:
    """Return the answer to a question that ends with the possible answers (`keys`)."""
    if not sys.stdin.isatty():
        raise RefusedError("not a terminal; no changes made", hint=f"use {instead} to confirm")
    print_text(question_text(target, action, consequence, keys, sys.stderr), sys.stderr, end=" ")
    return sys.stdin.readline().strip()


def add_editing(parser: argparse.ArgumentParser, *, remote: str) -> None:
    """Add options for confirmation, waiting, output and Kyma; `remote` is the help of `--remote`."""
    add_consent(parser, "time limit of the whole wait")
    add_cluster_options(parser)
    add_remote_options(parser, remote=remote)


@contextmanager
def open_for_edit(args: argparse.Namespace) -> Iterator[tuple[Session, threading.Event]]:
    """Open the session of a command line, listed, with the event that is set when something in it changes.

    Until the edit is sent (see `cancellable`) a person who stops it has changed nothing.
    """
    changed = threading.Event()
    with closing(open_chosen(args, once=args.dry_run)) as session, no_changes_on_interrupt():
        session.start(changed.set)
        if not session.wait_complete(LISTED):
            raise UnreachableError(
                f"{session.name} was not listed within {LISTED:g} s; no changes made",
                hint="`kymatui catalog` shows which kinds are slow",
            )
        session.require_kyma()
        if not is_remote(args):  # there it is the namespace of the runtime's Kyma on the control plane
            require_namespace(session.cluster, args)
        require_known(session, getattr(args, "names", ()), getattr(args, "channel", None))
        yield session, changed


def action_words(toggles: Sequence[ModuleEdit]) -> str:
    """Return verb and object of the question before an edit: "Enable keda, nats", "Move istio to channel fast"."""
    first, names = toggles[0], ", ".join(edit.module for edit in toggles)
    if first.verb is EditVerb.CHANNEL:
        return f"Move {names} to {f'channel {first.channel}' if first.channel else 'the channel of the Kyma'}"
    if first.verb is EditVerb.POLICY and first.policy is not None:
        return f"Set policy {first.policy.value} for {names}"
    return f"{first.verb.value.capitalize()} {names}"


def print_stage(stage: EditProgress, module: str = "") -> None:
    """Print the progress of an edit to standard error, with its module in front."""
    waits = "" if stage.finished else waiting_note(stage.message, stage.actor)
    words = with_subject(module, stage.message) if module else stage.message
    print_line(f"  {words}{waits}", sys.stderr)


def require_rights(session: Session, toggling: ClusterKymaEdits, proposal: EditProposal | LabelProposal) -> None:
    """Raise ForbiddenError where the edit cannot be made."""
    if not toggling.may_write(proposal):
        assert proposal.edit is not None
        raise ForbiddenError(
            f"you may not patch {proposal.edit.kyma} in {session.name}", hint=role_hint(*proposal.command), status=403
        )


def effects_json(effects: Sequence[Effect]) -> list[dict[str, str]]:
    """Return what becomes of each module; `kind` is for programs, `words` for people."""
    return [{"module": effect.module, "kind": effect.kind.value, "words": effect.message} for effect in effects]
