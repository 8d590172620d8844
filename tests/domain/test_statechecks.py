"""`customStateCheck` as lifecycle-manager evaluated it, as its documentation says, and with the whole explanation."""

from __future__ import annotations

from typing import Any

import pytest

from kymatui.domain.kyma.states import State, StateSource
from kymatui.domain.modules.state_checks import (
    CheckInput,
    CheckMode,
    Evaluation,
    LintFinding,
    LintKind,
    PathResultKind,
    RuleResult,
    StateDecision,
    evaluate,
    evaluate_path,
    lint_rules,
)
from tests.domain.builders import rules

GREEN_RED = rules(("status.health", "green", "Ready"), ("status.health", "red", "Error"))
TWO_READY = rules(("m.one", "1", "Ready"), ("m.two", "2", "Ready"), ("m.err", "yes", "Error"))
ONLY_READY = rules(("m.one", "1", "Ready"), ("m.two", "2", "Ready"))
CLASHING = rules(
    ("s", "x", "Ready"), ("s", "x", "Error"), ("w", "x", "Warning"), ("d", "x", "Deleting"), ("p", "x", "Processing")
)


def health(value: Any) -> dict[str, Any]:
    return {"status": {"health": value}}


@pytest.mark.parametrize(
    ("rule_set", "resource", "klm", "strict"),
    [
        pytest.param(GREEN_RED, health("green"), "Ready", "Ready", id="34 green"),
        pytest.param(GREEN_RED, health("red"), "Error", "Error", id="34 red"),
        pytest.param(GREEN_RED, health("yellow"), "Processing", "Processing", id="34 yellow"),
        pytest.param(GREEN_RED, health("Green"), "Processing", "Processing", id="the comparison is exact"),
        pytest.param(GREEN_RED, {}, "Processing", "Processing", id="34 absent"),
        pytest.param(TWO_READY, {"m": {"one": "1", "two": "2"}}, "Ready", "Ready", id="35 both match"),
        pytest.param(TWO_READY, {"m": {"one": "1", "two": "x"}}, "Processing", "Processing", id="35 one differs"),
        pytest.param(TWO_READY, {"m": {"one": "1"}}, "Ready", "Processing", id="35 one path is missing"),
        pytest.param(ONLY_READY, {"m": {"one": "1", "two": "2"}}, "Error", "Ready", id="36 only Ready rules"),
        pytest.param(GREEN_RED, health(True), "Error", "Processing", id="37 a boolean"),
        pytest.param(GREEN_RED, health(3), "Error", "Processing", id="37 a number"),
        pytest.param(GREEN_RED, health({"a": "b"}), "Error", "Processing", id="37 an object"),
        pytest.param(GREEN_RED, health(None), "Error", "Processing", id="null is there, and no string"),
        pytest.param(GREEN_RED, {"status": None}, "Processing", "Processing", id="null on the way is a missing path"),
        pytest.param(GREEN_RED, {"status": ["x"]}, "Error", "Processing", id="a list on the way"),
        pytest.param(GREEN_RED, {"status": "x"}, "Error", "Processing", id="a string on the way"),
        pytest.param(CLASHING, {"s": "x"}, "Error", "Error", id="38 Error before Ready"),
        pytest.param(CLASHING, {"w": "x", "d": "x"}, "Warning", "Warning", id="38 Warning before Deleting"),
        pytest.param(CLASHING, {"d": "x"}, "Deleting", "Deleting", id="Deleting alone"),
        pytest.param(CLASHING, {"p": "x"}, "Processing", "Processing", id="a Processing rule has no effect"),
        pytest.param(
            rules(("a", "x", "Ready"), ("b", "x", "Warning"), ("c", "x", "Error")),
            {"a": "x", "b": "x"},
            "Ready",
            "Ready",
            id="38 Ready before Warning",
        ),
    ],
)
def test_rules(rule_set: Any, resource: dict[str, Any], klm: str, strict: str) -> None:
    assert evaluate(rule_set, CheckInput(resource)).state == klm
    assert evaluate(rule_set, CheckInput(resource), CheckMode.STRICT).state == strict


@pytest.mark.parametrize(
    ("word", "state", "decision"),
    [
        ("Ready", "Ready", StateDecision.GROUP),
        ("Error", "Error", StateDecision.GROUP),
        ("Deleting", "Deleting", StateDecision.GROUP),
        ("Warning", "Warning", StateDecision.GROUP),
        ("Processing", "Processing", StateDecision.DEFAULT),
        ("Foo", "Warning", StateDecision.UNSUPPORTED),
        ("", "Warning", StateDecision.UNSUPPORTED),
        ("Unmanaged", "Warning", StateDecision.UNSUPPORTED),
    ],
)
def test_39_without_rules_status_state_decides(word: str, state: str, decision: StateDecision) -> None:
    found = evaluate((), CheckInput({"status": {"state": word}}))
    assert (found.state, found.decision, found.source) == (state, decision, StateSource.STATUS)


@pytest.mark.parametrize("rule_set", [(), GREEN_RED], ids=["status.state", "rules"])
@pytest.mark.parametrize(("age", "state"), [(0.0, "Processing"), (300.0, "Processing"), (301.0, "Warning")])
def test_34_nothing_found_warns_after_five_minutes(rule_set: Any, age: float, state: str) -> None:
    found = evaluate(rule_set, CheckInput({"spec": {}}, age=age))
    assert (found.state, found.decision) == (state, StateDecision.NOTHING_FOUND)


@pytest.mark.parametrize(
    ("subject", "state", "decision"),
    [
        pytest.param(
            CheckInput(health("red"), gate=False), "Processing", StateDecision.GATE, id="the gate comes before all"
        ),
        pytest.param(CheckInput(None, expected=False), "Ready", StateDecision.NO_RESOURCE, id="no default resource"),
        pytest.param(CheckInput(None), "Error", StateDecision.RESOURCE_MISSING, id="it is missing"),
        pytest.param(
            CheckInput(None, deleting=True), "Deleting", StateDecision.RESOURCE_GONE, id="it is gone while deleting"
        ),
    ],
)
def test_what_is_looked_at_before_the_rules(subject: CheckInput, state: str, decision: StateDecision) -> None:
    found = evaluate(GREEN_RED, subject)
    assert (found.state, found.decision) == (state, decision)


def results(found: Evaluation) -> list[str]:
    return [outcome.result.value for outcome in found.rules]


def test_the_explanation_of_mode_klm() -> None:
    rule_set = rules(
        ("status.health", "green", "Ready"),
        ("status.sync", "done", "Ready"),
        ("status.health", "red", "Error"),
        ("status.health", "yellow", "Warning"),
        ("status.phase", "gone", "Deleting"),
    )
    found = evaluate(rule_set, CheckInput({"status": {"health": "yellow", "sync": "done"}}))
    assert results(found) == ["no match", "match", "no match", "match", "skipped"]
    assert [(group.state, group.value) for group in found.groups] == [
        ("Error", False),
        ("Ready", False),
        ("Warning", True),
        ("Deleting", None),
    ]
    assert (found.state, found.decision, found.source) == (State.WARNING, StateDecision.GROUP, StateSource.RULES)
    assert found.matched == 2


def test_36_the_message_names_what_is_missing() -> None:
    found = evaluate(ONLY_READY, CheckInput({}))
    assert found.message == "required Ready and Error state mapping are missing"
    assert set(results(found)) == {RuleResult.NOT_REACHED.value}


def test_37_an_error_names_the_type_and_ends_the_evaluation() -> None:
    found = evaluate(GREEN_RED, CheckInput(health(True)))
    assert found.message == "the value at status.health is a boolean, expected a string"
    assert results(found) == ["error", "not reached"]


@pytest.mark.parametrize(
    ("path", "klm", "extended", "text", "klm_reads"),
    [
        pytest.param("status.state", PathResultKind.VALUE, PathResultKind.VALUE, "Ready", True, id="plain"),
        pytest.param("status.none", PathResultKind.MISSING, PathResultKind.MISSING, "", True, id="no such path"),
        pytest.param("status.flag", PathResultKind.NOT_TEXT, PathResultKind.NOT_TEXT, "true", True, id="not a string"),
        pytest.param("status.empty", PathResultKind.EMPTY, PathResultKind.EMPTY, "", True, id="empty string"),
        pytest.param("status.list", PathResultKind.NOT_TEXT, PathResultKind.NOT_TEXT, "", True, id="a list"),
        pytest.param("$.status.state", PathResultKind.MISSING, PathResultKind.VALUE, "Ready", False, id="a leading $"),
        pytest.param(".status.state", PathResultKind.MISSING, PathResultKind.VALUE, "Ready", False, id="a leading dot"),
        pytest.param("{.status.state}", PathResultKind.MISSING, PathResultKind.VALUE, "Ready", False, id="in braces"),
        pytest.param(
            "status['dotted.key']", PathResultKind.MISSING, PathResultKind.VALUE, "dotted", False, id="a quoted key"
        ),
        pytest.param(
            'status["state"]', PathResultKind.MISSING, PathResultKind.VALUE, "Ready", False, id="double quotes"
        ),
        pytest.param(
            "status.conditions[0].type",
            PathResultKind.MISSING,
            PathResultKind.VALUE,
            "Ready",
            False,
            id="37 an index is missing",
        ),
        pytest.param(
            "status.conditions[-1].type",
            PathResultKind.MISSING,
            PathResultKind.VALUE,
            "Ready",
            False,
            id="from the end",
        ),
        pytest.param(
            "status.conditions[7].type", PathResultKind.MISSING, PathResultKind.MISSING, "", False, id="past the end"
        ),
        pytest.param(
            "status.conditions.type", PathResultKind.NOT_TEXT, PathResultKind.MISSING, "", True, id="through a list"
        ),
        pytest.param("status..state", PathResultKind.MISSING, PathResultKind.INVALID, "", False, id="an empty part"),
        pytest.param("status[", PathResultKind.MISSING, PathResultKind.INVALID, "", False, id="an open bracket"),
        pytest.param("", PathResultKind.MISSING, PathResultKind.INVALID, "", False, id="nothing typed yet"),
        pytest.param(
            "status.state.more", PathResultKind.NOT_TEXT, PathResultKind.NOT_TEXT, "", True, id="below a string"
        ),
    ],
)
def test_a_path_as_one_types_it(
    path: str, klm: PathResultKind, extended: PathResultKind, text: str, klm_reads: bool
) -> None:
    resource = {
        "status": {
            "state": "Ready",
            "flag": True,
            "empty": "",
            "list": [1],
            "dotted.key": "dotted",
            "conditions": [{"type": "Ready"}],
        }
    }
    seen = evaluate_path(path, resource)
    assert (seen.klm.kind, seen.extended.kind, seen.extended.text, seen.klm_reads) == (klm, extended, text, klm_reads)


def test_how_far_a_path_goes() -> None:
    seen = evaluate_path("status.health.deep", {"status": {}})
    assert (seen.klm.at, seen.extended.at) == ("status", "status")


def test_strict_reads_what_klm_does_not() -> None:
    rule_set = rules(("status.conditions[0].status", "True", "Ready"), ("status.x", "y", "Error"))
    resource = {"status": {"conditions": [{"status": "True"}]}}
    assert evaluate(rule_set, CheckInput(resource), CheckMode.STRICT).state is State.READY
    klm = evaluate(rule_set, CheckInput(resource))
    assert klm.state is State.PROCESSING
    assert [outcome.klm_reads for outcome in klm.rules] == [False, True]


@pytest.mark.parametrize(
    ("rule_set", "findings"),
    [
        pytest.param((), [], id="no rules"),
        pytest.param(GREEN_RED, [], id="nothing to say"),
        pytest.param(ONLY_READY, [LintFinding(LintKind.NO_ERROR)], id="36 only Ready rules"),
        pytest.param(
            rules(("a", "b", "Green")),
            [
                LintFinding(LintKind.NO_READY),
                LintFinding(LintKind.NO_ERROR),
                LintFinding(LintKind.UNKNOWN_STATE, 0, "Green"),
            ],
            id="40 no state",
        ),
        pytest.param(
            (*GREEN_RED, *rules(("a", "b", ""), ("a", "b", "Unmanaged"), ("a", "b", "Processing"))),
            [
                LintFinding(LintKind.UNKNOWN_STATE, 2, ""),
                LintFinding(LintKind.UNKNOWN_STATE, 3, "Unmanaged"),
                LintFinding(LintKind.NO_EFFECT, 4, "Processing"),
            ],
            id="40 states that pass a schema, and have no meaning",
        ),
        pytest.param(
            (*GREEN_RED, *rules(("status.health", "lime", "Ready"))),
            [LintFinding(LintKind.SAME_PATH, 2, "status.health")],
            id="two values for one path can never both match",
        ),
        pytest.param(
            (*GREEN_RED, GREEN_RED[0]), [LintFinding(LintKind.DUPLICATE, 2, "status.health")], id="a rule twice"
        ),
        pytest.param(
            (*GREEN_RED, *rules(("$.a", "b", "Ready"), ("[", "b", "Error"))),
            [LintFinding(LintKind.NOT_PLAIN, 2, "$.a"), LintFinding(LintKind.NOT_A_PATH, 3, "[")],
            id="paths that lifecycle-manager reads otherwise",
        ),
    ],
)
def test_linting(rule_set: Any, findings: list[LintFinding]) -> None:
    assert list(lint_rules(rule_set)) == findings


def test_a_finding_in_words() -> None:
    assert str(LintFinding(LintKind.NO_ERROR)) == "customStateCheck: no rule maps to Error"
    assert str(LintFinding(LintKind.UNKNOWN_STATE, 0, "Green")) == "customStateCheck[0]: 'Green': is not a state"
