"""Every surface gives one answer to one question, or says what it has not read."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from msgspec.structs import replace

from kymatui.cli.commands.inspect.drift import _json as drift_json
from kymatui.domain.fleet import pending_actions
from kymatui.domain.kyma.problems import Actor
from kymatui.domain.remote import module_sync
from tests.domain import agreement
from tests.domain.agreed_worlds import SITUATIONS, World, worlds
from tests.domain.agreement import ask, contradictions

WITHOUT_SHRINKING = (Phase.explicit, Phase.generate)


@settings(max_examples=200, deadline=None, derandomize=True, phases=WITHOUT_SHRINKING)
@given(worlds())
def test_no_surface_contradicts_another(world: World) -> None:
    assert contradictions(ask(world)) == []


@pytest.mark.parametrize("name", SITUATIONS)
def test_no_surface_contradicts_another_in_a_situation(name: str) -> None:
    assert contradictions(ask(SITUATIONS[name])) == []


# the test itself: it finds a second answer


def compare_with_another_actor(patch: pytest.MonkeyPatch) -> None:
    line = module_sync._Module.line

    def other(self: Any, *args: Any, **more: Any) -> Any:
        found = line(self, *args, **more)
        return replace(found, actor=Actor.KLM) if found.actor is Actor.MANAGER else found

    patch.setattr(module_sync._Module, "line", other)


def drift_with_another_version(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(agreement, "drift_json", lambda row: {**drift_json(row), "installed": "9.9.9"})


def waits_with_another_actor(patch: pytest.MonkeyPatch) -> None:
    of_catalog = pending_actions._of_catalog

    def other(*args: Any) -> Iterator[Any]:
        return (replace(action, actor=Actor.YOU) for action in of_catalog(*args))

    patch.setattr(pending_actions, "_of_catalog", other)


@pytest.mark.parametrize(
    ("second_answer", "question"),
    [
        (compare_with_another_actor, "actor"),
        (drift_with_another_version, "installed"),
        (waits_with_another_actor, "actor"),
    ],
)
def test_a_second_answer_is_found(
    second_answer: Callable[[pytest.MonkeyPatch], None], question: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    second_answer(monkeypatch)
    found: list[str] = []

    @settings(
        max_examples=200,
        deadline=None,
        derandomize=True,
        phases=WITHOUT_SHRINKING,
        suppress_health_check=list(HealthCheck),
    )
    @given(worlds())
    def look(world: World) -> None:
        if not found:
            found.extend(contradictions(ask(world)))

    look()
    assert found
    assert all(f": {question} (effective)" in line for line in found)
