"""Edits of the Kyma for front ends: from a live session to the cluster, and on to the end of what they set off."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from kymatui.domain.snapshots import FeedState
from kymatui.errors import CancelledError, PartlyDoneError, RefusedError

if TYPE_CHECKING:
    from kymatui.domain.labelling import LabelEdit, LabelProposal, Labels
    from kymatui.domain.pairs.offering import SyncPlan
    from kymatui.domain.remembering import Memory
    from kymatui.domain.stages import Stage
    from kymatui.domain.toggling import Proposal, Toggle
    from kymatui.engine.ports import Cluster
    from kymatui.wiring.pairs import PairSession
    from kymatui.wiring.runtime_sessions import RuntimeSession
    from kymatui.wiring.sessions import CatalogSession

_LOOK = 1.0  # seconds between two looks where nothing changes, so that a deadline and a cancel are noticed


class Toggling:
    """One session's edits. `follow` needs a session that was started, and one thread at a time."""

    def __init__(self, session: CatalogSession | PairSession | RuntimeSession) -> None:
        self._session = session

    @property
    def cluster(self) -> Cluster:
        """The one whose Kyma is edited."""
        from kymatui.adapters.kube.clusters import KubeCluster

        return KubeCluster(self._session.client)

    def propose(self, toggle: Toggle) -> Proposal:
        """What it would do, from what the session knows; asks the server only for the right to write."""
        from kymatui.domain.toggling import propose

        return propose(self._session.snapshot(), toggle, time.time())

    def propose_labels(self, labels: Labels) -> LabelProposal:
        """What other labels of the Kyma would do."""
        from kymatui.domain.labelling import propose_labels

        return propose_labels(self._session.snapshot(), labels, time.time())

    def carry_out_labels(self, edit: LabelEdit, cancel: threading.Event | None = None) -> None:
        """Writes the labels, only where they are as they were seen."""
        from kymatui.adapters.kube.clusters import KubeCluster
        from kymatui.engine.toggling import carry_out_labels

        carry_out_labels(KubeCluster(self._session.client), edit, cancel)

    def may_write(self, proposal: Proposal | LabelProposal) -> bool:
        """Whether the user may patch the Kyma of a proposal."""
        from kymatui.adapters.kube.clusters import KubeCluster

        if proposal.edit is None:
            return False
        kyma = proposal.edit.kyma
        return KubeCluster(self._session.client).allowed("patch", kyma.kind, kyma.namespace, kyma.name)

    def carry_out(self, proposal: Proposal, cancel: threading.Event | None = None) -> int:
        """Writes; returns the Kyma's generation after it. A refused proposal raises RefusedError."""
        from kymatui.adapters.kube.clusters import KubeCluster
        from kymatui.domain.objects import read_meta
        from kymatui.domain.reading import Reader
        from kymatui.domain.toggling import change_of
        from kymatui.engine.toggling import carry_out

        if proposal.edit is None or proposal.is_refused:
            raise RefusedError("; ".join(proposal.refusals))
        made = carry_out(KubeCluster(self._session.client), proposal.edit, change_of(proposal.toggle), cancel)
        return read_meta(Reader(made)).generation

    def follow(
        self,
        proposal: Proposal,
        generation: int,
        changed: threading.Event,
        timeout: float,
        tell: Callable[[Stage], None],
        cancel: threading.Event | None = None,
    ) -> Stage:
        """Looks whenever `changed` is set, until the end; `tell` gets each stage that differs from the one before.

        Raises PartlyDoneError when `timeout` seconds are over or somebody else changed the entry: the edit itself is
        done, and what it set off goes on without anybody watching.
        """
        from kymatui.domain.remembering import Memory

        memory, hint = Memory(), f"`kymatui module {proposal.toggle.module}`"
        return self._watch(lambda: self._stage(proposal, generation, memory), hint, changed, timeout, tell, cancel)

    def follow_labels(
        self,
        proposal: LabelProposal,
        changed: threading.Event,
        timeout: float,
        tell: Callable[[Stage], None],
        cancel: threading.Event | None = None,
    ) -> Stage:
        """As `follow`, until the modules and the copies that the labels bring or take have come or gone."""
        from kymatui.domain.remembering import Memory

        memory, hint = Memory(), "`kymatui catalog`"
        return self._watch(lambda: self._label_stage(proposal, memory), hint, changed, timeout, tell, cancel)

    def _watch(
        self,
        look: Callable[[], Stage],
        hint: str,
        changed: threading.Event,
        timeout: float,
        tell: Callable[[Stage], None],
        cancel: threading.Event | None,
    ) -> Stage:
        last, deadline = None, time.monotonic() + timeout
        while True:
            changed.clear()
            now = look()
            if now != last:
                tell(now)
                last = now
            if now.finished:
                return now
            if now.lost or time.monotonic() >= deadline:
                waited = f"not finished within {round(timeout, 1):g} s" if timeout > 0 else "nobody waited for the rest"
                why = now.words if now.lost else f"{waited}: {self._silent() or now.words}"
                raise PartlyDoneError(f"the Kyma is edited; {why}", hint=hint)
            if cancel is not None and cancel.is_set():
                raise CancelledError("the Kyma is edited; nobody waits for what it sets off")
            changed.wait(min(_LOOK, max(0.0, deadline - time.monotonic())))

    def _silent(self) -> str:
        """Why what is displayed is stale; "" where the server answers."""
        stale = [feed for feed in self._session.snapshot().feeds.values() if feed.state is FeedState.STALE]
        return stale[0].message if stale else ""

    def standing(self, proposal: Proposal) -> Stage:
        """Where an edit stands that the Kyma has already, whoever made it."""
        from kymatui.domain.remembering import Memory

        return self._stage(proposal, 0, Memory())

    def _stage(self, proposal: Proposal, generation: int, memory: Memory) -> Stage:
        from kymatui.domain.catalog import catalog
        from kymatui.domain.stages import stage

        assert proposal.edit is not None
        snapshot = self._session.snapshot()
        return stage(
            proposal.toggle, proposal.edit, generation, snapshot, catalog(snapshot, time.time(), memory=memory)
        )

    def _label_stage(self, proposal: LabelProposal, memory: Memory) -> Stage:
        from kymatui.domain.catalog import catalog
        from kymatui.domain.label_stages import label_stage

        snapshot = self._session.snapshot()
        return label_stage(proposal, snapshot, catalog(snapshot, time.time(), memory=memory), self._sync_plan())

    def _sync_plan(self) -> SyncPlan | None:
        """The catalog sync of a runtime; None where there is but one cluster."""
        return None
