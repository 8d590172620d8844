"""Who takes a module up while it is being deleted, and what is left without a manager: decided from two looks alone."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from kymatui.cli.output.deletion import deletion_json, deletion_text
from kymatui.domain.kubernetes.refs import GroupVersionKind, ObjectRef
from kymatui.domain.ownership import ObjectOwnership
from kymatui.engine.deletion.deletion_state import (
    DeletionState,
    ManagedBy,
    NextStep,
    expected,
    explain_finalizers,
    new_manager_since,
)
from kymatui.engine.inventory.managed_resources import ManagedObject, ManagedObjects
from kymatui.ui.presenters.plans.deletion_stages import deletion_rows, stage_lines

LEFT = ManagedObjects((ManagedObject(ObjectRef(GroupVersionKind("e.org", "v1", "Thing"), "default", "a"), "1"),))


MANAGER = ObjectRef(GroupVersionKind("apps", "v1", "Deployment"), "kyma-system", "manager")


def seen(managed_by: ManagedBy, *, requested: bool = False, remaining: ManagedObjects = LEFT) -> DeletionState:
    return DeletionState("kcp", "mod", managed_by, requested=requested, installed="2.0.0", remaining=remaining)


ASKED, LEAVING = seen(ManagedBy.KYMA, requested=True), seen(ManagedBy.KYMA)
DIRECT, ALONE = seen(ManagedBy.DIRECT), seen(ManagedBy.NOBODY)
AGAIN = "another client has enabled mod in the Kyma meanwhile"
INSTALLED = "another client has installed mod 2.0.0 meanwhile"


@pytest.mark.parametrize(
    ("agreed", "now", "has_left", "said"),
    [
        pytest.param(ASKED, ASKED, False, "", id="not begun yet"),
        pytest.param(ASKED, LEAVING, True, "", id="lifecycle-manager takes it away"),
        pytest.param(ASKED, ASKED, True, AGAIN, id="enabled again after it was taken out"),
        pytest.param(LEAVING, ASKED, False, AGAIN, id="enabled again while it was taken away"),
        pytest.param(DIRECT, ASKED, False, AGAIN, id="handed over to lifecycle-manager"),
        pytest.param(DIRECT, DIRECT, False, "", id="what is refused then is another inventory"),
        pytest.param(ALONE, DIRECT, False, INSTALLED, id="installed where only resources were left"),
        pytest.param(ASKED, DIRECT, True, INSTALLED, id="installed directly after it was taken out"),
        pytest.param(ALONE, ALONE, False, "", id="still nobody's"),
        pytest.param(ASKED, ALONE, True, "", id="gone"),
    ],
)
def test_who_wants_the_module_again_is_named(
    agreed: DeletionState, now: DeletionState, has_left: bool, said: str
) -> None:
    assert new_manager_since(agreed, now, has_left=has_left) == said


def test_what_is_left_without_a_manager_can_be_deleted_as_it_is_or_by_its_manager_again() -> None:
    assert "finalizers are not removed and nothing is cleaned up. Install mod again" in ALONE.advice
    assert seen(ManagedBy.NOBODY, remaining=ManagedObjects()).advice == ""
    assert DIRECT.advice == ""


def test_stages_that_are_done_stay_as_they_were_when_the_module_is_gone() -> None:
    thing = next(iter(LEFT.instances))
    begun = seen(ManagedBy.KYMA, requested=True)
    assert begun.theirs == (thing,)
    waits = replace(begun, remaining=ManagedObjects())
    gone = DeletionState("kcp", "mod", ManagedBy.NOBODY, remaining=ManagedObjects())
    assert gone.next_step() is NextStep.GONE
    for state in (waits, gone):
        lines = [line for line, _ in stage_lines(state, begun=begun)]
        assert "2.0.0, managed by" in lines[0]
        assert [line.partition("  ")[0][2:] for line in lines[:5]] == [
            "1 Installed module",
            "2 Count managed objects",
            "3 Delete them",
            "4 Wait for their deletion",
            "5 Remove from the Kyma",
        ]
        assert lines[2][0] == lines[3][0] == lines[0][0], "done, and not skipped"
    assert len({line[0] for line, _ in stage_lines(gone, begun=begun)}) == 1, "all done"
    assert not any("left" in line for line, _ in stage_lines(gone, begun=begun)[4:])


def test_what_keeps_the_finalizers_is_what_blocks_the_deletion_and_else_the_manager() -> None:
    rule = GroupVersionKind("gateway.kyma-project.io", "v2", "APIRule")
    rules = tuple(ManagedObject(ObjectRef(rule, "shop", name), name) for name in ("a", "b", "c", "d"))
    left = seen(ManagedBy.KYMA, requested=True, remaining=ManagedObjects(rules))
    runs = replace(left, manager=MANAGER, runs=True)
    keeps = "Deployment kyma-system/manager keeps the finalizers while these objects exist: "
    assert explain_finalizers(runs) == f"{keeps}4 APIRule (shop/a, shop/b, shop/c, …)"
    going = tuple(replace(one, deleted_at=1.0) for one in rules)
    runs = replace(runs, remaining=ManagedObjects(going))
    assert explain_finalizers(runs) == expected(runs)


def test_a_default_resource_that_lifecycle_manager_ignores_goes_before_the_module_and_that_is_said() -> None:
    ref = ObjectRef(GroupVersionKind("operator.kyma-project.io", "v1alpha1", "Keda"), "kyma-system", "default")
    own = ManagedObject(ref, "u1", ObjectOwnership.DEFAULT_CR)
    looked = seen(ManagedBy.KYMA, requested=True, remaining=ManagedObjects((own,)))
    for by_hand, words in (
        (False, "deleted with the module"),
        (True, "deleted before the module: the policy is Ignore"),
    ):
        now = replace(looked, by_hand=by_hand)
        assert words in deletion_text(now, "table", cascade=True)
        (row,) = deletion_rows(now, 0.0)
        assert row.cells["blocks"].text == words


def test_the_document_has_the_step_that_the_consent_allows() -> None:
    unknown = replace(ASKED, remaining=ManagedObjects(unknown=(("Thing.e.org", "forbidden"),)))
    asked, consented = (deletion_json(unknown, "planned", accept_unknown=accepted) for accepted in (False, True))
    assert (asked["turn"], consented["turn"]) == ("unknown", "leave")
    now = [
        next(one["title"] for one in found["stations"] if one["progressed"] == "now") for found in (asked, consented)
    ]
    assert now == ["Count managed objects", "Remove from the Kyma"]
