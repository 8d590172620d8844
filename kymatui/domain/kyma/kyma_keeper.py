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
from kymatui.domain.kubernetes.object_meta import field_managers, last_writes, parse_time
from kymatui.domain.kyma.controller_flags import read_controller_flags
from kymatui.domain.kyma.problems import Actor, Advice, Reason, advice_for_runtime
from kymatui.moments import format_duration
from kymatui.patterns import deferred

OWN_OPERATOR: Final = "kymatui-operator"
"""The field manager of kymatui's operator, and the name of its Deployment."""
_LIFECYCLE_MANAGERS: Final = ("lifecycle-manager", "module-manager")
_LIFECYCLE_PREFIX: Final = "declarative.kyma-project.io/"
_NAME: Final = deferred(r"(?<![\w./-])lifecycle-manager(?![\w./-]*\w)")
"""The name as a word, and no part of the name of an object."""
_CLOCKS_DIFFER: Final = 60.0  # seconds that the clocks of two machines may differ


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


class Operator(Struct, frozen=True):
    """kymatui's operator as its Lease reports it.

    holder  holder of the Lease, "" for none
    age     seconds since the last renewal, None if unknown
    works   whether the operator is running
    """

    holder: str
    age: float | None = None
    works: bool = False

    @property
    def message(self) -> str:
        """Return the status as a phrase."""
        if not self.holder:
            return "not running: its Lease has no holder"
        since = f"renewed {format_duration(self.age)} ago" if self.age is not None else "never renewed"
        return ("" if self.works else "not running: ") + f"{self.holder} holds its Lease, {since}"


def read_operator(lease: Mapping[str, Any] | None, now: float, is_dead: Callable[[str], bool]) -> Operator:
    """Return the operator of a Lease; `now` is in seconds of the Unix clock.

    `is_dead` knows holders that have ended. Clocks of machines differ, so a Lease is stale only well after its
    duration.
    """
    spec = JsonReader(lease or {}).child("spec")
    holder, renewed = spec.text("holderIdentity"), parse_time(spec.text("renewTime"))
    if not holder:
        return Operator("")
    age = max(0.0, now - renewed) if renewed is not None else None
    lease_seconds = spec.integer("leaseDurationSeconds") + _CLOCKS_DIFFER
    return Operator(holder, age, age is not None and age <= lease_seconds and not is_dead(holder))


def find_keeper(
    written: Iterable[Mapping[str, Any]], workloads: Iterable[Mapping[str, Any]] = (), operator: Operator | None = None
) -> Actor | None:
    """Return what works on a Kyma, None if nothing shows it.

    `written` are the Kyma, or Manifests, with their field managers; `workloads` are those of the cluster, and
    `operator` its Lease, if it is read. A cluster can change from one to the other: where both have written, or
    neither, the one that runs decides, then the last writer.
    """
    raws = tuple(written)
    by_actor = _writers(manager for raw in raws for manager in field_managers(raw))
    if len(by_actor) == 1:
        return by_actor.pop()
    running = {actor for raw in workloads if (actor := _deployed(raw)) is not None}
    if len(running) == 1:
        return running.pop()
    if operator is not None and operator.works:
        return Actor.OPERATOR
    return _last_writer(raws) if by_actor else None


def is_keeper_unclear(kyma: Mapping[str, Any]) -> bool:
    """Return whether both have written a Kyma."""
    return len(_writers(field_managers(kyma))) == 2


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
    """Return which of the two a Deployment runs, None if neither or without Pods."""
    reader = JsonReader(raw)
    if reader.text("kind") != "Deployment" or reader.child("spec").integer("replicas", 1) == 0:
        return None
    if reader.child("metadata").text("name") == OWN_OPERATOR:
        return Actor.OPERATOR
    return Actor.KLM if isinstance(raw, Mapping) and read_controller_flags(raw) is not None else None


def with_keeper(text: str, keeper: Actor) -> str:
    """Return a sentence about lifecycle-manager as one about what works on the Kyma."""
    return text if keeper is Actor.KLM else _NAME.sub(keeper.value, text)


def actor_with_keeper(actor: Actor, keeper: Actor) -> Actor:
    """Return who acts: what works on the Kyma in place of lifecycle-manager."""
    return keeper if actor is Actor.KLM else actor


def statement_with_keeper(statement: S, keeper: Actor) -> S:
    """Return a problem, risk or progress that names what works on the Kyma."""
    if keeper is Actor.KLM:
        return statement
    changes = {"message": with_keeper(statement.message, keeper), "actor": actor_with_keeper(statement.actor, keeper)}
    return cast(S, replace(cast(Struct, statement), **changes))


def for_reader(statement: A, keeper: Actor, runtime: str) -> A:
    """Return a problem or risk that names what works on the Kyma, and commands for its reader.

    `runtime` is the name under which its control plane knows the cluster, "" if it is read directly.
    """
    named = statement_with_keeper(statement, keeper)
    advice = _advice_for_reader(named.advice, keeper, runtime)
    return named if advice is named.advice else cast(A, replace(cast(Struct, named), advice=advice))


def reason_for_reader(reason: Reason, keeper: Actor, runtime: str) -> Reason:
    """Return a reason that names what works on the Kyma, and commands for its reader."""
    reason = replace(reason, advice=_advice_for_reader(reason.advice, keeper, runtime))
    if keeper is Actor.KLM:
        return reason
    return replace(
        reason,
        cause=with_keeper(reason.cause, keeper),
        effect=with_keeper(reason.effect, keeper),
        actor=actor_with_keeper(reason.actor, keeper),
    )


def _advice_for_reader(advice: Advice | None, keeper: Actor, runtime: str) -> Advice | None:
    advice = advice_for_runtime(advice, runtime)
    return advice if advice is None else replace(advice, text=with_keeper(advice.text, keeper))
