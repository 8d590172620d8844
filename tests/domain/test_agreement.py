"""Every surface gives one answer to one question, or says what it has not read."""

from __future__ import annotations

from hypothesis import Phase, given, settings

from tests.domain.agreement import World, ask, contradictions, worlds


@settings(max_examples=200, deadline=None, derandomize=True, phases=(Phase.explicit, Phase.generate))
@given(worlds())
def test_no_surface_contradicts_another(world: World) -> None:
    assert contradictions(ask(world)) == []
