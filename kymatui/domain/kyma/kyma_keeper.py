"""What works on a Kyma: lifecycle-manager, or kymatui's operator, which has the same role on other clusters.

Sentences are written for lifecycle-manager; where the operator has its role, `with_keeper` names that instead.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar, Final, Protocol, TypeVar, cast

from msgspec import Struct
from msgspec.structs import replace

from kymatui.domain.kyma.problems import Actor, Advice, Reason, advice_for_runtime
from kymatui.patterns import deferred

OWN_OPERATOR: Final = "kymatui-operator"
"""The field manager of kymatui's operator."""
_LIFECYCLE_MANAGERS: Final = ("lifecycle-manager", "module-manager")
_LIFECYCLE_PREFIX: Final = "declarative.kyma-project.io/"
_NAME: Final = deferred(r"(?<![\w./-])lifecycle-manager(?![\w./-]*\w)")
"""The name as a word, and no part of the name of an object."""


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


def keeper_of(managers: Iterable[str]) -> Actor:
    """Return what works on a Kyma with these field managers; lifecycle-manager if both have written."""
    known = set(managers)
    own = OWN_OPERATOR in known and not any(map(is_lifecycle_manager, known))
    return Actor.OPERATOR if own else Actor.KLM


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
