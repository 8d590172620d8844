"""A release that helm and kymatui take turns at: what one wrote and the other has not any more goes."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from kymatui.domain.kubernetes.object_meta import field_managers
from kymatui.domain.kubernetes.refs import SECRET
from kymatui.engine import check
from kymatui.engine.cluster.ports import FIELD_MANAGER, PatchKind
from kymatui.engine.dryrun.field_takeover import leftover_fields, object_after_takeover, take_over_fields
from kymatui.engine.inventory.release_store import ReleaseStore
from kymatui.engine.jobs.run import SystemClock
from kymatui.engine.plans.plan import Action, Intent
from kymatui.helm.rendering.releases import Release, Status, from_record, to_record
from tests.engine import objects as make
from tests.engine.charts import chart
from tests.engine.installing import apply, install, plan
from tests.engine.places import Json, Place

FIELDS: Json = {
    "f:data": {"f:a": {}, "f:b": {}},
    "f:metadata": {"f:labels": {"f:l": {}}, "f:finalizers": {'v:"x/y"': {}}},
    "f:spec": {
        "f:args": {},
        "f:ports": {
            'k:{"port":80,"protocol":"TCP"}': {".": {}, "f:name": {}, "f:port": {}},
            'k:{"port":81,"protocol":"TCP"}': {".": {}, "f:name": {}, "f:port": {}},
        },
    },
}
LIVE: Json = {
    "apiVersion": "v1",
    "kind": "Thing",
    "metadata": {"name": "a", "labels": {"l": "1"}, "finalizers": ["x/y", "z"], "resourceVersion": "1"},
    "data": {"a": "1", "b": "2"},
    "status": {"ready": True},
    "spec": {"args": ["x"], "ports": [{"name": n, "port": p, "protocol": "TCP"} for n, p in (("h", 80), ("s", 81))]},
}
ALL: Json = {key: LIVE[key] for key in ("apiVersion", "kind", "data", "spec")} | {"metadata": {"labels": {"l": "1"}}}
FINALIZER = ("f:metadata", "f:finalizers", 'v:"x/y"')
PORTS = ("f:spec", "f:ports")


def written(fields: Json, manager: str = "helm", operation: str = "Apply", **more: Any) -> Json:
    found = {"manager": manager, "operation": operation, "apiVersion": "v1", "fieldsV1": fields}
    return {**found, **more}


def live(*entries: Json) -> Json:
    return {**LIVE, "metadata": {**LIVE["metadata"], "managedFields": list(entries)}}


@pytest.mark.parametrize(
    ("body", "gone"),
    [
        (ALL, [FINALIZER]),
        ({**ALL, "data": {"a": "other"}}, [("f:data", "f:b"), FINALIZER]),
        ({**ALL, "data": {}}, [("f:data", "f:a"), ("f:data", "f:b"), FINALIZER]),
        ({**ALL, "data": None}, [("f:data", "f:a"), ("f:data", "f:b"), FINALIZER]),
        (
            {**ALL, "spec": {"args": ["y"], "ports": [{"port": 81}]}},  # the server fills in the protocol
            [
                FINALIZER,
                (*PORTS, 'k:{"port":80,"protocol":"TCP"}'),
                (*PORTS, 'k:{"port":81,"protocol":"TCP"}', "f:name"),
            ],
        ),
        ({**ALL, "metadata": {"finalizers": ["x/y"]}}, [("f:metadata", "f:labels", "f:l")]),
    ],
)
def test_what_helm_alone_owns_and_a_manifest_has_not_is_left_over(body: Json, gone: list[tuple[str, ...]]) -> None:
    assert list(leftover_fields(live(written(FIELDS)), body, FIELD_MANAGER)) == gone
    assert list(leftover_fields(live(written(FIELDS, operation="Update")), body, FIELD_MANAGER)) == gone


@pytest.mark.parametrize(
    ("entries", "gone"),
    [
        ([written({"f:data": {"f:b": {}}})], [("f:data", "f:b")]),
        ([written({"f:data": {"f:b": {}}}), written({"f:data": {"f:b": {}}}, FIELD_MANAGER)], [("f:data", "f:b")]),
        ([written({"f:data": {"f:b": {}}}), written({"f:data": {"f:b": {}}}, "somebody")], []),
        ([written({"f:data": {"f:b": {}}}, subresource="status")], []),
        ([written({"f:data": {"f:b": {}}}, "somebody")], []),
        ([written({"f:data": {"f:gone": {}}})], []),
        ([written({"f:data": {"f:b": {}}}, apiVersion="v1beta1")], []),
        ([written({"f:status": {"f:ready": {}}})], []),
        ([], []),
    ],
)
def test_what_others_own_too_or_what_is_not_there_is_not(entries: list[Json], gone: list[tuple[str, ...]]) -> None:
    assert list(leftover_fields(live(*entries), {**ALL, "data": {"a": "1"}}, FIELD_MANAGER)) == gone


def test_an_item_goes_as_a_whole_where_nobody_else_has_a_part_of_it() -> None:
    item = 'k:{"port":80,"protocol":"TCP"}'
    theirs = written({"f:spec": {"f:ports": {item: {"f:name": {}}}}}, "somebody")
    helms = written({"f:spec": {"f:ports": {item: {"f:name": {}, "f:port": {}}}}})
    body = {**ALL, "spec": {}}
    assert leftover_fields(live(helms, theirs), body, FIELD_MANAGER) == ((*PORTS, item, "f:port"),)
    assert leftover_fields(live(helms), body, FIELD_MANAGER) == ((*PORTS, item),)


def test_what_follows_is_without_the_leftovers() -> None:
    body = {**ALL, "data": {"a": "9"}, "spec": {"ports": [{"name": "s", "port": 82}]}, "metadata": {}}
    found = live(written(FIELDS))
    after = object_after_takeover(found, body, leftover_fields(found, body, FIELD_MANAGER))
    assert (after["data"], after["spec"]) == ({"a": "9"}, {"ports": [{"name": "s", "port": 82}]})
    assert ("labels" in after["metadata"], after["metadata"]["finalizers"]) == (False, ["z"]), "an empty map goes too"


def test_texts_of_a_secret_are_its_data() -> None:
    secret = {**LIVE, "kind": "Secret", "data": {"a": "MQ==", "b": "Mg=="}}
    secret["metadata"] = {**LIVE["metadata"], "managedFields": [written({"f:data": {"f:a": {}, "f:b": {}}})]}
    body = {"apiVersion": "v1", "kind": "Secret", "metadata": {}, "stringData": {"a": "3"}}
    gone = leftover_fields(secret, body, FIELD_MANAGER)
    assert gone == (("f:data", "f:b"),)
    assert object_after_takeover(secret, body, gone)["data"] == {"a": "Mw=="}


# with a server


def service(port: int) -> Json:
    spec = {"ports": [{"name": "http", "port": port, "targetPort": 80}], "selector": {"app": "a"}}
    return {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"}, "spec": spec}


TEMPLATES = [{"name": "templates/a.yaml", "data": "e30="}]


def installed_by_helm(place: Place, *objects: Json, operation: str) -> None:
    """Helm 4 applies on the server, Helm 3 creates, and merges by itself."""
    place.make_namespace()
    made = chart(place, *objects)
    assert made.release is not None
    when = {"modtime": "2026-01-01T00:00:00Z"}
    document = {**made.release.chart, **when, "templates": [{**one, **when} for one in TEMPLATES]}
    manifest = made.release.manifest
    release = Release("web", place.namespace, 1, Status.DEPLOYED, chart=document, manifest=manifest, apply_method="ssa")
    place.raw.apply(to_record(release), manager="helm")
    marks = {"meta.helm.sh/release-name": "web", "meta.helm.sh/release-namespace": place.namespace}
    for body in objects:
        metadata = {**body["metadata"], "namespace": place.namespace, "annotations": marks}
        marked = {**body, "metadata": {**metadata, "labels": {"app.kubernetes.io/managed-by": "Helm"}}}
        if operation == "Apply":
            place.raw.apply(marked, manager="helm")
        else:
            place.raw.create(marked, manager="helm")


@pytest.mark.parametrize("operation", ["Apply", "Update"])
def test_an_upgrade_takes_away_what_helm_had_and_the_chart_has_not(place: Place, operation: str) -> None:
    installed_by_helm(place, make.config_map("a", x="1", y="1"), service(80), operation=operation)
    patch = {"data": {"z": "theirs"}}
    (ref,) = [item.ref for item in place_items(place) if item.ref.kind.kind == "ConfigMap"]
    place.raw.patch(ref, patch, PatchKind.MERGE, manager="somebody")
    wanted = chart(place, make.config_map("a", x="2"), service(81))
    made = plan(place, wanted)
    told = {step.ref.name: (step.action, {change.path for change in step.changes}) for step in made.steps}
    assert told["a"] == (Action.CHANGE, {"data.x", "data.y"})
    assert told["s"] == (Action.CHANGE, {"spec.ports[http].port"})
    apply(place, made)
    found, served = place.get("v1", "ConfigMap", "a"), place.get("v1", "Service", "s")
    assert found is not None
    assert served is not None
    assert found["data"] == {"x": "2", "z": "theirs"}
    assert [port["port"] for port in served["spec"]["ports"]] == [81]
    assert field_managers(found) == {FIELD_MANAGER, "somebody"}
    assert plan(place, wanted).changes_nothing


def test_what_a_chart_made_up_for_helm_is_no_drift(place: Place) -> None:
    """Helm writes down when the chart's files were changed, and the same chart comes from another place."""
    installed_by_helm(place, make.config_map("a", v="random-1"), operation="Apply")
    again = chart(place, make.config_map("a", v="random-2"))
    assert again.release is not None
    same = replace(again.release, chart={**again.release.chart, "templates": TEMPLATES})
    assert check(replace(again, release=same), place.cluster).drifts == ()
    other = replace(same, config={"x": 1})
    assert len(check(replace(again, release=other), place.cluster).drifts) == 1


def place_items(place: Place) -> tuple[Any, ...]:
    found = ReleaseStore(place.cluster, "web", place.namespace, SystemClock().now).read()
    assert found is not None
    return found.items


def test_what_helm_added_to_what_was_installed_here_goes_with_the_next_version(place: Place) -> None:
    install(place, chart(place, make.config_map("a", x="1")))
    (item,) = place_items(place)
    place.raw.patch(item.ref, {"data": {"x": "2", "y": "2"}}, PatchKind.MERGE, manager="helm")
    install(place, chart(place, make.config_map("a", x="3")))
    assert (place.get("v1", "ConfigMap", "a") or {})["data"] == {"x": "3"}


def test_what_others_changed_of_what_helm_installed_is_a_conflict_all_the_same(place: Place) -> None:
    installed_by_helm(place, make.config_map("a", x="1", y="1"), operation="Apply")
    (item,) = place_items(place)
    place.raw.patch(item.ref, {"data": {"x": "by hand"}}, PatchKind.MERGE, manager="kubectl-edit")
    wanted = chart(place, make.config_map("a", x="2"))
    (step,) = plan(place, wanted).steps
    assert (step.action, [(one.path, one.manager) for one in step.conflicts]) == (
        Action.CONFLICT,
        [("data.x", "kubectl-edit")],
    )
    apply(place, plan(place, Intent(wanted, force=True)))
    assert (place.get("v1", "ConfigMap", "a") or {})["data"] == {"x": "2"}


def test_who_is_cut_off_between_inheriting_and_applying_goes_on(place: Place) -> None:
    installed_by_helm(place, make.config_map("a", x="1", y="1"), operation="Update")
    (item,) = place_items(place)
    assert take_over_fields(place.cluster, item.ref, FIELD_MANAGER)
    assert not take_over_fields(place.cluster, item.ref, FIELD_MANAGER)
    install(place, chart(place, make.config_map("a", x="2")))
    assert (place.get("v1", "ConfigMap", "a") or {})["data"] == {"x": "2"}


def test_helm_is_told_of_no_revision_that_it_was_applied_on_the_server(place: Place) -> None:
    """Helm 4 would apply on the server then, too, and be refused what kymatui has applied."""
    installed_by_helm(place, make.config_map("a", x="1"), operation="Apply")
    install(place, chart(place, make.config_map("a", x="2")))
    secrets = place.raw.list(SECRET, place.namespace, labels="owner=helm,name=web")
    found = [from_record(secret) for secret in secrets]
    assert sorted((one.version, one.status.value, one.apply_method) for one in found) == [
        (1, "superseded", ""),
        (2, "deployed", ""),
    ]
