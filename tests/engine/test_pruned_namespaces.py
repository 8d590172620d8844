"""A pruned namespace takes only what the plan deletes or displays, and stays for what stays."""

from __future__ import annotations

import pytest
import yaml

from kymatui.adapters.files.backups import BackupFile
from kymatui.domain.kubernetes.refs import GroupVersionKind, ObjectRef
from kymatui.engine.apply import applier
from kymatui.engine.cluster.ports import PatchKind
from kymatui.engine.inventory.release_store import read_inventory
from kymatui.engine.jobs.run import SystemClock, begin
from kymatui.engine.plans.plan import Action, Intent, Plan, Step
from kymatui.errors import PartlyDoneError
from tests.engine import objects as make
from tests.engine.installing import LIMITS, apply, bundle, install, plan
from tests.engine.places import Json, Place

SECRET = GroupVersionKind("", "v1", "Secret")


def more(place: Place) -> str:
    return f"{place.name}-more"


def pruning(place: Place, *objects: Json) -> Plan:
    return plan(place, Intent(bundle(place, *objects), prune_definitions=True, prune_namespaces=True))


def namespace_step(planned: Plan, name: str) -> Step:
    (found,) = (one for one in planned.steps if (one.ref.kind.kind, one.ref.name) == ("Namespace", name))
    return found


def test_a_namespace_stays_for_objects_of_the_new_version(place: Place) -> None:
    objects = (make.config_map("settings", more(place)), make.secret("token", more(place), key="hush"))
    install(place, bundle(place, make.namespace(more(place)), *objects))
    planned = pruning(place, *objects)
    step = namespace_step(planned, more(place))
    assert (step.action, step.reason) == (Action.KEEP, "the new version still has objects in it")
    apply(place, planned)
    assert place.get("v1", "ConfigMap", "settings", more(place)) is not None
    assert place.get("v1", "Secret", "token", more(place)) is not None


def test_the_namespace_of_the_inventory_stays(place: Place) -> None:
    install(
        place,
        bundle(place, make.namespace(place.namespace), make.config_map("a", more(place)), make.namespace(more(place))),
    )
    planned = pruning(place, make.config_map("a", more(place)), make.namespace(more(place)))
    step = namespace_step(planned, place.namespace)
    assert (step.action, step.reason) == (Action.KEEP, "the inventory of module is stored in it")
    apply(place, planned)
    assert read_inventory(place.cluster, SystemClock(), "module", place.namespace) is not None


def test_a_namespace_stays_for_an_object_that_the_plan_keeps(place: Place) -> None:
    kept = make.config_map("kept", more(place))
    kept["metadata"]["annotations"] = {"helm.sh/resource-policy": "keep"}
    install(place, bundle(place, make.namespace(more(place)), kept, make.config_map("a")))
    step = namespace_step(pruning(place, make.config_map("a")), more(place))
    assert (step.action, step.reason) == (
        Action.KEEP,
        f"it contains other objects: ConfigMap {more(place)}/kept (kept by its annotation helm.sh/resource-policy)",
    )


def test_a_namespace_stays_for_the_default_resource(place: Place) -> None:
    own = make.custom(place.group, "Thing", "own", more(place))
    crd = make.definition(place.group, "Thing")
    install(place, bundle(place, make.namespace(more(place)), crd, resource=own))
    step = namespace_step(pruning(place, crd), more(place))
    assert (step.action, step.reason) == (
        Action.KEEP,
        f"it contains other objects: Thing {more(place)}/own (the default CR, which no upgrade deletes)",
    )


def test_marked_objects_outside_the_plan_are_listed_and_saved(place: Place) -> None:
    old, a = make.config_map("old", more(place)), make.config_map("a")
    install(place, bundle(place, make.namespace(more(place)), old, a))
    live = place.get("v1", "ConfigMap", "old", more(place))
    assert live is not None
    stray = make.secret("stray", more(place), key="hush")
    stray["metadata"]["labels"] = live["metadata"]["labels"]
    place.kubectl(stray)
    planned = pruning(place, a)
    step = namespace_step(planned, more(place))
    assert step.action is Action.DELETE
    assert step.reason == f"not in this version; deletes everything in it too (Secret {more(place)}/stray)"
    assert planned.deletion_count == 3
    path = place.folder / "saved.yaml"
    with begin(place.cluster, limits=LIMITS, backup=BackupFile(path, place.cluster, ("module",))) as run:
        applier.apply(planned, run)
    saved = {(one["kind"], one["metadata"]["name"]) for one in yaml.safe_load_all(path.read_text())}
    assert saved == {("Namespace", more(place)), ("ConfigMap", "old"), ("Secret", "stray")}
    assert place.get("v1", "Namespace", more(place), "") is None


def test_instances_of_a_pruned_definition_are_counted_once(place: Place) -> None:
    a = make.config_map("a")
    install(place, bundle(place, make.namespace(more(place)), make.definition(place.group, "Thing"), a))
    place.kubectl(make.custom(place.group, "Thing", "users", more(place)))
    planned = pruning(place, a)
    assert planned.deletion_count == 3
    apply(place, planned)
    assert place.get("v1", "Namespace", more(place), "") is None


@pytest.mark.parametrize("kind", ["ConfigMap", "ServiceAccount"])
def test_a_namespace_stays_for_a_skipped_deletion(place: Place, kind: str) -> None:
    old = make.config_map("old", more(place)) if kind == "ConfigMap" else make.service_account("old", more(place))
    install(place, bundle(place, make.namespace(more(place)), old, make.config_map("a")))
    planned = pruning(place, make.config_map("a"))
    ref = ObjectRef(GroupVersionKind("", "v1", kind), more(place), "old")

    def meddle(_: object) -> None:
        if place.raw.get(ref) is not None:
            place.raw.patch(ref, {"metadata": {"labels": {"applyset.kubernetes.io/part-of": None}}}, PatchKind.MERGE)

    with pytest.raises(PartlyDoneError, match=rf"not deleted: {kind} .*old: its ownership labels were removed"):
        apply(place, planned, told=meddle)  # type: ignore[arg-type]
    assert place.raw.get(ref) is not None
    found = read_inventory(place.cluster, SystemClock(), "module", place.namespace)
    assert found is not None
    assert found.holds(ref)
