"""An intruder between every plan and its yes: nothing that the plan did not display is touched."""

from __future__ import annotations

import json

import pytest

from tests.cli.intruding import Stage
from tests.cli.test_writing import asking_commands
from tests.cli.unseen import WALKS, Walk, ask, walk, walks
from tests.cli.unseen_manifests import MANIFESTS

pytestmark = pytest.mark.xdist_group("unseen")  # one sandbox for all of them

CASES = [pytest.param(flow, sort, id=f"{flow.name}-{sort}") for flow, sort in walks()]
ELSEWHERE = {"plan", "edit", "resume", "restart", "unpause"}
"""`resume` asks by the command that it continues; the last two write as `edit` does, whose own tests are elsewhere."""
"""`plan` asks nothing; `edit` needs an editor, see `test_editing`."""


@pytest.mark.parametrize(("flow", "sort"), CASES)
def test_what_an_intruder_does_before_the_yes_is_left_as_it_is(flow: Walk, sort: str, stage: Stage) -> None:
    came = walk(flow, sort, stage)
    assert came.wrong == "", came.asked


def test_every_command_that_asks_is_walked() -> None:
    assert asking_commands() - {flow.name.partition("-")[0] for flow in (*WALKS, *MANIFESTS)} == ELSEWHERE


def test_several_modules_that_are_all_refused_after_the_yes_are_refused_as_one_is(stage: Stage) -> None:
    names = []
    for _ in range(2):
        stage.next()
        assert stage.install("1").status == 0
        names.append(stage.name)

    def make_things() -> None:
        for number in (stage.number - 1, stage.number):
            stage.number = number
            stage.make_thing()

    asked = ask(["delete", *names, "--cascade", "--no-backup", "-o", "json"], make_things)
    found = json.loads(asked.out)
    assert (asked.status, found["outcome"]) == (2, "refused"), asked
    assert [one["outcome"] for one in found["modules"]] == ["refused", "refused"]
    assert stage.has_thing()
