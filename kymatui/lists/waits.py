"""What the modules of a fleet wait for: the columns of the list, for the screen and for `kymatui waits`."""

from __future__ import annotations

from typing import Final

from msgspec import Struct

from kymatui.domain.catalog.catalog_json import actor_json, advice_fields
from kymatui.domain.fleet.pending_actions import PendingAction
from kymatui.domain.kubernetes.object_meta import format_time
from kymatui.domain.kubernetes.terminal_text import sanitize
from kymatui.domain.kyma.problems import Actor, Advice
from kymatui.domain.kyma.states import state_rank
from kymatui.lists.catalog_cells import TONES
from kymatui.lists.columns import SIGNS, Cell, ListColumn


class WaitEntry(Struct, frozen=True):
    """A pending action; `short` is the name of its runtime where there is little room."""

    wait: PendingAction
    short: str = ""


def _state(entry: WaitEntry) -> Cell:
    state = entry.wait.state
    tone = TONES[state]
    return Cell(f"{SIGNS.get(tone, '')} {state}", tone, order=state_rank(state), full=state.value)


def _since(entry: WaitEntry) -> Cell:
    return Cell("", "muted", -(entry.wait.since or 0.0), since=entry.wait.since)


def _advice(entry: WaitEntry) -> Advice | None:
    return entry.wait.advice


WAIT_COLUMNS: Final = (
    ListColumn[WaitEntry](
        "on",
        "WHO ACTS",
        18,
        flex=1,
        cell=lambda entry: Cell(entry.wait.actor.value, "accent" if entry.wait.actor is Actor.YOU else ""),
        json={"actor": lambda entry: actor_json(entry.wait.actor)},
    ),
    ListColumn[WaitEntry]("state", "STATE", 12, cell=_state, json={"state": lambda entry: entry.wait.state.value}),
    ListColumn[WaitEntry](
        "module",
        "MODULE",
        16,
        flex=1,
        cell=lambda entry: Cell(sanitize(entry.wait.module) or "(the runtime)", "strong"),
        json={"module": lambda entry: entry.wait.module or None},
    ),
    ListColumn[WaitEntry](
        "runtime",
        "RUNTIME",
        12,
        flex=2,
        cell=lambda entry: Cell(sanitize(entry.wait.runtime[1]), short=sanitize(entry.short)),
        json={"runtime": lambda entry: entry.wait.runtime[1], "namespace": lambda entry: entry.wait.runtime[0]},
    ),
    ListColumn[WaitEntry](
        "since",
        "SINCE",
        6,
        priority=2,
        right=True,
        falls=True,
        cell=_since,
        json={"since": lambda entry: None if entry.wait.since is None else format_time(entry.wait.since)},
    ),
    ListColumn[WaitEntry](
        "reason",
        "WHY",
        24,
        flex=4,
        priority=1,
        wraps=True,
        cell=lambda entry: Cell(sanitize(entry.wait.reason)),
        json={
            "reason": lambda entry: entry.wait.reason,
            **{name: field.read for name, field in advice_fields(_advice).items()},
        },
    ),
)
