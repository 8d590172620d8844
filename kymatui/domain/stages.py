"""How far an edit of a Kyma has come: accepted, seen by lifecycle-manager, under way, finished; and who has to act."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from kymatui.domain.drift import DriftKind
from kymatui.domain.edits import KymaEdit
from kymatui.domain.kymas import Kyma, read_kyma
from kymatui.domain.objects import read_ref
from kymatui.domain.presence import Presence
from kymatui.domain.problems import Actor
from kymatui.domain.reading import Reader
from kymatui.domain.refusals import HeldBack
from kymatui.domain.rows import Catalog, Row
from kymatui.domain.snapshots import Snapshot
from kymatui.domain.states import State
from kymatui.domain.toggling import Toggle, Verb
from kymatui.domain.wording import held_back_words

_SETTLED = (DriftKind.IN_SYNC, DriftKind.NONE, DriftKind.AHEAD, DriftKind.CHANNEL_SKEW, DriftKind.PENDING_MAINTENANCE)


class Phase(StrEnum):
    """What an edit goes through; which of them depends on what was asked."""

    ACCEPTED = "accepted by the server"
    TAKEN_UP = "taken up: Manifest created"
    APPLYING = "applying"
    READY = "ready"
    DELETING = "deleting"
    GONE = "gone"
    LET_GO = "let go"
    SET = "set"


def phases(verb: Verb) -> tuple[Phase, ...]:
    """The phases of one verb in their order; the last one is the end."""
    match verb:
        case Verb.DISABLE:
            return Phase.ACCEPTED, Phase.DELETING, Phase.GONE
        case Verb.UNMANAGE:
            return Phase.ACCEPTED, Phase.LET_GO
        case Verb.POLICY:
            return Phase.ACCEPTED, Phase.SET
        case Verb.ENABLE | Verb.CHANNEL | Verb.MANAGE:
            return Phase.ACCEPTED, Phase.TAKEN_UP, Phase.APPLYING, Phase.READY


@dataclass(frozen=True, slots=True)
class Stage:
    """Where it stands, in a sentence.

    `lost` says that another client has changed the entry since, and it is not followed further; `held` that what was
    asked for does not come, since lifecycle-manager keeps the version that is installed.
    """

    words: str
    actor: Actor = Actor.NOBODY
    finished: bool = False
    lost: bool = False
    held: bool = False
    phase: Phase = Phase.ACCEPTED


def stage(toggle: Toggle, edit: KymaEdit, generation: int, snapshot: Snapshot, seen: Catalog) -> Stage:
    """The stage in a snapshot; `generation` is the Kyma's after the edit, 0 where that is not known."""
    kyma = _kyma(edit, snapshot)
    if kyma is None:
        return Stage(f"{edit.kyma} is gone", lost=True)
    if kyma.meta.generation < generation:
        return Stage("accepted, and not yet seen in the watch")
    if not _stands(edit, kyma):
        return Stage(f"somebody else has changed the entry of {edit.module} since", Actor.YOU, lost=True)
    row = seen.row(toggle.module)
    match toggle.verb:
        case Verb.DISABLE:
            return _disabled(toggle, row)
        case Verb.UNMANAGE:
            return _unmanaged(row)
        case Verb.POLICY:
            return Stage("the policy is set", finished=True, phase=Phase.SET)
        case Verb.ENABLE | Verb.CHANNEL | Verb.MANAGE:
            return _held(installed(toggle.module, row), toggle, row)


def _held(found: Stage, toggle: Toggle, row: Row | None) -> Stage:
    """A channel that was asked for has its version only where lifecycle-manager moves to it."""
    refusal = row.resolution.refusal if row is not None else None
    if not found.finished or toggle.channel is None or not isinstance(refusal, HeldBack):
        return found
    return replace(found, words=f"{toggle.module} {held_back_words(refusal)}", held=True)


def _kyma(edit: KymaEdit, snapshot: Snapshot) -> Kyma | None:
    found = read_kyma(next((raw for raw in snapshot.kymas if read_ref(raw) == edit.kyma), None))
    return found if isinstance(found, Kyma) else None


def _stands(edit: KymaEdit, kyma: Kyma) -> bool:
    """Whether the entry still is what the edit made of it; the server may have added defaults."""
    entries: list[Mapping[str, Any]] = [reader.raw for reader in Reader(kyma.raw).child("spec").children("modules")]
    entry = next((entry for entry in entries if entry.get("name") == edit.module), None)
    if entry is None or edit.after is None:
        return entry is None and edit.after is None
    return all(entry.get(key) == value for key, value in edit.after.items())


def installed(module: str, row: Row | None) -> Stage:
    """How far lifecycle-manager has come with a module that the Kyma asks for."""
    if row is None or row.reports.kyma in ("", State.UNMANAGED):
        return Stage("accepted; lifecycle-manager has not taken it up yet", Actor.KLM)
    if row.state is State.WARNING:
        return Stage(row.reason.text, row.actor, finished=True, phase=Phase.READY)
    if row.drift.kind in _SETTLED and row.state is State.READY:
        version = f" {row.installed}" if row.installed else ""
        return Stage(f"{module}{version} is ready", finished=True, phase=Phase.READY)
    applying = row.manifest is not None and bool(row.reports.manifest)
    return Stage(row.reason.text, row.actor, phase=Phase.APPLYING if applying else Phase.TAKEN_UP)


def _disabled(toggle: Toggle, row: Row | None) -> Stage:
    if row is None or not row.reports.kyma:
        return Stage(f"{toggle.module} is gone from the Kyma", finished=True, phase=Phase.GONE)
    phase = Phase.DELETING if row.presence is Presence.DELETING else Phase.ACCEPTED
    return Stage(row.reason.text, row.actor, phase=phase)


def _unmanaged(row: Row | None) -> Stage:
    if row is not None and row.reports.kyma == State.UNMANAGED:
        if row.manifest is not None:
            words = f"Unmanaged is reported; {row.manifest} is still being released"
            return Stage(words, Actor.KLM, phase=Phase.LET_GO)
        return Stage("lifecycle-manager has let go of it", finished=True, phase=Phase.LET_GO)
    return Stage("accepted; lifecycle-manager has not let go of it yet", Actor.KLM)
