"""Who is in charge: by what they write, whatever else is there."""

from __future__ import annotations

from typing import Any

import pytest

from kymatui.domain.charges import Charge, Keeper, charge
from kymatui.domain.snapshots import Snapshot
from kymatui.engine.ports import OPERATOR_FIELD_MANAGER
from tests.domain import builders as b


def written_by(raw: dict[str, Any], *managers: str) -> dict[str, Any]:
    metadata = {**raw["metadata"], "managedFields": [{"manager": name} for name in managers]}
    return {**raw, "metadata": metadata}


def silent(raw: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in raw.items() if key != "status"}


KYMA, MANIFEST = b.kyma(), b.manifest("keda", "1.6.0")
MANIFEST["status"] = {"state": "Ready"}
KLM, OPERATOR, NOBODY = Keeper


@pytest.mark.parametrize(
    ("kymas", "manifests", "keeper", "why"),
    [
        ((), (), NOBODY, "there is no Kyma"),
        ((silent(KYMA),), (), NOBODY, "nobody has reported on the Kyma"),
        ((written_by(silent(KYMA), "kubectl"),), (), NOBODY, "nobody has reported on the Kyma"),
        ((KYMA,), (), KLM, "the Kyma has a status"),
        ((), (MANIFEST,), KLM, "Manifests have a status"),
        ((written_by(KYMA, "kubectl", "lifecycle-manager"),), (), KLM, "lifecycle-manager writes the Kyma"),
        (
            (),
            (written_by(MANIFEST, "declarative.kyma-project.io/applier"),),
            KLM,
            "declarative.kyma-project.io/applier writes Manifests",
        ),
        ((), (written_by(MANIFEST, "kymatui-operator"),), OPERATOR, "kymatui-operator writes Manifests"),
        ((KYMA,), (written_by(MANIFEST, "kymatui-operator"),), OPERATOR, "kymatui-operator writes Manifests"),
        (
            (written_by(KYMA, "lifecycle-manager"),),
            (written_by(MANIFEST, "kymatui-operator"),),
            KLM,
            "lifecycle-manager writes the Kyma",
        ),
    ],
)
def test_who_is_in_charge(kymas: tuple[Any, ...], manifests: tuple[Any, ...], keeper: Keeper, why: str) -> None:
    found = charge(Snapshot("test", kymas=kymas, manifests=manifests))
    assert found == Charge(keeper, why)
    assert found.edits_kyma == (keeper is KLM)


def test_it_is_the_name_that_the_operator_writes_under() -> None:
    assert OPERATOR_FIELD_MANAGER == "kymatui-operator"
