"""Edits of the Kyma for front ends: from a live session to the cluster, and on to the end of what they set off."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final

from kymatui.domain.problems import Actor
from kymatui.domain.snapshots import FeedState
from kymatui.errors import CancelledError, PartlyDoneError, RefusedError

if TYPE_CHECKING:
    from kymatui.actions.plans import Uninstall
    from kymatui.actions.uninstall import Consent
    from kymatui.domain.effects import Effect
    from kymatui.domain.labelling import LabelProposal, Labels
    from kymatui.domain.pairs.offering import SyncPlan
    from kymatui.domain.remembering import Memory
    from kymatui.domain.stages import Stage
    from kymatui.domain.toggling import Proposal, Toggle
    from kymatui.engine.ports import Cluster
    from kymatui.engine.running import Progress
    from kymatui.wiring.pairs import PairSession
    from kymatui.wiring.runtime_sessions import RuntimeSession
    from kymatui.wiring.sessions import CatalogSession

YOURS: Final = 30.0
"""Seconds for which an edit may wait for a person: what starts often looks broken for a moment."""
_YOURS_BEFORE: Final = 3.0  # the same, of what was edited before
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

    def uninstalls(self, modules: Iterable[str], consent: Consent, timeout: float) -> tuple[Uninstall, ...]:
        """What these modules, which are uninstalled, still manage; lists it, and writes nothing."""
        from kymatui.actions.plans import DeletionRequest
        from kymatui.actions.uninstall import plan_uninstall
        from kymatui.wiring.backups import backup_path
        from kymatui.wiring.departing import Departing

        found = tuple(dict.fromkeys(modules))
        if not found:
            return ()
        port, made = Departing(self._session), []
        for module in found:
            path = consent.backup or backup_path(port.cluster.name, module, time.time())
            made.append(
                DeletionRequest(
                    module,
                    cascade=consent.cascade,
                    accept_unknown=consent.accept_unknown,
                    backup=path if consent.saves else None,
                    timeout=timeout,
                )
            )
        return tuple(plan_uninstall(port, one) for one in made)

    def carry_out_labels(
        self,
        proposal: LabelProposal,
        cancel: threading.Event | None = None,
        planned: Sequence[Uninstall] = (),
        tell: Callable[[Progress], None] | None = None,
    ) -> None:
        """Writes the labels, only where they are as they were seen; what they uninstall as `carry_out` does."""
        from kymatui.engine.toggling import carry_out_labels

        if proposal.edit is None or proposal.refusal:
            raise RefusedError(proposal.refusal)
        self._prepare(proposal.effects, planned, tell, cancel)
        carry_out_labels(self._labelled, proposal.edit, cancel)

    @property
    def _labelled(self) -> Cluster:
        """The cluster of the Kyma whose labels lifecycle-manager reads."""
        return self.cluster

    def _prepare(
        self,
        effects: Iterable[Effect],
        planned: Sequence[Uninstall],
        tell: Callable[[Progress], None] | None,
        cancel: threading.Event | None,
    ) -> None:
        """Every edit comes this way: what it uninstalls is checked once more, and what would block it deleted."""
        from kymatui.actions.uninstall import refuse_unplanned

        found = list(effects)
        refuse_unplanned(found, planned)
        gone = {effect.module for effect in found if effect.uninstalls}
        self.unblock([one for one in planned if one.module in gone], cancel, tell)

    def unblock(
        self,
        planned: Sequence[Uninstall],
        cancel: threading.Event | None = None,
        tell: Callable[[Progress], None] | None = None,
    ) -> None:
        """Deletes what blocks the deletion of modules, as far as the plans displayed it and allow it."""
        from kymatui.actions.uninstall import prepare_uninstalls
        from kymatui.wiring.departing import Departing

        if planned:
            prepare_uninstalls(Departing(self._session), planned, tell, cancel)

    def may_write(self, proposal: Proposal | LabelProposal) -> bool:
        """Whether the user may patch the Kyma of a proposal."""
        from kymatui.adapters.kube.clusters import KubeCluster

        if proposal.edit is None:
            return False
        kyma = proposal.edit.kyma
        return KubeCluster(self._session.client).allowed("patch", kyma.kind, kyma.namespace, kyma.name)

    def carry_out(
        self,
        proposal: Proposal,
        cancel: threading.Event | None = None,
        planned: Sequence[Uninstall] = (),
        tell: Callable[[Progress], None] | None = None,
    ) -> int:
        """Writes; returns the Kyma's generation after it.

        What the edit uninstalls has to be in `planned`: it is checked once more, and what blocks it is deleted first
        where the plan allows that. Raises RefusedError, and PartlyDoneError where what blocks it does not go.
        """
        from kymatui.adapters.kube.clusters import KubeCluster
        from kymatui.domain.objects import read_meta
        from kymatui.domain.reading import Reader
        from kymatui.domain.toggling import change_of
        from kymatui.engine.toggling import carry_out

        if proposal.edit is None or proposal.is_refused:
            raise RefusedError("; ".join(proposal.refusals))
        self._prepare(proposal.effects, planned, tell, cancel)
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
        *,
        unattended: bool = False,
    ) -> Stage:
        """As `follow_all`, of one edit. Raises PartlyDoneError where it does not come to its end."""
        one = Started(proposal, generation)
        (ended,) = self.follow_all([one], changed, timeout, lambda _, stage: tell(stage), cancel, unattended=unattended)
        if ended.failed:
            raise PartlyDoneError(ended.failed, hint=f"`kymatui module {proposal.toggle.module}`")
        return ended.stage

    def follow_all(
        self,
        started: Sequence[Started],
        changed: threading.Event,
        timeout: float,
        tell: Callable[[int, Stage], None],
        cancel: threading.Event | None = None,
        *,
        unattended: bool = False,
    ) -> list[Followed]:
        """Follow edits side by side, until all have ended or `timeout` seconds are over.

        `tell` gets the place of an edit and each of its stages that differs from the one before. Where a run is
        `unattended`, an edit that only a person can take further ends after `YOURS` seconds. Raises CancelledError.
        """
        from kymatui.domain.remembering import Memory

        memory = Memory()
        looks = [partial(self._stage, one.proposal, one.generation, memory) for one in started]
        edited = [one.generation > 0 for one in started]
        watch = _Watch(looks, edited, changed, timeout, tell, cancel, self._silent, unattended=unattended)
        return watch.ends()

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

        look = partial(self._label_stage, proposal, Memory())

        def told(_: int, stage: Stage) -> None:
            tell(stage)

        watch = _Watch([look], [True], changed, timeout, told, cancel, self._silent, unattended=True)
        (ended,) = watch.ends()
        if ended.failed:
            raise PartlyDoneError(ended.failed, hint="`kymatui catalog`")
        return ended.stage

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


@dataclass(frozen=True, slots=True)
class Started:
    """An edit that is followed; `generation` is the Kyma's after it, 0 where this run did not make it."""

    proposal: Proposal
    generation: int = 0


@dataclass(frozen=True, slots=True)
class Followed:
    """The last stage of an edit, and why it has not come to its end; "" where it has."""

    stage: Stage
    failed: str = ""


class _Watch:
    """One wait for what several edits set off."""

    def __init__(
        self,
        looks: Sequence[Callable[[], Stage]],
        edited: Sequence[bool],
        changed: threading.Event,
        timeout: float,
        tell: Callable[[int, Stage], None],
        cancel: threading.Event | None,
        silent: Callable[[], str],
        *,
        unattended: bool,
    ) -> None:
        self._looks, self._edited = looks, edited
        self._changed, self._timeout, self._tell, self._cancel = changed, timeout, tell, cancel
        self._silent, self._unattended = silent, unattended
        self._last: list[Stage | None] = [None] * len(looks)
        self._yours: list[float | None] = [None] * len(looks)
        """Since when only a person can take it further."""

    def ends(self) -> list[Followed]:
        deadline = time.monotonic() + self._timeout
        ended: dict[int, Followed] = {}
        while True:
            self._changed.clear()
            is_over = time.monotonic() >= deadline
            for at in range(len(self._looks)):
                if at not in ended and (found := self._look(at, is_over=is_over)) is not None:
                    ended[at] = found
            if len(ended) == len(self._looks):
                return [ended[at] for at in range(len(self._looks))]
            if self._cancel is not None and self._cancel.is_set():
                said = "the Kyma is edited" if any(self._edited) else "nothing was changed"
                raise CancelledError(f"{said}; stopped waiting, and lifecycle-manager continues")
            self._changed.wait(min(_LOOK, max(0.0, deadline - time.monotonic())))

    def _look(self, at: int, *, is_over: bool) -> Followed | None:
        """How it ended, None where it is still waited for."""
        now = self._looks[at]()
        if now != self._last[at]:
            self._tell(at, now)
            self._last[at] = now
        made = "the Kyma is edited" if self._edited[at] else "nothing was changed"
        if now.finished:
            return Followed(now, f"{made}; {now.words}" if now.held else "")
        if now.lost:
            return Followed(now, f"{made}; {now.words}")
        if self._is_yours(at, now):
            return Followed(now, f"{made}; action needed: {now.words}")
        if is_over:
            waited = f"not finished within {round(self._timeout, 1):g} s" if self._timeout > 0 else "not waited for"
            return Followed(now, f"{made}; {waited}: {self._silent() or now.words}")
        return None

    def _is_yours(self, at: int, now: Stage) -> bool:
        """Whether only a person can take it further, and has been the only one for a while."""
        if now.actor is not Actor.YOU or not self._unattended:
            self._yours[at] = None
            return False
        since = self._yours[at] = self._yours[at] or time.monotonic()
        return time.monotonic() - since >= (YOURS if self._edited[at] else _YOURS_BEFORE)
