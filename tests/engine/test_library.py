"""The library: install, check and uninstall, as somebody uses them who wants nothing else of kymatui."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from kymatui.crds import read_crds
from kymatui.domain.kubernetes.object_meta import read_ref
from kymatui.domain.kubernetes.refs import ObjectRef
from kymatui.engine import Options, check, install, uninstall
from kymatui.engine.apply.planner import ObjectDriftKind
from kymatui.engine.bundles import yaml_objects
from kymatui.engine.plans.plan import Intent
from kymatui.engine.plans.transforms import with_labels
from kymatui.errors import KymatuiError, NotFoundError, PartlyDoneError, RefusedError
from tests.engine import objects as make
from tests.engine.installing import LIMITS, Told, bundle
from tests.engine.places import Json, Place, eventually

OPTIONS = Options(limits=LIMITS)
MODULE = """
apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
data: {size: "1"}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: manager}
"""


def data(place: Place, name: str = "settings") -> Json:
    found = place.get("v1", "ConfigMap", name)
    assert found is not None
    return dict(found["data"])


def test_the_example_of_the_library(place: Place, tmp_path: Path) -> None:
    (tmp_path / "module.yaml").write_text(MODULE)
    told = Told()
    module = yaml_objects.from_path(tmp_path / "module.yaml", name="module", namespace=place.namespace)
    install(module, place.cluster, options=Options(progress=told, limits=LIMITS))
    assert told.messages
    assert check(module, place.cluster).ready
    uninstall("module", place.namespace, place.cluster, options=OPTIONS)
    assert not check(module, place.cluster).installed
    assert uninstall("module", place.namespace, place.cluster) is None


def test_transforms_change_what_is_installed(place: Place) -> None:
    install(
        bundle(place, make.config_map("a")), place.cluster, transforms=[with_labels({"team": "a"})], options=OPTIONS
    )
    found = place.get("v1", "ConfigMap", "a")
    assert found is not None
    assert found["metadata"]["labels"]["team"] == "a"


def test_drift_is_told_with_who_made_it_and_repaired(place: Place) -> None:
    what = bundle(place, make.config_map("settings", x="1", y="1"), make.config_map("gone"), make.deployment("d"))
    install(what, place.cluster, options=OPTIONS)
    place.kubectl(make.config_map("settings", place.namespace, x="theirs"), manager="kubectl-edit")
    place.raw.delete(_ref(place, "gone"))
    edited = make.deployment("d", place.namespace, image="registry.example/other:2.0.0")
    place.kubectl(edited, manager="kubectl-set")
    report = check(what, place.cluster)
    assert not report.consistent
    found = {drift.ref.name: drift for drift in report.drifts}
    assert found["gone"].finding is ObjectDriftKind.MISSING
    (field,) = found["settings"].fields
    assert (field.path, field.expected, field.actual, field.manager) == ("data.x", "1", "theirs", "kubectl-edit")
    (image,) = found["d"].fields
    assert (image.path, image.manager) == ("spec.template.spec.containers[manager].image", "kubectl-set")
    with pytest.raises(RefusedError, match=r"data\.x is owned by kubectl-edit"):
        check(what, place.cluster, repair=True, options=OPTIONS)
    assert check(Intent(what, force=True), place.cluster, repair=True, options=OPTIONS).ready
    assert data(place) == {"x": "1", "y": "1"}


def _ref(place: Place, name: str) -> ObjectRef:
    return read_ref(make.config_map(name, place.namespace))


def test_a_field_that_was_taken_away_is_drift_and_one_that_was_added_is_not(place: Place) -> None:
    what = bundle(place, make.config_map("settings", x="1", y="1"))
    install(what, place.cluster, options=OPTIONS)
    found = place.get("v1", "ConfigMap", "settings")
    assert found is not None
    place.raw.update({**found, "data": {"x": "1", "added": "theirs"}}, manager="editor")
    (drift,) = check(what, place.cluster).drifts
    assert [(one.path, one.expected, one.actual, one.manager) for one in drift.fields] == [
        ("data.y", "1", None, "editor")
    ]
    check(what, place.cluster, repair=True, options=OPTIONS)
    assert data(place) == {"x": "1", "y": "1", "added": "theirs"}


def test_what_the_manifest_does_not_have_any_more_is_extra(place: Place) -> None:
    install(bundle(place, make.config_map("a"), make.config_map("old")), place.cluster, options=OPTIONS)
    (drift,) = check(bundle(place, make.config_map("a")), place.cluster).drifts
    assert (drift.finding, drift.ref.name) == (ObjectDriftKind.EXTRA, "old")


def test_values_of_secrets_are_not_in_a_report(place: Place) -> None:
    what = bundle(place, make.secret("s", password="right-value"))
    install(what, place.cluster, options=OPTIONS)
    place.kubectl({**make.secret("s", place.namespace, password="wrong-value")}, manager="kubectl-edit")
    report = check(what, place.cluster)
    assert report.drifts
    for text in ("right-value", "wrong-value", "cmlnaHQ", "d3Jvbmc"):
        assert text not in repr(report.drifts)


class KeptObjects:
    """A backup in memory."""

    def __init__(self) -> None:
        self.saved: dict[str, Json] = {}

    def holds(self, uid: str, resource_version: str) -> bool:
        return uid in self.saved and self.saved[uid]["metadata"]["resourceVersion"] == resource_version

    def save(self, body: Json) -> None:
        self.saved[body["metadata"]["uid"]] = body

    @property
    def message(self) -> str:
        return f"{len(self.saved)} objects"

    def names(self) -> set[str]:
        return {body["metadata"]["name"] for body in self.saved.values()}


def test_a_backup_gets_what_is_pruned_and_what_is_uninstalled(place: Place) -> None:
    kept = KeptObjects()
    options = replace(OPTIONS, backup=kept)
    install(bundle(place, make.config_map("a"), make.config_map("old", x="1")), place.cluster, options=options)
    assert not kept.saved
    install(bundle(place, make.config_map("a")), place.cluster, options=options)
    assert kept.names() == {"old"}
    assert next(iter(kept.saved.values()))["data"] == {"x": "1"}
    uninstall("module", place.namespace, place.cluster, options=options)
    assert {"old", "a"} <= kept.names()


def test_a_check_function_has_the_last_word(place: Place) -> None:
    what = bundle(place, make.config_map("a"))
    with pytest.raises(PartlyDoneError, match="but its check failed"):
        install(what, place.cluster, check_function=lambda cluster, bundle: False, options=OPTIONS)
    assert not check(what, place.cluster, check_function=lambda cluster, bundle: False).ready
    assert check(what, place.cluster, check_function=lambda cluster, bundle: True).ready


def test_without_readiness_nothing_is_waited_for(place: Place) -> None:
    broken = make.deployment("d", image="registry.example/broken:1.0.0")
    install(bundle(place, broken), place.cluster, wait=False, options=OPTIONS)
    report = check(bundle(place, broken), place.cluster)
    assert report.consistent
    assert not report.ready


def test_custom_resources_are_created_once_and_an_upgrade_leaves_them_alone(place: Place) -> None:
    own, more = make.custom(place.group, "Thing", "own", size=1), make.custom(place.group, "Thing", "more", size=1)
    what = bundle(
        place, make.definition(place.group, "Thing"), make.config_map("a", x="1"), resource=own, resources=(more,)
    )
    install(what, place.cluster, options=OPTIONS)
    place.kubectl(make.custom(place.group, "Thing", "own", place.namespace, size=9), manager="kubectl-edit")
    before = place.get(f"{place.group}/v1", "Thing", "own")
    newer = bundle(
        place, make.definition(place.group, "Thing"), make.config_map("a", x="2"), resource=own, resources=(more,)
    )
    install(newer, place.cluster, options=OPTIONS)
    assert place.get(f"{place.group}/v1", "Thing", "own") == before
    uninstall("module", place.namespace, place.cluster, options=OPTIONS)
    assert place.get("v1", "Namespace", place.namespace, "") is None


def test_a_resource_that_its_user_deleted_stays_deleted(place: Place) -> None:
    own = make.custom(place.group, "Thing", "own")
    things = make.definition(place.group, "Thing")
    install(bundle(place, things, make.config_map("a", x="1"), resource=own), place.cluster, options=OPTIONS)
    place.raw.delete(read_ref(make.custom(place.group, "Thing", "own", place.namespace)))
    install(bundle(place, things, make.config_map("a", x="2"), resource=own), place.cluster, options=OPTIONS)
    assert place.get(f"{place.group}/v1", "Thing", "own") is None


def test_what_a_kyma_asks_for_is_not_installed_by_hand(place: Place) -> None:
    definitions = [body for body in read_crds() if body["spec"]["names"]["kind"] == "Kyma"]
    place.kubectl(definitions[0])
    version = definitions[0]["spec"]["versions"][-1]["name"]
    place.make_namespace()
    kyma = {
        "apiVersion": f"operator.kyma-project.io/{version}",
        "kind": "Kyma",
        "metadata": {"name": place.name, "namespace": place.namespace},
        "spec": {"channel": "regular", "modules": [{"name": place.name, "managed": True}]},
    }
    eventually(lambda: _applied(place, kyma), "Kymas are served")
    with pytest.raises(RefusedError, match=f"{place.name} is managed by the Kyma"):
        install(Intent(bundle(place, make.config_map("a")), module=place.name), place.cluster, options=OPTIONS)
    assert place.get("v1", "ConfigMap", "a") is None
    install(Intent(bundle(place, make.config_map("a")), module="another"), place.cluster, options=OPTIONS)


def _applied(place: Place, body: Json) -> bool:
    place.raw.forget_kinds()
    try:
        place.kubectl(body)
    except NotFoundError:
        return False
    place.cluster.forget_kinds()
    return True


def test_a_plan_that_is_not_accepted_is_not_carried_out(place: Place) -> None:
    install(bundle(place, make.config_map("a")), place.cluster, accept=lambda plan: False, options=OPTIONS)
    assert place.get("v1", "Namespace", place.namespace, "") is None


def test_installing_what_is_there_waits_until_it_is_ready(place: Place) -> None:
    broken = bundle(place, make.deployment("d", image="registry.example/broken:1.0.0"))
    install(broken, place.cluster, wait=False, options=OPTIONS)
    impatient = Options(limits=replace(LIMITS, ready=0.3))
    with pytest.raises(KymatuiError, match=r"Deployment .*/d is not ready"):
        install(broken, place.cluster, options=impatient)
