"""An edit of a runtime's Kyma is followed also while the runtime is connected to anew."""

from __future__ import annotations

from unittest.mock import create_autospec

import pytest
from msgspec.structs import replace

from kymatui.actions.edits.session_deletions import RuntimeKymaEdits
from kymatui.domain.kyma_edit.edit_progress import NOT_VISIBLE
from kymatui.domain.kyma_edit.module_edit import EditVerb, ModuleEdit
from kymatui.domain.remote.runtime_pair import RuntimePair, join_snapshots
from kymatui.domain.snapshot.snapshots import Feed, FeedState, ReadCache, Snapshot
from kymatui.sessions.control_plane.pair_session import PairSession
from kymatui.sessions.deletions import deletions_of
from tests.domain import builders as b

LIVE, SYNCING = Feed(FeedState.LIVE), Feed(FeedState.SYNCING)
KYMAS = "kymas.operator.kyma-project.io"
CONTROL = Snapshot(
    "kcp",
    kymas=(b.kyma((), name="one", namespace="kcp-system", status=[b.report("keda", "1.0.0")]),),
    feeds={KYMAS: LIVE},
)
RUNTIME = Snapshot("one", kymas=(b.kyma([{"name": "keda"}]),), feeds={KYMAS: LIVE})


def toggling(runtime: Snapshot | None) -> RuntimeKymaEdits:
    session, pair = create_autospec(PairSession, instance=True), RuntimePair("one", CONTROL, runtime)
    session.key = ("kcp-system", "one")
    session.pair.return_value, session.snapshot.return_value = pair, join_snapshots(pair)
    return RuntimeKymaEdits(session, deletions_of)


@pytest.mark.parametrize(
    ("runtime", "lost", "words"),
    [
        (None, False, "the runtime is not connected"),
        (replace(RUNTIME, kymas=(), feeds={KYMAS: SYNCING}), False, "the runtime is not connected"),
        (replace(RUNTIME, kymas=()), True, "Kyma kyma-system/default no longer exists"),
        (RUNTIME, True, "another client has changed the entry of keda since"),
        (replace(RUNTIME, kymas=(b.kyma(()),)), False, "accepted"),
    ],
    ids=["dropped", "connected anew", "gone", "put back", "edited"],
)
def test_a_runtime_that_is_connected_to_anew_is_not_one_that_lost_its_kyma(
    runtime: Snapshot | None, lost: bool, words: str
) -> None:
    proposal = toggling(RUNTIME).propose(ModuleEdit(EditVerb.DISABLE, "keda"))
    now = toggling(runtime).standing(proposal)
    assert (now.lost, now.finished) == (lost, False), now.message
    if words != "accepted":
        assert now.message == words


def test_a_generation_is_not_judged_by_a_catalog_that_is_older() -> None:
    """Each read of the session is newer than the one before: the edit is seen first in the second."""
    edits = toggling(RUNTIME)
    proposal = edits.propose(ModuleEdit(EditVerb.CHANNEL, "keda", channel="fast"))
    sides = [
        _at_generation(RUNTIME, 1, {"name": "keda"}),
        _at_generation(RUNTIME, 2, {"name": "keda", "channel": "fast"}),
    ]
    pairs = iter(RuntimePair("one", CONTROL, side) for side in sides)
    session = edits._session
    session.pair.side_effect = lambda: next(pairs)  # type: ignore[attr-defined]
    session.snapshot.side_effect = lambda: join_snapshots(next(pairs))  # type: ignore[attr-defined]
    now = edits._stage(proposal, 2, ReadCache())
    assert (now.finished, now.lost, now.message) == (False, False, NOT_VISIBLE)


def _at_generation(side: Snapshot, generation: int, module: dict[str, str]) -> Snapshot:
    raw = b.kyma([module])
    return replace(side, kymas=({**raw, "metadata": {**raw["metadata"], "generation": generation}},))
