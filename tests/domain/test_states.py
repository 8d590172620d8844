"""The states, their order, and the state of a Kyma as lifecycle-manager adds it up."""

from __future__ import annotations

import pytest

from kymatui.domain.kyma.states import State, kyma_state, modules_condition, parse_state, worst_state


@pytest.mark.parametrize(
    ("modules", "conditions", "state"),
    [
        pytest.param(["Ready", "Unmanaged"], ["True", "True"], "Ready", id="33 Ready and Unmanaged"),
        pytest.param(["Ready", "Deleting"], ["False"], "Processing", id="33 a module that is being deleted"),
        pytest.param(["Warning", "Error"], ["True"], "Error", id="33 Warning and Error"),
        pytest.param(["Warning", "Processing"], ["True"], "Warning", id="Warning and Processing"),
        pytest.param(["Ready", "Processing"], ["True"], "Processing", id="Processing"),
        pytest.param([], ["True", "Unknown"], "Processing", id="33 no modules, and the webhook is not known"),
        pytest.param([], [], "Ready", id="nothing at all"),
    ],
)
def test_33_the_state_of_a_kyma(modules: list[str], conditions: list[str], state: str) -> None:
    assert kyma_state(modules, conditions) == state


def test_33_the_condition_of_the_modules() -> None:
    assert modules_condition(["Ready", "Unmanaged"])
    assert not modules_condition(["Ready", "Deleting"])


def test_the_worst_comes_first() -> None:
    assert worst_state([State.READY, State.PROCESSING, State.WARNING]) is State.WARNING
    assert worst_state([State.READY, State.ERROR, State.WARNING]) is State.ERROR
    assert worst_state([]) is None


@pytest.mark.parametrize(
    ("word", "state"),
    [("Ready", State.READY), ("Unmanaged", State.UNMANAGED), ("ready", None), ("", None), ("NotInstalled", None)],
)
def test_words_that_objects_report(word: str, state: State | None) -> None:
    assert parse_state(word) is state
