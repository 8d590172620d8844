"""When the sample world counts as settled."""

from __future__ import annotations

from typing import Any

import pytest

from kymatui.sandbox.apimachinery.clock import ManualClock
from kymatui.sandbox.world.story.sample_situations import PATIENCE_SECONDS, Story, StoryStep, has_rolled_out

ALL = {"replicas": 2, "updatedReplicas": 2, "readyReplicas": 2, "availableReplicas": 2}
GIVEN_UP = [{"type": "Progressing", "status": "False", "reason": "ProgressDeadlineExceeded"}]


@pytest.mark.parametrize(
    ("generation", "status", "rests"),
    [
        (1, {"observedGeneration": 1, **ALL}, True),
        (2, {"observedGeneration": 1, **ALL}, False),
        (1, {"observedGeneration": 1, **ALL, "updatedReplicas": 1}, False),
        (1, {"observedGeneration": 1, **ALL, "readyReplicas": 1}, False),
        (1, {"observedGeneration": 1, **ALL, "replicas": 3}, False),
        (1, {"observedGeneration": 1, "conditions": GIVEN_UP}, True),
        (2, {"observedGeneration": 1, "conditions": GIVEN_UP}, False),
        (1, {}, False),
    ],
)
def test_a_workload_rests_when_all_of_it_is_there_or_given_up(
    generation: int, status: dict[str, Any], rests: bool
) -> None:
    workload = {"metadata": {"generation": generation}, "spec": {"replicas": 2}, "status": status}
    assert has_rolled_out(workload) is rests


def test_ends_of_a_story_have_their_turn_behind_all_chapters() -> None:
    clock, told, open_door = ManualClock(), list[str](), list[bool]()
    story = Story(clock)
    story.end_with(StoryStep("one end", lambda: True, lambda: told.append("one end")))
    story.end_with(StoryStep("another end", lambda: True, lambda: told.append("another end")))
    story.add(StoryStep("a chapter", lambda: bool(open_door), lambda: told.append("a chapter")))
    story.begin()
    clock.advance(1)
    assert told == []
    assert story.waiting_for == ["a chapter", "one end", "another end"]
    open_door.append(True)
    clock.advance(1)
    assert told == ["a chapter", "one end", "another end"]
    assert story.done
    assert not story.given_up


def test_a_story_that_does_not_go_on_is_given_up() -> None:
    clock = ManualClock()
    story = Story(clock)
    story.end_with(StoryStep("the end", lambda: False, lambda: None))
    story.begin()
    clock.advance(PATIENCE_SECONDS + 1)
    assert story.given_up
    assert not story.done
