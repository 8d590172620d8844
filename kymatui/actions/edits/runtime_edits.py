"""Edits of a runtime's Kyma, decided with what its control plane knows: the runtime is the truth for its modules."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from msgspec.structs import replace

from kymatui.actions.edits.cluster_edits import ClusterKymaEdits
from kymatui.domain.catalog.catalog import build_catalog
from kymatui.domain.kyma.problems import Actor
from kymatui.domain.kyma_edit.edit_progress import EditProgress, track_edit
from kymatui.domain.kyma_edit.entry_patch import edit_entry
from kymatui.domain.kyma_edit.label_edit import LabelProposal, Labels
from kymatui.domain.kyma_edit.label_effects import preview_label_effects
from kymatui.domain.kyma_edit.module_edit import EditProposal, ModuleEdit, entry_change
from kymatui.domain.remote.catalog_sync import SyncPlan, plan_pair_sync
from kymatui.domain.remote.kyma_sync import owner_kyma

if TYPE_CHECKING:
    from kymatui.domain.remote.runtime_pair import RuntimePair
    from kymatui.domain.snapshot.read_cache import ReadCache
    from kymatui.engine.cluster.ports import Cluster


class RuntimeKymaEdits(ClusterKymaEdits):
    """As `ClusterKymaEdits`, on both sides of one runtime.

    Modules are asked for in the runtime's Kyma; which kinds of modules it may have is said by the labels of the control
    plane's, which lifecycle-manager reads.
    """

    @property
    def _sides(self) -> RuntimePair:
        sides = self._session.pair()
        assert sides is not None, "a session with a Kyma on its home has two sides"
        return sides

    def propose(self, toggle: ModuleEdit) -> EditProposal:
        proposal = super().propose(toggle)
        kyma = self._sides.runtime_kyma
        if proposal.edit is None:
            return proposal
        if kyma is None:
            why = self._sides.runtime_kyma_unknown
            unknown = "" if why is None else f"the runtime's Kyma is unknown: {why.reason}"
            refusal = unknown or "the runtime has no Kyma to edit"
            return replace(proposal, edit=None, refusals=(refusal,))
        if (owner := owner_kyma(kyma)) not in ("", self._session.target.runtime):
            refusal = f"the runtime's Kyma belongs to {owner}: the access Secret belongs to another runtime"
            return replace(proposal, refusals=(refusal, *proposal.refusals))
        if kyma.meta.deleting:
            refusal = f"{kyma.ref} of the runtime is being deleted"
            proposal = replace(proposal, refusals=tuple(dict.fromkeys((refusal, *proposal.refusals))))
        return replace(proposal, edit=edit_entry(kyma, toggle.module, entry_change(toggle)))

    def propose_labels(self, labels: Labels) -> LabelProposal:
        """Propose labels, with the objects that the catalog sync adds to the runtime and removes from it."""
        proposal, pair = super().propose_labels(labels), self._sides
        moved = preview_label_effects(pair, labels, time.time()) if proposal.edit is not None else None
        if moved is None or pair.is_one_cluster:
            return proposal
        comes, goes, changes = (
            tuple(entry.ref for entry in entries) for entries in (moved.offered, moved.withdrawn, moved.changed)
        )
        return replace(proposal, comes=comes, goes=goes, changes=changes, warnings=moved.warnings)

    @property
    def _labelled(self) -> Cluster:
        return self._session.home

    def may_write(self, proposal: EditProposal | LabelProposal) -> bool:
        if not isinstance(proposal, LabelProposal) or proposal.edit is None:
            return super().may_write(proposal)
        kyma = proposal.edit.kyma
        return self._session.home.allowed("patch", kyma.kind, kyma.namespace, kyma.name)

    def _stage(self, proposal: EditProposal, generation: int, cache: ReadCache) -> EditProgress:
        assert proposal.edit is not None
        snapshot, pair = self._session.snapshot(), self._sides
        kyma = pair.runtime_kyma
        if kyma is None and not pair.runtime_is_listed:  # which does not mean that it is gone
            return EditProgress("the runtime is not connected", Actor.CLUSTER)
        edited = replace(snapshot, kymas=(kyma.raw,) if kyma is not None else ())
        catalog = build_catalog(snapshot, time.time(), cache=cache)
        return track_edit(proposal.toggle, proposal.edit, generation, edited, catalog)

    def _sync_plan(self) -> SyncPlan | None:
        pair = self._sides
        return None if pair.is_one_cluster else plan_pair_sync(pair)
