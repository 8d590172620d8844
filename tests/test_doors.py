"""A few odd inputs for every door for foreign bytes; `tests.benchmarks.door_fuzz` goes on, watched from outside."""

from __future__ import annotations

import pytest

from tests.benchmarks.door_fuzz import check
from tests.benchmarks.door_inputs import MAKERS, make_input
from tests.benchmarks.doors import Door, doors

INPUTS = 5
DOORS = doors()


@pytest.mark.parametrize("name", DOORS)
def test_odd_input_is_read_or_refused(name: str) -> None:
    door = DOORS[name]
    unexpected = {}
    for number in range(INPUTS):
        found = check(door, make_input(door.language, door.samples, f"{name} {number}", longest=20_000))
        if found not in ("", "refused"):
            unexpected[number] = found
    assert unexpected == {}


@pytest.mark.parametrize("name", DOORS)
def test_input_depends_on_door_and_number_alone(name: str) -> None:
    door = DOORS[name]

    def inputs(numbers: range) -> dict[int, bytes]:
        return {n: make_input(door.language, door.samples, f"{name} {n}", longest=20_000) for n in numbers}

    made = inputs(range(30))
    assert inputs(range(29, -1, -1)) == made
    assert len(set(made.values())) > 15


def test_samples_are_accepted_where_they_have_no_signature() -> None:
    refused = {name for name, door in DOORS.items() if all(check(door, sample) for sample in door.samples)}
    assert refused <= {"keys", "provenance"}


def test_what_is_not_an_error_of_the_project_is_a_finding() -> None:
    def broken(content: bytes) -> object:
        return {b"": 1}[content]

    def full(_content: bytes) -> object:
        raise MemoryError

    assert check(Door(broken, "text", ()), b"x").startswith("KeyError")
    assert check(Door(full, "text", ()), b"x") == "memory: MemoryError"
    assert {door.language for door in DOORS.values()} <= set(MAKERS)
