"""`kymatui label NAME=VALUE|NAME- …`: which modules the Kyma may have; what it installs and uninstalls comes first."""

from __future__ import annotations

import argparse
import sys
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kymatui.cli.asking import confirm, untouched
from kymatui.cli.direct.options import cancellable
from kymatui.cli.printing import document, markdown, say, table
from kymatui.cli.syncing import read_labels
from kymatui.cli.toggling import FORMATS, require_rights
from kymatui.domain.texts import plain
from kymatui.errors import KymatuiError, RefusedError, UnreachableError, UsageError

if TYPE_CHECKING:
    from kymatui.domain.labelling import LabelProposal
    from kymatui.domain.stages import Stage
    from kymatui.wiring import CatalogSession
    from kymatui.wiring.pairs import PairSession
    from kymatui.wiring.toggling import Toggling


def configure(parser: argparse.ArgumentParser) -> None:
    from kymatui.cli.connecting import add_remote_options
    from kymatui.cli.main import add_cluster_options

    parser.add_argument(
        "labels",
        metavar="NAME=VALUE",
        nargs="+",
        help="beta=true or internal=true allows such modules, beta- or internal- no longer; several are one edit",
    )
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
    add_remote_options(parser, remote="of this runtime's Kyma in the control plane: its name, its shoot or its id")


def run(args: argparse.Namespace) -> int:
    from kymatui.cli.connecting import connected, is_remote, paired, wanted

    if args.timeout <= 0:
        raise UsageError("--timeout must be more than nothing", hint="it is in seconds, 300 without it")
    labels = _labels(args.labels)
    session: CatalogSession | PairSession = paired(args) if is_remote(args) else connected(*wanted(args))
    changed = threading.Event()
    try:
        with untouched():
            session.start(changed.set)
            if not session.wait_complete(30.0):
                raise UnreachableError(
                    f"{session.name} was not listed within 30 s; nothing was changed",
                    hint="`kymatui catalog` shows which kinds are slow",
                )
            session.require_kyma()
            return _Run(args, labels, session, changed).go()
    finally:
        session.close()


def _labels(words: Sequence[str]) -> Mapping[str, str | None]:
    """The labels by their full names; what says nothing about modules is left to kubectl."""
    from kymatui.domain.labelling import LABELS

    found = read_labels(words)
    for label, value in found.items():
        if label not in LABELS.values():
            raise UsageError(f"{label} is no label that decides about modules", hint=f"those are {', '.join(LABELS)}")
        if value not in (None, "true", "false"):
            raise UsageError(f"{label}={value}: it is true or false", hint=f"{label}- takes the label away")
    return found


@dataclass(frozen=True, slots=True)
class _Run:
    """One run of the command."""

    args: argparse.Namespace
    labels: Mapping[str, str | None]
    session: CatalogSession | PairSession
    changed: threading.Event

    def go(self) -> int:
        from kymatui.wiring.pair_toggling import edits_of

        toggling = edits_of(self.session)
        proposal = toggling.propose_labels(self.labels)
        if proposal.edit is None or proposal.refusal:
            return self._refused(proposal)
        if proposal.edit.is_empty:
            return self._answer(proposal, "unchanged", "the Kyma says so already")
        if self.args.dry_run:
            return self._answer(proposal, "planned", "nothing was done")
        require_rights(self.session, toggling, proposal)
        say(_plan(proposal, "table"), sys.stderr)
        confirm("Go on?", yes=self.args.yes)
        with cancellable() as cancel:
            toggling.carry_out_labels(proposal.edit)  # cut off in the middle nobody would know what came of it
            if not self.args.wait:
                return self._answer(proposal, "accepted", "the Kyma is edited")
            return self._wait(toggling, proposal, cancel)

    def _refused(self, proposal: LabelProposal) -> int:
        if self.args.output == "table":
            raise RefusedError(proposal.refusal, hint="nothing was changed")
        self._answer(proposal, "refused", "nothing was changed")
        return RefusedError.exit_code

    def _wait(self, toggling: Toggling, proposal: LabelProposal, cancel: threading.Event) -> int:
        def tell(stage: Stage) -> None:
            waits = f" (waits for {stage.actor.value})" if stage.actor.value and not stage.finished else ""
            say(f"  {plain(stage.words)}{waits}", sys.stderr)

        try:
            last = toggling.follow_labels(proposal, self.changed, self.args.timeout, tell, cancel)
        except KymatuiError as error:
            if self.args.output != "table":
                self._answer(proposal, "unfinished", str(error))
            raise
        return self._answer(proposal, "done", last.words)

    def _answer(self, proposal: LabelProposal, outcome: str, words: str) -> int:
        form = self.args.output
        if form in ("json", "yaml"):
            say(document(_json(self.session.name, proposal, outcome, words), form))
        elif outcome in ("planned", "refused"):
            say(_plan(proposal, form))
        else:
            say(plain(words))
        return 0


def _plan(proposal: LabelProposal, form: str) -> str:
    """The edit, what of the catalog comes and goes, and what becomes of which module; for people."""
    draw = markdown if form == "md" else table
    changes = proposal.edit.changes if proposal.edit is not None else ()
    rows = [[one.label, one.before or "", one.after or ""] for one in changes]
    parts = [draw(("LABEL", "BEFORE", "AFTER"), rows)] if rows else []
    copies = [
        [word, ref.kind.kind, ref.name]
        for word, refs in (("comes", proposal.comes), ("goes", proposal.goes), ("changes", proposal.changes))
        for ref in refs
    ]
    if copies:
        parts.append(draw(("CATALOG", "KIND", "NAME"), copies))
    if proposal.effects:
        parts.append(draw(("MODULE", "EFFECT"), [[one.module, one.words] for one in proposal.effects]))
    else:
        parts.append("no module is installed or uninstalled")
    parts += [f"refused: {plain(proposal.refusal)}"] if proposal.refusal else []
    parts += [f"warning: {plain(text)}" for text in proposal.warnings]
    return "\n\n".join(parts)


def _json(cluster: str, proposal: LabelProposal, outcome: str, words: str) -> dict[str, Any]:
    edit = proposal.edit
    copies = (("comes", proposal.comes), ("goes", proposal.goes), ("changes", proposal.changes))
    return {
        "cluster": cluster,
        "kyma": f"{edit.kyma.namespace}/{edit.kyma.name}" if edit is not None else None,
        "labels": [
            {"label": one.label, "before": one.before, "after": one.after}
            for one in (edit.changes if edit is not None else ())
        ],
        "catalog": {word: [{"kind": ref.kind.kind, "name": ref.name} for ref in refs] for word, refs in copies},
        "effects": [{"module": one.module, "words": one.words} for one in proposal.effects],
        "uninstalls": [one.module for one in proposal.effects if one.uninstalls],
        "refusals": [proposal.refusal] if proposal.refusal else [],
        "warnings": list(proposal.warnings),
        "outcome": outcome,
        "words": words,
    }
