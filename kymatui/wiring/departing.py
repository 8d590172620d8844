"""The guided deletion for front ends: one look at the cluster says where it stands, one turn takes it further."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kymatui.domain.catalog import catalog
from kymatui.domain.direct import unknown
from kymatui.domain.kymas import Policy
from kymatui.domain.manifests import default_resource
from kymatui.domain.objects import OPERATOR, read_meta, read_ref
from kymatui.domain.observing import World, observe
from kymatui.domain.presence import Presence
from kymatui.domain.reading import Reader
from kymatui.domain.refs import ObjectRef
from kymatui.domain.remainders import associated_kinds
from kymatui.domain.rows import Row
from kymatui.domain.states import State
from kymatui.domain.templates import Template
from kymatui.domain.toggling import Toggle, Verb
from kymatui.engine.departing import Charge, Departure, Turn, Way, taken_up
from kymatui.errors import ForbiddenError, PartlyDoneError, RefusedError
from kymatui.wiring.holding import expected
from kymatui.wiring.pair_toggling import edits_of

if TYPE_CHECKING:
    from kymatui.engine.ports import Cluster
    from kymatui.engine.remaining import GroupKind, Instances
    from kymatui.engine.running import Limits, Progress
    from kymatui.wiring.pairs import PairSession
    from kymatui.wiring.runtime_sessions import RuntimeSession
    from kymatui.wiring.sessions import CatalogSession

_OWNED_BY = (f"deprecated-{OPERATOR}/owned-by", f"{OPERATOR}/owned-by")
_SAME_TURN = 3
_TOLD = 20.0
"""Seconds for lifecycle-manager to pass a policy on; what it creates again after that is found by the next look."""


@dataclass(frozen=True, slots=True)
class Agreement:
    """What a person agreed to; `backup` is where what is deleted is kept first, None keeps nothing.

    `seen` is what was looked at: where something else is to be taken away by now, that is not agreed to.
    """

    cascade: bool = False
    accept_unknown: bool = False
    way: Way = Way.LET
    backup: Path | None = None
    timeout: float = 300.0
    seen: Departure | None = None


@dataclass(frozen=True, slots=True)
class Departed:
    """What went, what stayed with the reason, how it ended in a sentence, and what somebody else had deleted."""

    gone: tuple[ObjectRef, ...]
    kept: tuple[tuple[ObjectRef, str], ...]
    words: str
    lost: tuple[ObjectRef, ...] = ()


class Departing:
    """The deletions of one session, which was started. Methods block; they are called from one thread at a time.

    Manifests are where they are watched: on the control plane, where the session is with a runtime and its own.
    """

    def __init__(self, session: CatalogSession | PairSession | RuntimeSession, cluster: Cluster | None = None) -> None:
        from kymatui.wiring.engine import cluster_of

        self._session = session
        self._cluster = cluster if cluster is not None else cluster_of(session.client)
        self.manifests_on: Cluster = getattr(session, "home", self._cluster)
        self._stop = threading.Event()

    # looking

    def look(self, module: str, namespace: str = "", way: Way = Way.LET) -> Departure:
        """Where the deletion of a module stands now. Lists everything that its manager looks after; writes nothing."""
        from kymatui.engine.removals import removal
        from kymatui.engine.running import SystemClock
        from kymatui.wiring.installing import find_installed

        snapshot = self._session.snapshot()
        row = catalog(snapshot, time.time()).row(module)
        world = observe(snapshot)
        unseen = tuple(unknown(snapshot.feeds))
        charge = self._charge(row, world, module)
        made = Departure(self._cluster.name, module, charge, way=way)
        if charge in (Charge.KYMA, Charge.MANIFEST):
            assert row is not None
            return self._through_manager(made, row, world)
        known = find_installed(self._cluster, module, namespace)
        found = removal(module, known.namespace, self._cluster, SystemClock()) if known is not None else None
        if found is not None:
            return _with_unseen(self._direct(replace(made, charge=Charge.DIRECT), found, row), unseen)
        if row is not None and row.presence is Presence.ORPHAN:
            return _with_unseen(self._left_behind(made, row, world), unseen)
        return _with_unseen(_not_ours(made, row), unseen)

    def _charge(self, row: Row | None, world: World, module: str) -> Charge:
        if row is None or row.presence is Presence.NOT_INSTALLED:
            return Charge.NOBODY
        if row.managed or (world.kyma is not None and world.kyma.report(module) and row.presence is Presence.DELETING):
            return Charge.KYMA
        if row.presence is Presence.UNMANAGED:
            return Charge.UNMANAGED
        return Charge.MANIFEST if row.manifest is not None else Charge.SOMEBODY

    def _left_behind(self, made: Departure, row: Row, world: World) -> Departure:
        """A module's resources without their manager; nobody would take their definitions away, either."""
        templates = _templates(row, world)
        kinds = {(gvk.group, gvk.kind) for template in templates for gvk in associated_kinds(template)}
        definitions = tuple(read_ref(raw) for raw in world.snapshot.definitions if _defines(raw) in kinds)
        remaining = self._count(templates, definitions, None)
        return replace(made, charge=Charge.NOBODY, remaining=remaining, definitions=definitions)

    def _through_manager(self, made: Departure, row: Row, world: World) -> Departure:
        templates = _templates(row, world)
        request = world.kyma.request(row.name) if world.kyma is not None else None
        report = world.kyma.report(row.name) if world.kyma is not None else None
        policy = request.policy if request is not None else ""
        default = _default(templates, row.name)
        definitions = self._definitions(row, world)
        counted = self._count(templates, definitions, default)
        refusal = "it is mandatory: every runtime has it, and no Kyma can refuse it" if row.mandatory else ""
        return replace(
            made,
            installed=row.installed,
            remaining=counted,
            default=next(iter(counted.ours), None),
            requested=request is not None and made.charge is Charge.KYMA,
            reported=report.state if report is not None else "",
            by_hand=policy == Policy.IGNORE,
            manager=row.manager,
            runs=row.readiness is not None and row.readiness.state is State.READY,
            definitions=definitions,
            manifest=row.manifest,
            control=self.manifests_on.name if self.manifests_on is not self._cluster else "",
            reported_by_manifest=str(row.reports.manifest),
            refusal=refusal and f"{row.name}: {refusal}",
        )

    def _direct(self, made: Departure, found: Any, row: Row | None) -> Departure:
        from kymatui.engine.ordering import is_definition

        return replace(
            made,
            installed=found.inventory.version,
            remaining=found.remaining,
            found=found,
            manager=row.manager if row is not None else None,
            runs=row is not None and row.readiness is not None and row.readiness.state is State.READY,
            definitions=tuple(step.ref for step in found.steps if is_definition(step.ref)),
        )

    def _definitions(self, row: Row, world: World) -> tuple[ObjectRef, ...]:
        """Those that carry the same owner as the module's manager: lifecycle-manager marks all that it applies."""
        owner = _owner(row, world)
        return tuple(read_ref(raw) for raw in world.snapshot.definitions if owner and _owned_by(raw) == owner)

    def _count(
        self, templates: Iterable[Template], definitions: Iterable[ObjectRef], default: ObjectRef | None
    ) -> Instances:
        from kymatui.engine.concurrency import WIDTH
        from kymatui.engine.ordering import identity
        from kymatui.engine.remaining import count, without_operator_kinds

        declared = [(gvk.group, gvk.kind) for template in templates for gvk in associated_kinds(template)]
        kinds = without_operator_kinds([*declared, *self._kinds_of(definitions)])
        own = frozenset({identity(default)}) if default is not None else frozenset()
        return count(own, self._cluster, kinds, self._stop, WIDTH)

    def _kinds_of(self, definitions: Iterable[ObjectRef]) -> list[GroupKind]:
        """By what the server says that it serves: a definition's plural is no kind."""
        names = {ref.name for ref in definitions}
        if not names:
            return []
        served = self._cluster.all_kinds()
        return [(kind.gvk.group, kind.gvk.kind) for kind in served if f"{kind.resource}.{kind.gvk.group}" in names]

    # going on

    def carry_out(
        self,
        module: str,
        agreement: Agreement,
        *,
        namespace: str = "",
        tell: Callable[[Progress], None] | None = None,
        cancel: threading.Event | None = None,
        changed: threading.Event | None = None,
        turned: Callable[[Turn], None] | None = None,
    ) -> Departed:
        """One turn after the other, each decided by a new look, until nothing is left; `turned` is told each of them.

        Raises RefusedError (a person has to agree to more; nothing was deleted since the last look), PartlyDoneError
        (something is held; call it again to go on), CancelledError.
        """
        going = _Going(self, module, namespace, agreement, tell, cancel or self._stop, changed or threading.Event())
        return going.go(turned)

    @property
    def session(self) -> CatalogSession | PairSession | RuntimeSession:
        return self._session

    @property
    def cluster(self) -> Cluster:
        return self._cluster


class _Going:
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
                keep(self._agreement.backup, seen, self._cluster)
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
                waits = f" (waits for {stage.actor.value})" if stage.actor.value and not stage.finished else ""
                self._tell(Progress(f"{stage.words}{waits}"))

        toggling.follow(proposal, generation, self._changed, self._agreement.timeout, told, self._cancel)

    def _follow(self) -> None:
        """Somebody has taken it out of the Kyma already: lifecycle-manager is at work."""
        from kymatui.engine.running import Progress

        deadline, last = time.monotonic() + self._agreement.timeout, ""
        while True:
            self._changed.clear()
            snapshot = self._departing.session.snapshot()
            row = catalog(snapshot, time.time()).row(self._module)
            if row is None or not row.reports.kyma:
                return
            words = f"{row.reason.text} (waits for {row.actor.value})" if row.actor.value else row.reason.text
            if words != last and self._tell is not None:
                self._tell(Progress(words))
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
        while not holds(observe(self._departing.session.snapshot())) and time.monotonic() < deadline:
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


# what a person has to agree to


def refuse(seen: Departure, agreement: Agreement) -> None:
    """Raises RefusedError where the next turn needs more than was agreed to."""
    from kymatui.engine.clearing import Consent, refuse_unless_agreed

    if seen.refusal and seen.charge is not Charge.NOBODY:
        raise RefusedError(seen.refusal, hint="nothing was changed")
    agreed = seen.default if seen.way is Way.IGNORE else None
    asked = (
        seen.remaining.theirs if seen.charge is Charge.DIRECT else tuple(one for one in seen.theirs if one != agreed)
    )
    left = replace(seen.remaining, instances=tuple(replace(one, ours=False) for one in asked))
    cascade = agreement.cascade or seen.way is Way.UNMANAGE
    refuse_unless_agreed(left, seen.module, Consent(cascade, agreement.accept_unknown))


def keep(path: Path, seen: Departure, cluster: Cluster) -> tuple[int, int]:
    """Writes what the deletion may take away; how many objects, and of how many Secrets the data is left out."""
    from kymatui.wiring.backups import write_backup

    own = [step.ref for step in seen.found.deletions] if seen.found is not None else []
    refs = [*(one.ref for one in seen.remaining.instances if not one.shared), *own]
    return write_backup(path, dict.fromkeys(refs), cluster, _heading(seen))


def _heading(seen: Departure) -> tuple[str, ...]:
    if seen.charge is not Charge.KYMA:
        return (f"{seen.module} {seen.installed} in {seen.cluster}".strip(),)
    return (
        f"{seen.module} {seen.installed} in {seen.cluster}, installed by lifecycle-manager",
        f"`kymatui enable {seen.module}` asks the Kyma for it again; restore what is below after that",
    )


def _with_unseen(made: Departure, unseen: Iterable[str]) -> Departure:
    """Where nobody knows what lifecycle-manager manages, nobody knows whether it would create the module again."""
    reasons = [(name, why.removesuffix(")")) for name, _, why in (one.partition(" (") for one in unseen)]
    return replace(made, remaining=replace(made.remaining, unknown=(*made.remaining.unknown, *reasons)))


def _not_ours(made: Departure, row: Row | None) -> Departure:
    if made.charge is Charge.NOBODY:
        return replace(made, refusal=f"{made.module} is not installed in {made.cluster}: nothing is left of it")
    if made.charge is Charge.UNMANAGED:
        refusal = (
            f"{made.module} is unmanaged: lifecycle-manager has let go of it, and nothing says what belongs to it; "
            f"take it over with `kymatui adopt {made.module}`, or let it be managed again"
        )
    else:
        refusal = (
            f"{made.module} is not installed by kymatui in {made.cluster}, and nothing says what belongs to it; "
            f"take it over with `kymatui adopt {made.module}`"
        )
    installed = row.installed if row is not None else ""
    return replace(made, installed=installed, manager=row.manager if row is not None else None, refusal=refusal)


def _templates(row: Row, world: World) -> tuple[Template, ...]:
    """Those of the version that is installed and of the one that is wanted; all, where neither is known."""
    offers = world.shelf.offers(row.name)
    wanted = [template for template in offers if template.version in (row.installed, row.desired)]
    resolved = row.resolution.template
    found = [*([resolved] if resolved is not None else []), *(wanted or offers)]
    return tuple({template.ref: template for template in found}.values())


def _default(templates: Iterable[Template], module: str) -> ObjectRef | None:
    made = (default_resource(t.data, module) for t in templates if t.data is not None and t.resource_kind is not None)
    return next(made, None)


def _owner(row: Row, world: World) -> str:
    if row.manifest is not None:
        return f"{row.manifest.namespace}/{row.manifest.name}"
    workloads = world.snapshot.workloads if row.manager is not None else ()
    return next((_owned_by(raw) for raw in workloads if read_ref(raw) == row.manager), "")


def _defines(raw: object) -> tuple[str, str]:
    """Group and kind of what a CustomResourceDefinition defines."""
    spec = Reader(raw).child("spec")
    return spec.text("group"), spec.child("names").text("kind")


def _owned_by(raw: object) -> str:
    """The Manifest that an object says it belongs to, as "namespace/name"; "" for none."""
    annotations = read_meta(Reader(raw)).annotations
    return next((annotations[name] for name in _OWNED_BY if name in annotations), "")


def ways(seen: Departure) -> Iterator[Way]:
    """The ways out that there are for the default resource."""
    yield Way.LET
    if seen.charge is Charge.KYMA and seen.requested:
        if seen.default is not None:
            yield Way.IGNORE
        yield Way.UNMANAGE
