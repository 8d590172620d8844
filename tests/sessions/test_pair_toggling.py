"""An edit of a runtime's Kyma is followed also while the runtime is connected to anew."""

from __future__ import annotations

from unittest.mock import create_autospec

import pytest
from msgspec.structs import replace

from kymatui.actions.edits.session_deletions import RuntimeKymaEdits
from kymatui.domain.kyma_edit.module_edit import EditVerb, ModuleEdit
from kymatui.domain.remote.runtime_pair import RuntimePair, join_snapshots
from kymatui.domain.snapshot.snapshots import Feed, FeedState, Snapshot
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
