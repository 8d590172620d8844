"""Edits of a runtime's Kyma, decided with what its control plane knows: the runtime is the truth for its modules."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING

from kymatui.domain.pairs.kymas import owner_in
from kymatui.domain.problems import Actor
from kymatui.wiring.toggling import Toggling

if TYPE_CHECKING:
    from kymatui.domain.labelling import LabelProposal, Labels
    from kymatui.domain.pairs.offering import SyncPlan
    from kymatui.domain.remembering import Memory
    from kymatui.domain.stages import Stage
    from kymatui.domain.toggling import Proposal, Toggle
    from kymatui.engine.ports import Cluster
    from kymatui.wiring.pairs import PairSession
    from kymatui.wiring.runtime_sessions import RuntimeSession
    from kymatui.wiring.sessions import CatalogSession


def edits_of(session: CatalogSession | PairSession | RuntimeSession) -> Toggling:
    """The edits of a cluster, or of a runtime with its control plane."""
    from kymatui.wiring.pairs import PairSession
    from kymatui.wiring.runtime_sessions import RuntimeSession

    return PairToggling(session) if isinstance(session, PairSession | RuntimeSession) else Toggling(session)


class PairToggling(Toggling):
    """As `Toggling`, on both sides of one runtime.

    Modules are asked for in the runtime's Kyma; which kinds of modules it may have is said by the labels of the control
    plane's, which lifecycle-manager reads.
    """

    def __init__(self, session: PairSession | RuntimeSession) -> None:
        super().__init__(session)
        self._pair = session

    def propose(self, toggle: Toggle) -> Proposal:
        from kymatui.domain.edits import edit_entry
        from kymatui.domain.toggling import change_of

        found = super().propose(toggle)
        kyma = self._pair.pair().runtime_kyma
        if found.edit is None:
            return found
        if kyma is None:
            why = self._pair.pair().runtime_kyma_unknown
            refusal = "the runtime has no Kyma to edit" if why is None else f"no Kyma of the runtime is known: {why}"
            return replace(found, edit=None, refusals=(refusal,))
        if (owner := owner_in(kyma)) not in ("", "/".join(self._pair.key)):
            refusal = f"the runtime's Kyma belongs to {owner}: the access Secret leads to another runtime"
            return replace(found, refusals=(refusal, *found.refusals))
        return replace(found, edit=edit_entry(kyma, toggle.module, change_of(toggle)))

    def propose_labels(self, labels: Labels) -> LabelProposal:
        """With what the catalog sync brings to the runtime then, and takes from it."""
        from kymatui.domain.pairs.relabelling import relabelling

        found, pair = super().propose_labels(labels), self._pair.pair()
        moved = relabelling(pair, labels, time.time()) if found.edit is not None else None
        if moved is None or pair.is_one_cluster:
            return found
        comes, goes, changes = (
            tuple(entry.ref for entry in entries) for entries in (moved.offered, moved.withdrawn, moved.changed)
        )
        return replace(found, comes=comes, goes=goes, changes=changes, warnings=moved.warnings)

    @property
    def _labelled(self) -> Cluster:
        return self._pair.home

    def may_write(self, proposal: Proposal | LabelProposal) -> bool:
        from kymatui.domain.labelling import LabelProposal

        if not isinstance(proposal, LabelProposal) or proposal.edit is None:
            return super().may_write(proposal)
        kyma = proposal.edit.kyma
        return self._pair.home.allowed("patch", kyma.kind, kyma.namespace, kyma.name)

    def _stage(self, proposal: Proposal, generation: int, memory: Memory) -> Stage:
        from kymatui.domain.catalog import catalog
        from kymatui.domain.stages import Stage, stage

        assert proposal.edit is not None
        snapshot, pair = self._pair.snapshot(), self._pair.pair()
        kyma = pair.runtime_kyma
        if kyma is None and not pair.runtime_is_listed:  # which does not mean that it is gone
            return Stage("the runtime is not connected at present", Actor.CLUSTER)
        edited = replace(snapshot, kymas=(kyma.raw,) if kyma is not None else ())
        seen = catalog(snapshot, time.time(), memory=memory)
        return stage(proposal.toggle, proposal.edit, generation, edited, seen)

    def _sync_plan(self) -> SyncPlan | None:
        from kymatui.domain.pairs.offering import plan_of

        pair = self._pair.pair()
        return None if pair.is_one_cluster else plan_of(pair)
