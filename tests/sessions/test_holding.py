"""Who has to remove a finalizer, and which of several is looked at first."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from kymatui.actions.finalizers import blocked_objects
from kymatui.domain.kubernetes.refs import GroupVersionKind, ObjectRef
from kymatui.engine.cluster.ports import Cluster
from kymatui.engine.deletion.deletion_state import DeletionState

OWN = ObjectRef(GroupVersionKind("operator.kyma-project.io", "v1alpha1", "Keda"), "kyma-system", "default")
THEIRS = [ObjectRef(GroupVersionKind("keda.sh", "v1alpha1", "ScaledJob"), "shop", name) for name in ("a", "b")]


def stuck(ref: ObjectRef, at: int, finalizer: str, owner: str) -> dict[str, Any]:
    fields: dict[str, Any] = {"f:metadata": {"f:finalizers": {f'v:"{finalizer}"': {}}}}
    metadata = {
        "name": ref.name,
        "namespace": ref.namespace,
        "deletionTimestamp": f"2026-01-01T00:00:0{at}Z",
        "finalizers": [finalizer],
        "managedFields": [{"manager": owner, "operation": "Update", "fieldsType": "FieldsV1", "fieldsV1": fields}],
    }
    return {"apiVersion": ref.kind.api_version, "kind": ref.kind.kind, "metadata": metadata}


@pytest.mark.parametrize(
    ("owner", "who"),
    [
        ("keda-operator", "the manager of keda is missing, so its finalizers stay"),
        ("kubectl-edit", "set by hand (kubectl-edit); no controller removes it"),
    ],
)
def test_the_modules_own_resource_comes_last_and_who_set_a_finalizer_by_hand_is_who_has_to_act(
    owner: str, who: str
) -> None:
    bodies = {
        OWN: stuck(OWN, 1, "keda/hook", "keda-operator"),
        THEIRS[0]: stuck(THEIRS[0], 3, "x/stuck", owner),
        THEIRS[1]: stuck(THEIRS[1], 2, "x/stuck", owner),
    }
    own, theirs = SimpleNamespace(ref=OWN), [SimpleNamespace(ref=ref) for ref in THEIRS]
    seen = SimpleNamespace(
        module="keda",
        manager=None,
        runs=False,
        uninstall=None,
        manifest=None,
        stuck=(own, *theirs),
        remaining=SimpleNamespace(ours=(own,)),
    )
    cluster = cast("Cluster", SimpleNamespace(get=bodies.get))
    found = blocked_objects(cast("DeletionState", seen), cluster, cluster)
    assert [one.ref for one in found] == [THEIRS[1], THEIRS[0], OWN]
    assert found[0].expected.startswith(who)
    assert found[0].finalizers == (("x/stuck", owner),)
