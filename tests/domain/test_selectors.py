"""Label selectors: what they match, and what Kubernetes refuses to read."""

from __future__ import annotations

from typing import Any

import pytest

from kymatui.domain.kubernetes.label_selectors import InvalidSelector, LabelSelector, read_selector

LABELS = {"tier": "gold", "x.io/zone": "", "empty": ""}


def expression(key: str, operator: str, *values: str) -> dict[str, Any]:
    return {"matchExpressions": [{"key": key, "operator": operator, **({"values": list(values)} if values else {})}]}


@pytest.mark.parametrize(
    ("selector", "matches"),
    [
        pytest.param({}, True, id="an empty one matches everything"),
        pytest.param({"matchLabels": {"tier": "gold"}}, True, id="a label"),
        pytest.param({"matchLabels": {"tier": "Gold"}}, False, id="by its exact value"),
        pytest.param({"matchLabels": {"tier": "gold", "other": "x"}}, False, id="all of them"),
        pytest.param(expression("tier", "In", "iron", "gold"), True, id="In"),
        pytest.param(expression("other", "In", "gold"), False, id="In needs the label"),
        pytest.param(expression("tier", "NotIn", "iron"), True, id="NotIn"),
        pytest.param(expression("other", "NotIn", "gold"), True, id="NotIn is met without the label"),
        pytest.param(expression("x.io/zone", "Exists"), True, id="Exists, though it is empty"),
        pytest.param(expression("other", "DoesNotExist"), True, id="DoesNotExist"),
        pytest.param(expression("tier", "DoesNotExist"), False, id="but it does"),
        pytest.param({"matchLabels": {"tier": "gold"}, **expression("tier", "NotIn", "gold")}, False, id="both kinds"),
    ],
)
def test_matching(selector: dict[str, Any], matches: bool) -> None:
    found = read_selector(selector)
    assert isinstance(found, LabelSelector)
    assert found.matches(LABELS) is matches
    assert found.empty is (selector == {})


@pytest.mark.parametrize(
    ("selector", "reason"),
    [
        (expression("tier", "Near", "gold"), "'Near' is not a label selector operator"),
        (expression("tier", "In"), "In on tier needs values"),
        (expression("tier", "Exists", "gold"), "Exists on tier takes no values"),
        (expression("-tier", "Exists"), "'-tier' is not a label key"),
        (expression("UP.io/tier", "Exists"), "'UP.io/tier' is not a label key"),
        (expression("tier", "In", "bad value"), "'bad value' is not a label value"),
        ({"matchLabels": {"tier": 3}}, "matchLabels['tier'] is a number, expected a string"),
        ({"matchExpressions": "x"}, "matchExpressions is a string, expected a list"),
    ],
)
def test_what_cannot_be_read(selector: dict[str, Any], reason: str) -> None:
    assert read_selector(selector) == InvalidSelector(reason)
