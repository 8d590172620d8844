"""A deletion plan and the consent to it: the request decides, whenever the consent was added."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import pytest
from msgspec.structs import replace

from kymatui.actions.edits.cluster_edits import ClusterKymaEdits
from kymatui.actions.edits.uninstall import UninstallConsent
from kymatui.actions.plans import DeletionPlan, DeletionRequest, without_backup
from kymatui.domain.kubernetes.refs import GroupVersionKind, ObjectRef
from kymatui.engine.deletion.deletion_state import DeletionState, ManagedBy
from kymatui.engine.inventory.managed_resources import ManagedObject, ManagedObjects
from kymatui.errors import UsageError

FUNCTION = ObjectRef(GroupVersionKind("serverless.kyma-project.io", "v1alpha2", "Function"), "billing", "tax")


def plan(remaining: ManagedObjects) -> DeletionPlan:
    seen = DeletionState("prod", "serverless", ManagedBy.KYMA, remaining=remaining, requested=True, runs=True)
    return DeletionPlan(DeletionRequest("serverless"), seen)


def test_a_consent_that_is_given_after_the_plan_was_made_holds_for_each_step_of_the_deletion() -> None:
    displayed = plan(ManagedObjects((ManagedObject(FUNCTION, "u1"),)))
    assert str(displayed.refusal).startswith("serverless still manages 1 object: Function billing/tax")
    assert without_backup(displayed).refusal is not None
    accepted = replace(displayed, request=replace(displayed.request, cascade=True))
    assert (accepted.refusal, without_backup(accepted).refusal) == (None, None)
    assert replace(accepted, request=displayed.request).refusal is not None, "nor does it outlive the consent"


def test_a_consent_to_unknown_kinds_is_none_to_objects() -> None:
    displayed = plan(ManagedObjects((ManagedObject(FUNCTION, "u1"),), (("APIRule", "you may not list them"),)))
    unknown = replace(displayed, request=replace(displayed.request, accept_unknown=True))
    assert "Function billing/tax" in str(unknown.refusal)
    assert "APIRule (you may not list them)" in str(displayed.refusal)
    both = replace(unknown, request=replace(unknown.request, cascade=True))
    assert both.refusal is None


def test_one_backup_is_for_one_module() -> None:
    edits = ClusterKymaEdits(cast(Any, None), cast(Any, None))
    with pytest.raises(UsageError, match="--backup works with one module only, and this uninstalls keda, nats"):
        edits.uninstalls(["keda", "nats"], UninstallConsent(backup=Path("saved.yaml")), 1.0)
