"""What works on a Kyma: lifecycle-manager, or kymatui's operator, which has the same role on other clusters.

`find_keeper` decides it for every text. Sentences are written for lifecycle-manager; where the operator has its role,
`with_keeper` names that instead.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, ClassVar, Final, Protocol, TypeVar, cast

from msgspec import Struct
from msgspec.structs import replace

from kymatui.domain.kubernetes.json_reader import JsonReader
from kymatui.domain.kubernetes.object_meta import field_managers, last_writes, parse_time, read_ref
from kymatui.domain.kyma.controller_flags import read_controller_flags
from kymatui.domain.kyma.problems import Actor, Advice, Reason, advice_for_runtime
from kymatui.moments import format_duration
from kymatui.patterns import deferred

OWN_OPERATOR: Final = "kymatui-operator"
"""The field manager of kymatui's operator, and the name of its Deployment."""
ELECTION: Final = "893110f7.kyma-project.io"
"""The name of the Lease for which lifecycle-manager's replicas compete."""
_LIFECYCLE_MANAGERS: Final = ("lifecycle-manager", "module-manager")
_LIFECYCLE_PREFIX: Final = "declarative.kyma-project.io/"
_NAME: Final = deferred(r"(?<![\w./-])lifecycle-manager(?![\w./-]*\w)")
"""The name as a word, and no part of the name of an object."""
NOT_RUNNING: Final = f"{Actor.KLM} is not running"
CLOCKS_DIFFER: Final = 60.0  # seconds that the clocks of two machines may differ
RECENT_WRITE: Final = 600.0  # seconds; a Kyma's status is written every five minutes


class _Statement(Protocol):
    """A data class with a sentence and who acts."""

    __struct_fields__: ClassVar[tuple[str, ...]]

    @property
    def message(self) -> str: ...

    @property
    def actor(self) -> Actor: ...


class _Advised(_Statement, Protocol):
    """The same with what to do."""

    @property
    def advice(self) -> Advice | None: ...


A = TypeVar("A", bound=_Advised)
S = TypeVar("S", bound=_Statement)


def is_lifecycle_manager(manager: str) -> bool:
    """Return whether a field manager is lifecycle-manager's."""
    return manager in _LIFECYCLE_MANAGERS or manager.startswith(_LIFECYCLE_PREFIX)


class KeeperLease(Struct, frozen=True):
    """What works on a Kyma, as its Lease reports it.

    holder   holder of the Lease, "" for none
    age      seconds since the last renewal, None if unknown
    works    whether it is running
    unread   why the Lease cannot be read, or does not say it, so that `works` is unknown
    renewed  when it was renewed last, in seconds of the holder's Unix clock, None for never
    """

    holder: str
    age: float | None = None
    works: bool = False
    keeper: Actor = Actor.OPERATOR
    unread: str = ""
    renewed: float | None = None

    @property
    def message(self) -> str:
        """Return the status as a phrase."""
        if self.unread:
            return f"unknown whether it runs: {self.unread}"
        return self.evidence if self.works else f"not running: {self.evidence}"

    @property
    def doubt(self) -> str:
        """Return that it is unknown whether the keeper runs, and why; "" where it is known."""
        return f"it is unknown whether {self.keeper} runs: {self.unread}" if self.unread else ""

    @property
    def evidence(self) -> str:
        """Return what the Lease says."""
        if not self.holder:
            return "it holds no Lease"
        since = f"renewed {format_duration(self.age)} ago" if self.age is not None else "never renewed"
        return f"{self.holder} holds its Lease, {since}"

    def is_renewed_since(self, before: KeeperLease) -> bool:
        """Return whether its holder has renewed it after an earlier reading."""
        is_held = bool(self.holder) and (self.keeper, self.holder) == (before.keeper, before.holder)
        return is_held and (self.renewed or 0.0) > (before.renewed or 0.0)


def read_lease(
    lease: Mapping[str, Any] | None, now: float, is_dead: Callable[[str], bool], keeper: Actor = Actor.OPERATOR
) -> KeeperLease:
    """Return what a Lease reports; `now` is in seconds of the Unix clock.

    `is_dead` knows holders that have ended. Clocks of machines differ, so a Lease is stale only well after its
    duration.
    """
    spec = JsonReader(lease or {}).child("spec")
    holder, renewed = spec.text("holderIdentity"), parse_time(spec.text("renewTime"))
    age = max(0.0, now - renewed) if renewed is not None else None
    is_fresh = age is not None and age <= spec.integer("leaseDurationSeconds") + CLOCKS_DIFFER
    if not holder:  # a new replica takes it after the one that released it has ended
        unread = f"its Lease was released {format_duration(age)} ago" if age is not None and is_fresh else ""
        return KeeperLease("", age, keeper=keeper, unread=unread, renewed=renewed)
    return KeeperLease(holder, age, is_fresh and not is_dead(holder), keeper, renewed=renewed)


def write_since(lease: KeeperLease, objects: Iterable[Mapping[str, Any]], now: float) -> str:
    """Return what the keeper wrote after the last renewal of its Lease, "" for nothing; it may run without one.

    Without a Lease, what it wrote in the last ten minutes counts. `now` is in seconds of the Unix clock.
    """
    since = now - RECENT_WRITE if lease.renewed is None else lease.renewed + CLOCKS_DIFFER
    for raw in objects:
        for manager, at in last_writes(raw):
            if at is not None and at > since and lease.keeper in _writers((manager,)):
                return str(read_ref(raw))
    return ""


def find_keeper(
    written: Iterable[Mapping[str, Any]], workloads: Iterable[Mapping[str, Any]] = (), lease: KeeperLease | None = None
) -> Actor | None:
    """Return what works on a Kyma, None if nothing shows it.

    `written` are the Kyma, or Manifests, with their field managers; `workloads` are those of the cluster, and
    `lease` is of one of them, if it is read. A cluster can change from one to the other: where both have written, or
    neither, the one that runs decides, then the last writer.
    """
    raws = tuple(written)
    by_actor = _writers(manager for raw in raws for manager in field_managers(raw))
    if len(by_actor) == 1:
        return by_actor.pop()
    running = {actor for raw in workloads if (actor := _deployed(raw)) is not None and not _is_scaled_down(raw)}
    if len(running) == 1:
        return running.pop()
    if lease is not None and lease.works:
        return lease.keeper
    return _last_writer(raws) if by_actor else None


def why_stopped(keeper: Actor, workloads: Iterable[Mapping[str, Any]], lease: KeeperLease | None) -> str:
    """Return why what works on a Kyma does not run, "" where it runs or nothing shows it.

    `workloads` are those of the cluster where it runs. A Deployment with ready Pods may run without leader election,
    and one that starts has no Lease yet.
    """
    own = lease if lease is not None and lease.keeper is keeper and not lease.unread else None
    if own is not None and own.works:
        return ""
    deployed = [raw for raw in workloads if _deployed(raw) is keeper]
    is_scaled_down = all(map(_is_scaled_down, deployed))
    if own is not None:
        starts = not own.holder and not is_scaled_down
        return "" if starts or any(map(_has_ready_pods, deployed)) else f"{keeper} is {own.message}"
    if not deployed or not is_scaled_down:
        return ""
    return f"{keeper} is not running: Deployment {read_ref(deployed[0]).path} is scaled to zero"


def possible_keepers(raw: Mapping[str, Any]) -> set[Actor]:
    """Return which of the two have written an object, and may work on it."""
    return _writers(field_managers(raw))


def _writers(managers: Iterable[str]) -> set[Actor]:
    known = (Actor.OPERATOR if name == OWN_OPERATOR else Actor.KLM for name in managers if is_keeper(name))
    return set(known)


def is_keeper(manager: str) -> bool:
    """Return whether a field manager is that of one of the two."""
    return manager == OWN_OPERATOR or is_lifecycle_manager(manager)


def _last_writer(raws: Iterable[Mapping[str, Any]]) -> Actor:
    """Return which of the two wrote last; lifecycle-manager if the times do not say it."""
    times: dict[Actor, list[float]] = {Actor.KLM: [0.0], Actor.OPERATOR: [0.0]}
    for raw in raws:
        for manager, written_at in last_writes(raw):
            if is_keeper(manager):
                times[Actor.OPERATOR if manager == OWN_OPERATOR else Actor.KLM].append(written_at or 0.0)
    return Actor.OPERATOR if max(times[Actor.OPERATOR]) > max(times[Actor.KLM]) else Actor.KLM


def _deployed(raw: object) -> Actor | None:
    """Return which of the two a Deployment runs, None if neither."""
    reader = JsonReader(raw)
    if reader.text("kind") != "Deployment":
        return None
    if reader.child("metadata").text("name") == OWN_OPERATOR:
        return Actor.OPERATOR
    return Actor.KLM if isinstance(raw, Mapping) and read_controller_flags(raw) is not None else None


def _is_scaled_down(raw: object) -> bool:
    return JsonReader(raw).child("spec").integer("replicas", 1) == 0


def _has_ready_pods(raw: object) -> bool:
    return JsonReader(raw).child("status").integer("readyReplicas") > 0


def with_keeper(text: str, keeper: Actor) -> str:
    """Return a sentence about lifecycle-manager as one about what works on the Kyma."""
    return text if keeper is Actor.KLM else _NAME.sub(keeper.value, text)


def actor_with_keeper(actor: Actor, keeper: Actor, *, stopped: bool | str = False) -> Actor:
    """Return who acts: what works on the Kyma in place of lifecycle-manager, or who can start it."""
    if actor is not Actor.KLM:
        return actor
    return Actor.CLUSTER if stopped else keeper


def statement_with_keeper(statement: S, keeper: Actor, *, stopped: bool | str = False) -> S:
    """Return a problem, risk or progress that names what works on the Kyma."""
    actor = actor_with_keeper(statement.actor, keeper, stopped=stopped)
    message = with_keeper(statement.message, keeper)
    if (message, actor) == (statement.message, statement.actor):
        return statement
    return cast(S, replace(cast(Struct, statement), message=message, actor=actor))


def for_reader(statement: A, keeper: Actor, runtime: str, *, stopped: bool | str = False) -> A:
    """Return a problem or risk that names what works on the Kyma, and commands for its reader.

    `runtime` is the name under which its control plane knows the cluster, "" if it is read directly; `stopped` means
    that the keeper does not run now.
    """
    named = statement_with_keeper(statement, keeper, stopped=stopped)
    advice = _advice_for_reader(named.advice, keeper, runtime)
    return named if advice is named.advice else cast(A, replace(cast(Struct, named), advice=advice))


def reason_for_reader(reason: Reason, keeper: Actor, runtime: str, *, stopped: bool | str = False) -> Reason:
    """Return a reason that names what works on the Kyma, and commands for its reader; `stopped` as in `for_reader`."""
    effect = reason.effect
    if stopped and reason.actor is Actor.KLM:
        effect = f"{effect}; {NOT_RUNNING}" if effect else NOT_RUNNING
    return replace(
        reason,
        cause=with_keeper(reason.cause, keeper),
        effect=with_keeper(effect, keeper),
        actor=actor_with_keeper(reason.actor, keeper, stopped=stopped),
        advice=_advice_for_reader(reason.advice, keeper, runtime),
    )


def _advice_for_reader(advice: Advice | None, keeper: Actor, runtime: str) -> Advice | None:
    advice = advice_for_runtime(advice, runtime)
    return advice if advice is None else replace(advice, text=with_keeper(advice.text, keeper))
