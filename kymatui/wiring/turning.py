"""One guided deletion on its way: turn after turn, each decided by a new look at the cluster."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kymatui.domain.catalog import catalog
from kymatui.domain.kymas import Policy
from kymatui.domain.observing import World, observe
from kymatui.domain.refs import ObjectRef
from kymatui.domain.toggling import Toggle, Verb
from kymatui.engine.departing import Charge, Departure, Turn, taken_up
from kymatui.errors import ForbiddenError, PartlyDoneError, RefusedError
from kymatui.wiring.agreeing import Agreement, keep, refuse
from kymatui.wiring.holding import expected
from kymatui.wiring.pair_toggling import edits_of

if TYPE_CHECKING:
    from kymatui.engine.remaining import Instances
    from kymatui.engine.running import Limits, Progress
    from kymatui.wiring.departing import Departing

_SAME_TURN = 3
_TOLD = 20.0
"""Seconds for lifecycle-manager to pass a policy on; what it creates again after that is found by the next look."""


@dataclass(frozen=True, slots=True)
class Departed:
    """What went, what stayed with the reason, how it ended in a sentence, and what somebody else had deleted."""

    gone: tuple[ObjectRef, ...]
    kept: tuple[tuple[ObjectRef, str], ...]
    words: str
    lost: tuple[ObjectRef, ...] = ()


class Going:
    """One deletion on its way."""

    def __init__(
        self,
        departing: Departing,
        module: str,
        namespace: str,
        agreement: Agreement,
        tell: Callable[[Progress], None] | None,
        cancel: threading.Event,
        changed: threading.Event,
    ) -> None:
        self._departing, self._cluster = departing, departing.cluster
        self._module, self._namespace, self._agreement = module, namespace, agreement
        self._tell, self._cancel, self._changed = tell, cancel, changed
        self._gone: list[ObjectRef] = []
        self._kept: list[tuple[ObjectRef, str]] = []
        self._lost: list[ObjectRef] = []
        self._has_left = False

    def go(self, turned: Callable[[Turn], None] | None) -> Departed:
        last, times, backed_up = None, 0, False
        while True:
            seen = self._departing.look(self._module, self._namespace, self._agreement.way)
            turn = seen.turn(accept_unknown=self._agreement.accept_unknown)
            self._refuse_another(seen, has_begun=last is not None)
            if turn is Turn.GONE:
                words = seen.refusal if last is None else "it is gone"
                return Departed(tuple(self._gone), tuple(self._kept), words, tuple(self._lost))
            times = times + 1 if turn is last else 1
            if times > _SAME_TURN:
                raise PartlyDoneError(f"{self._module} does not get further: {turn.value}", hint="run it again")
            last = turn
            refuse(seen, self._agreement)
            if turned is not None:
                turned(turn)
            if not backed_up and self._agreement.backup is not None:
                keep(self._agreement.backup, seen, self._cluster, self._departing.manifests_on)
                backed_up = True
            ended = self._take(turn, seen)
            if ended is not None:
                return Departed(tuple(self._gone), tuple(self._kept), ended, tuple(self._lost))

    def _refuse_another(self, seen: Departure, *, has_begun: bool) -> None:
        """Raises OutdatedError where somebody installed something else since it was agreed to, RefusedError or
        PartlyDoneError where somebody wants the module again."""
        from kymatui.engine.deleting import refuse_another

        agreed = self._agreement.seen
        if agreed is None:
            return
        if agreed.found is not None and seen.found is not None:
            refuse_another(agreed.found.inventory, seen.found.inventory)
        if words := taken_up(agreed, seen, has_left=self._has_left):
            hint = f"it stays as it is; delete {seen.module} once more if it is to go all the same"
            raise PartlyDoneError(words, hint=hint) if has_begun else RefusedError(words, hint=hint)

    def _take(self, turn: Turn, seen: Departure) -> str | None:
        """Takes a turn; a sentence where the deletion ends with it."""
        match turn:
            case Turn.UNMANAGE:
                self._edit(Toggle(Verb.UNMANAGE, self._module))
                return (
                    f"lifecycle-manager has let go of {self._module}, and everything stays; take over what is there "
                    f"with `kymatui adopt {self._module}`, and delete it then"
                )
            case Turn.IGNORE:
                self._edit(Toggle(Verb.POLICY, self._module, policy=Policy.IGNORE))
                self._until(self._is_told, _TOLD)
            case Turn.CLEAR:
                self._clear(seen)
                if seen.charge is Charge.NOBODY:
                    self._see_what_stays(seen, "nothing is made of it any more, and nobody looks after it")
            case Turn.LEAVE:
                self._edit(Toggle(Verb.DISABLE, self._module))
                self._has_left = True
                self._see_what_stays(seen)
            case Turn.FOLLOW:
                self._follow()
                self._see_what_stays(seen)
            case Turn.MANIFEST:
                self._delete_manifest(seen)
            case Turn.UNDEPLOY:
                return self._undeploy(seen)
            case _:
                raise AssertionError(turn)
        return None

    def _limits(self) -> Limits:
        from kymatui.engine.running import Limits

        return Limits(gone=self._agreement.timeout, hooks=self._agreement.timeout)

    def _clear(self, seen: Departure) -> None:
        from kymatui.engine.clearing import Consent, clear
        from kymatui.engine.running import begin

        consent = Consent(True, self._agreement.accept_unknown)

        def count() -> Instances:
            now = self._departing.look(self._module, self._namespace, self._agreement.way)
            refuse(now, self._agreement)
            return now.remaining

        try:
            with begin(self._cluster, cancel=self._cancel, tell=self._tell, limits=self._limits()) as run:
                clear(run, self._module, count, consent, self._gone, own=seen.by_hand)
        except PartlyDoneError as error:
            raise PartlyDoneError(str(error), hint=f"{expected(seen)}, then run it again") from error

    def _edit(self, toggle: Toggle) -> None:
        from kymatui.engine.running import Progress

        toggling = edits_of(self._departing.session)
        proposal = toggling.propose(toggle)
        if proposal.is_refused:
            raise RefusedError("; ".join(proposal.refusals), hint="nothing was changed in the Kyma")
        generation = toggling.carry_out(proposal, self._cancel)

        def told(stage: Any) -> None:
            if self._tell is not None:
                self._tell(Progress(stage.words, waits=None if stage.finished else stage.actor))

        toggling.follow(proposal, generation, self._changed, self._agreement.timeout, told, self._cancel)

    def _follow(self) -> None:
        """Somebody has taken it out of the Kyma already: lifecycle-manager is at work."""
        from kymatui.engine.running import Progress

        deadline, last = time.monotonic() + self._agreement.timeout, ""
        while True:
            self._changed.clear()
            snapshot = self._departing.session.snapshot()
            row = catalog(snapshot, time.time(), memory=self._departing.memory).row(self._module)
            if row is None or not row.reports.kyma:
                return
            words = f"{row.reason.text} (waits for {row.actor.value})" if row.actor.value else row.reason.text
            if words != last and self._tell is not None:
                self._tell(Progress(row.reason.text, waits=row.actor))
            last = words
            if time.monotonic() > deadline:
                raise PartlyDoneError(f"{self._module} is still there: {words}", hint="run it again to go on waiting")
            self._pause(deadline)

    def _pause(self, deadline: float) -> None:
        from kymatui.errors import CancelledError

        if self._cancel.is_set():
            raise CancelledError(f"nobody waits for {self._module} any more; lifecycle-manager goes on")
        self._changed.wait(min(0.5, max(0.0, deadline - time.monotonic())))

    def _delete_manifest(self, seen: Departure) -> None:
        from kymatui.engine.clearing import wait_until_gone
        from kymatui.engine.running import begin

        assert seen.manifest is not None
        with begin(self._departing.manifests_on, cancel=self._cancel, tell=self._tell, limits=self._limits()) as run:
            live = run.cluster.get(seen.manifest)
            if live is not None:
                with run.step("delete", seen.manifest):
                    run.cluster.delete(seen.manifest, uid=str(live["metadata"].get("uid") or ""))
                uids = {seen.manifest: str(live["metadata"].get("uid") or "")}
                wait_until_gone(run, uids, "which installed the module", self._gone)
        self._until(lambda world: self._module not in world.manifests)

    def _until(self, holds: Callable[[World], bool], most: float = float("inf")) -> None:
        """Waits for what others do, and for the watches to see it."""
        deadline = time.monotonic() + min(self._agreement.timeout, most)
        departing = self._departing
        while not holds(observe(departing.session.snapshot(), memory=departing.memory)):
            if time.monotonic() >= deadline:
                return
            self._pause(deadline)

    def _is_told(self, world: World) -> bool:
        """Whether lifecycle-manager has passed the policy on; where Manifests are not to be seen, nobody can tell."""
        manifest = world.manifests.get(self._module)
        return manifest is None or manifest.policy == Policy.IGNORE

    def _undeploy(self, seen: Departure) -> str:
        from kymatui.engine.deleting import delete
        from kymatui.engine.running import begin
        from kymatui.wiring.engine import journal_path

        found = seen.found
        assert found is not None
        journal = journal_path(found.cluster, found.inventory.namespace, found.inventory.name)
        agreement = self._agreement
        with begin(
            self._cluster,
            cancel=self._cancel,
            journal=journal,
            tell=self._tell,
            limits=self._limits(),
            purpose=f"delete {self._module}",
        ) as run:
            ended = delete(found, run, cascade=agreement.cascade, accept_unknown=agreement.accept_unknown)
        self._gone += ended.gone
        self._kept += [(step.ref, step.reason) for step in ended.kept]
        self._lost += ended.lost
        return ""

    def _see_what_stays(self, seen: Departure, reason: str = "lifecycle-manager has left it") -> None:
        """Definitions belong to who applied them: what is left of them is told, and not deleted."""
        known = {ref for ref, _ in self._kept}
        for ref in seen.definitions:
            if ref in known:
                continue
            try:
                live = self._cluster.get(ref)
            except ForbiddenError:
                continue
            if live is not None and not live["metadata"].get("deletionTimestamp"):
                self._kept.append((ref, reason))
