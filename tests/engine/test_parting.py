"""What a module found there is left as it was found, however often modules come and go."""

from __future__ import annotations

import pytest

from kymatui.domain.ownership import Owner, OwnerKind
from kymatui.engine import Options, uninstall
from kymatui.engine.bundles.bundle import Bundle
from kymatui.engine.cluster.ports import FIELD_MANAGER
from kymatui.engine.inventory.ownership_marks import unmark_patch
from kymatui.engine.plans.transforms import apply_transforms, with_annotations, with_labels
from tests.engine import objects as make
from tests.engine.charts import chart
from tests.engine.installing import LIMITS, bundle, install
from tests.engine.places import Json, Place

HELM = Owner(OwnerKind.HELM, "space/web")


@pytest.mark.parametrize("shape", ["raw", "chart"])
def test_a_namespace_that_was_there_outlives_every_module(place: Place, shape: str) -> None:
    place.make_namespace()
    before = place.get("v1", "Namespace", place.namespace, "")
    for name in ("first", "second", "first"):
        install(place, _with_namespace(place, shape, name))
        uninstall(name, place.namespace, place.cluster, options=Options(limits=LIMITS))
        after = place.get("v1", "Namespace", place.namespace, "")
        assert _of_people(after) == _of_people(before)


def _with_namespace(place: Place, shape: str, name: str) -> Bundle:
    own = (make.namespace(place.namespace), make.config_map("a", x="1"))
    made = bundle(place, *own, name=name) if shape == "raw" else chart(place, *own, name=name)
    return apply_transforms(made, [with_labels({"team": name}), with_annotations({"kymatui.io/manifest": f"a/{name}"})])


def _of_people(found: Json | None) -> Json:
    assert found is not None
    return {key: found["metadata"].get(key) for key in ("name", "uid", "labels", "annotations")}


def managed(*labels: str, manager: str) -> Json:
    return {"manager": manager, "fieldsV1": {"f:metadata": {"f:labels": {f"f:{one}": {} for one in labels}}}}


def test_of_what_was_found_only_what_nobody_else_set_is_taken_back() -> None:
    live = {
        "metadata": {
            "labels": {"app.kubernetes.io/managed-by": "Helm", "mine": "1", "both": "1", "theirs": "1"},
            "annotations": {"meta.helm.sh/release-name": "web"},
            "managedFields": [managed("mine", "both", manager=FIELD_MANAGER), managed("both", "theirs", manager="x")],
        }
    }
    marks: Json = {"annotations": {"meta.helm.sh/release-name": None}}
    assert unmark_patch(live, HELM) == {"metadata": {"labels": {"app.kubernetes.io/managed-by": None}, **marks}}
    labels = {"app.kubernetes.io/managed-by": None, "mine": None}
    assert unmark_patch(live, HELM, existed=True) == {"metadata": {"labels": labels, **marks}}
    assert unmark_patch({"metadata": {"labels": {"theirs": "1"}}}, HELM, existed=True) is None
