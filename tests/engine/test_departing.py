"""Who takes a module up while it is being deleted, and what is left without a manager: decided from two looks alone."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kymatui.cli.direct.departures import departure_text
from kymatui.domain.refs import GroupVersionKind, ObjectRef
from kymatui.engine.departing import Charge, Departure, taken_up
from kymatui.engine.remaining import Instance, Instances
from kymatui.ui.presenters.departing import rows

LEFT = Instances((Instance(ObjectRef(GroupVersionKind("e.org", "v1", "Thing"), "default", "a"), "1"),))


def seen(charge: Charge, *, requested: bool = False, remaining: Instances = LEFT) -> Departure:
    return Departure("kcp", "mod", charge, requested=requested, installed="2.0.0", remaining=remaining)


ASKED, LEAVING = seen(Charge.KYMA, requested=True), seen(Charge.KYMA)
DIRECT, ALONE = seen(Charge.DIRECT), seen(Charge.NOBODY)
AGAIN = "somebody has asked the Kyma for mod meanwhile"
INSTALLED = "somebody has installed mod 2.0.0 meanwhile"


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
def test_who_wants_the_module_again_is_named(agreed: Departure, now: Departure, has_left: bool, said: str) -> None:
    assert taken_up(agreed, now, has_left=has_left) == said


def test_what_is_left_without_a_manager_can_be_deleted_as_it_is_or_by_its_manager_again() -> None:
    assert "nobody lets go of a finalizer. Install mod again" in ALONE.advice
    assert seen(Charge.NOBODY, remaining=Instances()).advice == ""
    assert DIRECT.advice == ""


def test_a_default_resource_that_lifecycle_manager_ignores_goes_before_the_module_and_that_is_said() -> None:
    ref = ObjectRef(GroupVersionKind("operator.kyma-project.io", "v1alpha1", "Keda"), "kyma-system", "default")
    own = Instance(ref, "u1", ours=True)
    looked = seen(Charge.KYMA, requested=True, remaining=Instances((own,)))
    for by_hand, words in ((False, "goes with the module"), (True, "goes before the module: its policy is Ignore")):
        now = replace(looked, by_hand=by_hand)
        assert words in departure_text(now, "table")
        (row,) = rows(now, 0.0)
        assert row.cells["blocks"].text == words
