"""The status that a Manifest is given: whole, in its generation's words, and only when it says something new."""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest

from kymatui.domain.kubernetes.refs import GroupVersionKind, ObjectRef
from kymatui.domain.kyma.manifests import Manifest, read_manifest
from kymatui.domain.kyma.states import State
from kymatui.operator.manifests.manifest_status import ConditionReport, ManifestStatusDraft

Json = dict[str, Any]
NOW, LATER = 1_790_000_000.0, 1_790_000_060.0


class Result(NamedTuple):
    """What a reconciliation sets in a status; `synced` is None where it did not get so far."""

    state: State
    message: str
    conditions: tuple[ConditionReport, ...] = ()
    synced: tuple[ObjectRef, ...] | None = None


READY = Result(
    State.READY,
    "installation is ready",
    (ConditionReport("Resources", True, "all are there"), ConditionReport("Installation", True)),
    (ObjectRef(GroupVersionKind("apps", "v1", "Deployment"), "shop", "web"),),
)


def manifest(version: str = "v1beta2", status: Json | None = None) -> Manifest:
    raw: Json = {
        "apiVersion": f"operator.kyma-project.io/{version}",
        "kind": "Manifest",
        "metadata": {"name": "m", "namespace": "kcp-system", "generation": 3},
        "spec": {"install": {"name": "i", "source": {"type": "oci-ref"}}},
    }
    if status is not None:
        raw["status"] = status
    found = read_manifest(raw)
    assert isinstance(found, Manifest)
    return found


def new_status(found: Manifest, result: Result, now: float = NOW) -> Json | None:
    """The status to write, None if the Manifest has it."""
    status = ManifestStatusDraft(found, now)
    status.set_state(result.state, result.message)
    status.set_conditions(result.conditions)
    status.synced = result.synced if result.synced is not None else status.synced
    return status.document() if status.differs else None


def written(found: Manifest, result: Result, now: float = NOW) -> Json:
    status = new_status(found, result, now)
    assert status is not None
    return status


def test_a_new_status_says_everything() -> None:
    moment = "2026-09-21T14:13:20Z"
    assert written(manifest(), READY) == {
        "state": "Ready",
        "lastOperation": {"operation": "installation is ready", "lastUpdateTime": moment},
        "conditions": [
            {
                "type": "Resources",
                "status": "True",
                "reason": "ResourcesAvailable",
                "message": "all are there",
                "lastTransitionTime": moment,
                "observedGeneration": 3,
            },
            {
                "type": "Installation",
                "status": "True",
                "reason": "Ready",
                "message": "",
                "lastTransitionTime": moment,
                "observedGeneration": 3,
            },
        ],
        "synced": [{"group": "apps", "version": "v1", "kind": "Deployment", "name": "web", "namespace": "shop"}],
    }


@pytest.mark.parametrize("version", ["v1beta2", "v1alpha1"])
def test_what_it_says_already_is_not_written_again(version: str) -> None:
    status = written(manifest(version), READY)
    assert new_status(manifest(version, status), READY, LATER) is None


def test_fields_that_an_old_definition_does_not_know_are_not_written_for_ever() -> None:
    status = written(manifest("v1alpha1"), READY)
    pruned = {
        "state": status["state"],
        "observedGeneration": status["observedGeneration"],
        "conditions": [{key: item[key] for key in ("type", "status", "message")} for item in status["conditions"]],
    }
    assert new_status(manifest("v1alpha1", pruned), READY, LATER) is None


def test_the_present_definition_knows_the_list_of_what_is_applied_so_it_must_stand_there() -> None:
    status = written(manifest(), READY)
    del status["synced"]
    assert new_status(manifest(status=status), READY, LATER) is not None


def test_the_time_of_a_transition_moves_only_with_the_status() -> None:
    first = written(manifest(), READY)
    words = Result(
        State.READY,
        "still ready",
        (ConditionReport("Resources", True, "all of them"), ConditionReport("Installation", False)),
    )
    second = written(manifest(status=first), words, LATER)
    times = {item["type"]: item["lastTransitionTime"] for item in second["conditions"]}
    assert times == {"Resources": "2026-09-21T14:13:20Z", "Installation": "2026-09-21T14:14:20Z"}
    assert second["synced"] == first["synced"], "a turn that did not get so far leaves the list as it is"


def test_conditions_of_others_stay() -> None:
    other = {"type": "Signed", "status": "True", "reason": "Verified", "message": "", "lastTransitionTime": "x"}
    found = written(manifest(status={"conditions": [other]}), READY)
    assert [item["type"] for item in found["conditions"]] == ["Resources", "Installation", "Signed"]
    assert found["conditions"][2] == other


def test_the_condition_of_an_install_goes_with_it() -> None:
    left = {"type": "web/Ready", "status": "True", "reason": "Ready", "message": "", "lastTransitionTime": "x"}
    found = written(manifest(status={"conditions": [left]}), READY)
    assert [item["type"] for item in found["conditions"]] == ["Resources", "Installation"]


@pytest.mark.parametrize(
    ("version", "state", "word"),
    [
        ("v1beta2", State.WARNING, "Warning"),
        ("v1beta2", State.UNMANAGED, "Unmanaged"),
        ("v1alpha1", State.WARNING, "Error"),
        ("v1alpha1", State.UNMANAGED, "Ready"),
        ("v1alpha1", State.DELETING, "Deleting"),
    ],
)
def test_states_are_in_the_words_of_the_generation(version: str, state: State, word: str) -> None:
    assert written(manifest(version), Result(state, "so it is"))["state"] == word
