"""Edits of the Kyma for front ends: from a live session to the cluster, and on to the end of what they set off."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING

from kymatui.actions.edits.edit_watch import EditOutcome, EditWatch, StartedEdit
from kymatui.actions.edits.uninstall import UninstallConsent, plan_uninstall, prepare_uninstalls, refuse_unplanned
from kymatui.actions.plans import DeletionRequest, Uninstall, with_deleted
from kymatui.actions.ports import DeletionPort
from kymatui.domain.catalog.catalog import build_catalog
from kymatui.domain.catalog.effects import Effect
from kymatui.domain.kubernetes.json_reader import JsonReader
from kymatui.domain.kubernetes.object_meta import read_meta, read_ref
from kymatui.domain.kubernetes.refs import ObjectKey, ObjectRef
from kymatui.domain.kyma.module_templates import associated_kinds
from kymatui.domain.kyma.problems import Actor
from kymatui.domain.kyma_edit.edit_progress import EditProgress, track_edit, track_label_edit
from kymatui.domain.kyma_edit.label_edit import LabelProposal, Labels, propose_labels
from kymatui.domain.kyma_edit.module_edit import EditProposal, EditVerb, ModuleEdit, entry_change, propose_edit
from kymatui.domain.remote.catalog_sync import SyncPlan
from kymatui.domain.snapshot.cluster_index import index_cluster
from kymatui.domain.snapshot.snapshots import FeedState, ReadCache
from kymatui.engine.cluster.kyma_edit import carry_out, carry_out_labels, is_made
from kymatui.engine.cluster.ports import Cluster
from kymatui.engine.jobs.journal import NO_JOURNAL, Journal
from kymatui.engine.jobs.run import Progress
from kymatui.errors import CancelledError, KymatuiError, PartlyDoneError, RefusedError, UsageError

if TYPE_CHECKING:
    from kymatui.actions.session import Session


@contextmanager
def _naming_deleted(gone: Sequence[ObjectRef]) -> Iterator[None]:
    """Raise errors of an edit with what was deleted for it."""
    try:
        yield
    except KymatuiError as error:
        raise with_deleted(error, gone) from error


class ClusterKymaEdits:
    """One session's edits. `follow` needs a session that was started, and one thread at a time.

    `cache` is what proposals read of the snapshot, for the next proposal.
    """

    def __init__(
        self, session: Session, deletions: Callable[[Session], DeletionPort], cache: ReadCache | None = None
    ) -> None:
        self._session = session
        self._deletions = deletions
        self._memory = cache

    @property
    def cluster(self) -> Cluster:
        """Return the cluster of the edited Kyma."""
        return self._session.cluster

    @property
    def keeper(self) -> Actor:
        """Return what works on the Kyma."""
        return index_cluster(self._session.snapshot(), cache=self._memory).keeper

    def module_objects(self, module: str) -> frozenset[ObjectKey]:
        """Return the managers and CRDs of a module, by its templates and what runs."""
        snapshot = self._session.snapshot()
        row = build_catalog(snapshot, time.time(), cache=self._memory, only=module).row(module)
        world = index_cluster(snapshot, cache=self._memory)
        offers = world.templates.offers(module)
        named = (template.manager for template in offers)
        keys = [ObjectRef(ref.kind, ref.namespace, ref.name).key for ref in named if ref is not None]
        kinds = {(gvk.group, gvk.kind) for template in offers for gvk in associated_kinds(template)}
        keys += [read_ref(raw).key for kind in kinds if (raw := world.definitions.get(kind)) is not None]
        return frozenset([*keys, *([row.manager.key] if row is not None and row.manager is not None else [])])

    def propose(self, toggle: ModuleEdit) -> EditProposal:
        """Return the effects of an edit according to the session's snapshot."""
        return propose_edit(self._session.snapshot(), toggle, time.time(), cache=self._memory)

    def propose_labels(self, labels: Labels) -> LabelProposal:
        """Return the effects of other labels on the Kyma."""
        return propose_labels(self._session.snapshot(), labels, time.time())

    def uninstalls(self, modules: Iterable[str], consent: UninstallConsent, timeout: float) -> tuple[Uninstall, ...]:
        """List the resources that these modules still manage, without a write.

        Raises UsageError for one backup of several modules.
        """
        names = tuple(dict.fromkeys(modules))
        if not names:
            return ()
        if consent.backup is not None and len(names) > 1:
            raise UsageError(
                f"--backup works with one module only, and this uninstalls {', '.join(names)}",
                hint="without --backup each module gets a file of its own",
            )
        port, requests = self._deletions(self._session), []
        for module in names:
            path = consent.backup or port.backup_path(module, time.time())
            requests.append(
                DeletionRequest(
                    module,
                    cascade=consent.cascade,
                    accept_unknown=consent.accept_unknown,
                    backup=path if consent.saves else None,
                    timeout=timeout,
                )
            )
        return tuple(plan_uninstall(port, request) for request in requests)

    def carry_out_labels(
        self,
        proposal: LabelProposal,
        cancel: threading.Event | None = None,
        planned: Sequence[Uninstall] = (),
        progress: Callable[[Progress], None] | None = None,
        journal: Journal = NO_JOURNAL,
    ) -> None:
        """Write the labels, only where they are as they were seen; what they uninstall as `carry_out` does."""
        if proposal.edit is None or proposal.refusal:
            raise RefusedError(proposal.refusal)
        gone = self._prepare(proposal.effects, planned, progress, cancel, journal)
        with _naming_deleted(gone):
            if cancel is not None and cancel.is_set():
                raise CancelledError("stopped before the edit of the labels")
            with journal.step("edit", proposal.edit.kyma):
                carry_out_labels(self._labelled, proposal.edit, cancel)

    @property
    def _labelled(self) -> Cluster:
        """Return the cluster of the Kyma whose labels lifecycle-manager reads."""
        return self.cluster

    def _prepare(
        self,
        effects: Iterable[Effect],
        planned: Sequence[Uninstall],
        progress: Callable[[Progress], None] | None,
        cancel: threading.Event | None,
        journal: Journal,
    ) -> tuple[ObjectRef, ...]:
        """Check once more what an edit uninstalls, and delete what would block it; every edit calls this."""
        listed = list(effects)
        refuse_unplanned(listed, planned)
        gone = {effect.module for effect in listed if effect.uninstalls}
        return self.unblock([uninstall for uninstall in planned if uninstall.module in gone], cancel, progress, journal)

    def unblock(
        self,
        planned: Sequence[Uninstall],
        cancel: threading.Event | None = None,
        progress: Callable[[Progress], None] | None = None,
        journal: Journal = NO_JOURNAL,
    ) -> tuple[ObjectRef, ...]:
        """Delete what blocks the deletion of modules, as far as the plans allow it; return what was deleted."""
        if not planned:
            return ()
        return prepare_uninstalls(self._deletions(self._session), planned, progress, cancel, journal)

    def may_write(self, proposal: EditProposal | LabelProposal) -> bool:
        """Return whether the user may patch the Kyma of a proposal."""
        if proposal.edit is None:
            return False
        kyma = proposal.edit.kyma
        return self._session.cluster.allowed("patch", kyma.kind, kyma.namespace, kyma.name)

    def carry_out(
        self,
        proposal: EditProposal,
        cancel: threading.Event | None = None,
        planned: Sequence[Uninstall] = (),
        progress: Callable[[Progress], None] | None = None,
        journal: Journal = NO_JOURNAL,
    ) -> int:
        """Write the edit; return the Kyma's generation after it.

        What the edit uninstalls has to be in `planned`: it is checked once more, and what blocks it is deleted first
        where the plan allows that. Raises RefusedError, and PartlyDoneError where what blocks it does not go.
        """
        if proposal.edit is None or proposal.is_refused:
            raise RefusedError("; ".join(proposal.refusals))
        gone = self._prepare(proposal.effects, planned, progress, cancel, journal)
        module = proposal.toggle.module
        with _naming_deleted(gone):
            if cancel is not None and cancel.is_set():
                raise CancelledError(f"stopped before the edit of {module}")
            with journal.step("edit", module):
                kyma = carry_out(self._session.cluster, proposal.edit, entry_change(proposal.toggle), cancel)
        return read_meta(JsonReader(kyma)).generation

    def is_made(self, proposal: EditProposal) -> bool:
        """Return whether the Kyma, read again, already has the content of an edit."""
        return proposal.edit is not None and is_made(self.cluster, proposal.edit, entry_change(proposal.toggle))

    def follow(
        self,
        proposal: EditProposal,
        generation: int,
        changed: threading.Event,
        timeout: float,
        progress: Callable[[EditProgress], None],
        cancel: threading.Event | None = None,
        *,
        unattended: bool = False,
    ) -> EditProgress:
        """Follow one edit, as `follow_all`. Raise PartlyDoneError if it does not complete."""
        edit = StartedEdit(proposal, generation)
        (ended,) = self.follow_all(
            [edit], changed, timeout, lambda _, stage: progress(stage), cancel, unattended=unattended
        )
        if ended.failed:
            raise PartlyDoneError(ended.failed, hint=f"`kymatui module {proposal.toggle.module}`")
        return ended.stage

    def follow_all(
        self,
        started: Sequence[StartedEdit],
        changed: threading.Event,
        timeout: float,
        progress: Callable[[int, EditProgress], None],
        cancel: threading.Event | None = None,
        *,
        unattended: bool = False,
    ) -> list[EditOutcome]:
        """Follow edits side by side, until all have ended or `timeout` seconds are over.

        `progress` gets the place of an edit and each of its stages that differs from the one before. Where a run is
        `unattended`, an edit that only a person can take further ends after `USER_ACTION_SECONDS`.
        Raises CancelledError.
        """
        cache = ReadCache()
        stages = [partial(self._stage, edit.proposal, edit.generation, cache) for edit in started]
        edited = {edit.proposal.toggle.module: edit.generation > 0 for edit in started}
        watch = EditWatch(stages, edited, changed, timeout, progress, cancel, self._silent, unattended=unattended)
        ends = watch.ends()
        self._finish_backups(edit.proposal for edit, end in zip(started, ends, strict=True) if not end.failed)
        return ends

    def _finish_backups(self, proposals: Iterable[EditProposal | LabelProposal]) -> None:
        """Note in the backups of modules that are uninstalled now that their deletion has ended."""
        for proposal in proposals:
            gone = {effect.module for effect in proposal.effects if effect.uninstalls}
            if isinstance(proposal, EditProposal) and proposal.toggle.verb is EditVerb.DISABLE:
                gone.add(proposal.toggle.module)  # also where the Kyma has the edit already, and so no effect
            for module in sorted(gone):
                self._deletions(self._session).finish_backups(module)

    def follow_labels(
        self,
        proposal: LabelProposal,
        changed: threading.Event,
        timeout: float,
        progress: Callable[[EditProgress], None],
        cancel: threading.Event | None = None,
    ) -> EditProgress:
        """Follow an edit of labels until the modules and copies that it adds or removes have come or gone."""
        stage = partial(self._label_stage, proposal, ReadCache())

        def report(_: int, stage: EditProgress) -> None:
            progress(stage)

        names = {"labels": True}
        watch = EditWatch([stage], names, changed, timeout, report, cancel, self._silent, unattended=True)
        (ended,) = watch.ends()
        if ended.failed:
            raise PartlyDoneError(ended.failed, hint="`kymatui catalog`")
        self._finish_backups([proposal])
        return ended.stage

    def _silent(self) -> str:
        """Return why what is displayed is stale; "" where the server answers."""
        stale = [feed for feed in self._session.snapshot().feeds.values() if feed.state is FeedState.STALE]
        return stale[0].message if stale else ""

    def standing(self, proposal: EditProposal) -> EditProgress:
        """Return where an edit stands that the Kyma has already, whoever made it."""
        return self._stage(proposal, 0, ReadCache())

    def _stage(self, proposal: EditProposal, generation: int, cache: ReadCache) -> EditProgress:
        assert proposal.edit is not None
        snapshot = self._session.snapshot()
        return track_edit(
            proposal.toggle, proposal.edit, generation, snapshot, build_catalog(snapshot, time.time(), cache=cache)
        )

    def _label_stage(self, proposal: LabelProposal, cache: ReadCache) -> EditProgress:
        snapshot = self._session.snapshot()
        return track_label_edit(
            proposal, snapshot, build_catalog(snapshot, time.time(), cache=cache), self._sync_plan()
        )

    def _sync_plan(self) -> SyncPlan | None:
        """Return the catalog sync of a runtime; None for a single cluster."""
        return None
