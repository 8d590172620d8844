"""What a plan says before anything is written, and when it is no longer taken."""

from __future__ import annotations

import json

import pytest
from msgspec.structs import replace

from kymatui.domain.inventories import Origin
from kymatui.domain.kubernetes.object_meta import read_ref
from kymatui.domain.kyma.kymas import Policy
from kymatui.engine.apply import applier
from kymatui.engine.bundles.bundle import Bundle
from kymatui.engine.cluster.ports import cluster_identity
from kymatui.engine.jobs.run import begin
from kymatui.engine.plans.plan import Action, FieldConflict, Intent, Step, plan_from_json, plan_to_json
from kymatui.errors import ConfigurationError, OutdatedError, RefusedError
from tests.engine import objects as make
from tests.engine.installing import Told, actions, apply, bundle, install, plan
from tests.engine.places import Json, Place


def step_of(steps: tuple[Step, ...], name: str) -> Step:
    return next(step for step in steps if step.ref.name == name)


def test_a_change_is_told_field_by_field(place: Place) -> None:
    install(place, bundle(place, make.config_map("a", x="1", y="2")))
    planned = plan(place, bundle(place, make.config_map("a", x="3", y="2")))
    step = step_of(planned.steps, "a")
    assert step.action is Action.CHANGE
    assert [(change.path, change.before, change.after) for change in step.changes] == [("data.x", "1", "3")]


def test_what_the_server_defaults_is_no_change(place: Place) -> None:
    what = bundle(place, make.deployment("manager"))
    install(place, what)
    assert plan(place, what).changes_nothing


def test_values_of_secrets_are_not_in_what_is_shown(place: Place) -> None:
    install(place, bundle(place, make.secret("s", password="first-value")))
    planned = plan(place, bundle(place, make.secret("s", password="second-value")))
    shown = repr(planned.steps)
    assert step_of(planned.steps, "s").action is Action.CHANGE
    assert "second-value" not in shown
    assert "c2Vjb25k" not in shown


def test_a_field_that_somebody_changed_is_a_conflict_with_his_name(place: Place) -> None:
    what = bundle(place, make.deployment("manager", replicas=1))
    install(place, what)
    edited = make.deployment("manager", place.namespace, replicas=3)
    place.kubectl(edited, manager="kubectl-scale")
    planned = plan(place, what)
    step = step_of(planned.steps, "manager")
    assert step.action is Action.CONFLICT
    assert FieldConflict("spec.replicas", "kubectl-scale") in step.conflicts
    assert ("spec.replicas", 3, 1) in [(change.path, change.before, change.after) for change in step.changes]
    with pytest.raises(RefusedError, match=r"spec\.replicas is owned by kubectl-scale"):
        apply(place, planned)
    install(place, Intent(what, force=True))
    found = place.get("apps/v1", "Deployment", "manager")
    assert found is not None
    assert found["spec"]["replicas"] == 1


def test_force_takes_no_field_that_was_not_in_the_plan(place: Place) -> None:
    what = bundle(place, make.config_map("a", x="1", y="1"))
    install(place, what)
    place.kubectl(make.config_map("a", place.namespace, x="theirs"), manager="one")
    planned = plan(place, Intent(what, force=True))
    place.kubectl(make.config_map("a", place.namespace, y="theirs"), manager="two")
    with pytest.raises(OutdatedError, match=r"data\.y by two"):
        apply(place, planned, just_made=True)
    found = place.get("v1", "ConfigMap", "a")
    assert found is not None
    assert found["data"] == {"x": "theirs", "y": "theirs"}


def test_an_immutable_field_is_refused_in_the_servers_words(place: Place) -> None:
    install(place, bundle(place, make.deployment("manager")))
    other = make.deployment("manager")
    other["spec"]["selector"] = {"matchLabels": {"app": "other"}}
    other["spec"]["template"]["metadata"]["labels"] = {"app": "other"}
    planned = plan(place, bundle(place, other))
    step = step_of(planned.steps, "manager")
    assert step.action is Action.BLOCKED
    assert "immutable" in step.reason
    with pytest.raises(RefusedError, match="immutable"):
        apply(place, planned)


def test_a_kind_that_nobody_serves_is_refused_by_name(place: Place) -> None:
    planned = plan(place, bundle(place, make.custom("nobody.example", "Thing", "a"), make.config_map("b")))
    assert "Thing.v1.nobody.example" in step_of(planned.steps, "a").reason
    with pytest.raises(RefusedError, match="does not serve"):
        apply(place, planned)
    assert place.get("v1", "Namespace", place.namespace, "") is None


def test_instances_of_kinds_that_come_along_are_not_checked_and_come_last(place: Place) -> None:
    things = [make.custom(place.group, "Thing", "a"), make.definition(place.group, "Thing")]
    planned = plan(place, bundle(place, *things))
    thing = step_of(planned.steps, "a")
    assert thing.unchecked
    assert ("kind", "Thing") in [(change.path, change.after) for change in thing.changes], "what is made is shown"
    assert step_of(planned.steps, f"things.{place.group}").wave < step_of(planned.steps, "a").wave


def test_what_belongs_to_another_is_not_taken(place: Place) -> None:
    install(place, bundle(place, make.config_map("shared"), name="one"))
    planned = plan(place, bundle(place, make.config_map("shared"), name="two"))
    assert "owned by the set" in step_of(planned.steps, "shared").reason
    managed = make.config_map("managed", place.namespace)
    managed["metadata"]["labels"] = {"operator.kyma-project.io/managed-by": "kyma"}
    place.kubectl(managed)
    planned = plan(place, bundle(place, make.config_map("managed"), name="two"))
    assert "owned by the lifecycle-manager" in step_of(planned.steps, "managed").reason


def test_what_is_being_deleted_blocks_with_who_holds_it(place: Place) -> None:
    place.make_namespace()
    held = make.config_map("a", place.namespace)
    held["metadata"]["finalizers"] = ["example.org/held"]
    place.kubectl(held)
    place.raw.delete(read_ref(held))
    planned = plan(place, bundle(place, make.config_map("a")))
    assert step_of(planned.steps, "a").reason == "it is being deleted (finalizers: example.org/held)"
    del held["metadata"]["finalizers"]
    place.kubectl(held)


def test_a_saved_plan_is_the_same_plan(place: Place) -> None:
    install(place, bundle(place, make.config_map("a", x="1"), make.config_map("old")))
    planned = plan(place, bundle(place, make.config_map("a", x="2"), make.secret("s", password="p")))
    again = plan_from_json(plan_to_json(planned))
    assert again == planned
    apply(place, again)
    assert place.get("v1", "ConfigMap", "old") is None


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("no json", "this file is not a plan|this plan is of another version"),
        ("[]", "this file is not a plan|this plan is of another version"),
        ('{"schema": "kymatui.io/plan/v0"}', "its schema is 'kymatui.io/plan/v0'"),
        ('{"schema": "kymatui.io/plan/v1", "plan": {"steps": 1}}', "this plan cannot be read"),
    ],
)
def test_what_is_no_plan_is_refused(text: str, words: str) -> None:
    with pytest.raises(ConfigurationError, match=words):
        plan_from_json(text)


@pytest.mark.parametrize("what", ["changed", "deleted", "appeared", "installed"])
def test_a_plan_is_refused_when_the_cluster_has_moved_on(place: Place, what: str) -> None:
    install(place, bundle(place, make.config_map("a", x="1")))
    planned = plan(place, bundle(place, make.config_map("a", x="2"), make.config_map("b", x="2")))
    meddle(place, what)
    with pytest.raises(OutdatedError, match="since the plan"):
        apply(place, planned)
    assert (place.get("v1", "ConfigMap", "a") or {"data": {}})["data"].get("x") != "2"


def meddle(place: Place, what: str) -> None:
    if what == "changed":
        place.kubectl(make.config_map("a", place.namespace, x="theirs"))
    elif what == "deleted":
        place.raw.delete(read_ref(make.config_map("a", place.namespace)))
    elif what == "appeared":
        place.kubectl(make.config_map("b", place.namespace, z="theirs"))
    else:
        install(place, bundle(place, make.config_map("a", x="other")))


def test_a_plan_that_changes_nothing_is_refused_too_when_something_has_changed_since(place: Place) -> None:
    same = bundle(place, make.config_map("a", x="1"))
    install(place, same)
    planned = plan(place, same)
    assert planned.changes_nothing
    apply(place, planned)
    meddle(place, "changed")
    with pytest.raises(OutdatedError, match="since the plan"):
        apply(place, planned)


def test_a_status_that_changed_does_not_outdate_a_plan(place: Place) -> None:
    install(place, bundle(place, make.deployment("manager")), wait=False)
    planned = plan(place, bundle(place, make.deployment("manager", replicas=2)))
    apply(place, planned)


def test_a_plan_is_for_one_cluster(place: Place) -> None:
    planned = plan(place, bundle(place, make.config_map("a")))
    with pytest.raises(RefusedError, match="the plan is for cluster another"):
        apply(place, replace(planned, cluster="another"))


def test_rights_that_are_missing_are_named(place: Place) -> None:
    place.make_namespace()
    install(place, bundle(place, make.config_map("old")))
    viewer = place.connect(token="viewer")
    place.kubectl(_reader(place), manager="test")
    place.kubectl(_binding(place), manager="test")
    planned = plan(place, bundle(place, make.config_map("a")), cluster=viewer)
    assert step_of(planned.steps, "a").action is Action.BLOCKED
    named = {f"{right.verb} {right.kind.kind}" for right in planned.missing}
    assert {"patch ConfigMap", "delete ConfigMap", "create Lease"} <= named


def _reader(place: Place) -> Json:
    return make.cluster_role(f"{place.name}-read", {"apiGroups": ["*"], "resources": ["*"], "verbs": ["get", "list"]})


def _binding(place: Place) -> Json:
    return {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": f"{place.name}-read"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": f"{place.name}-read"},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": "viewers"}],
    }


def test_pruning_asks_before_definitions_and_namespaces_and_can_be_left_out(place: Place) -> None:
    extra = [make.definition(place.group, "Thing"), make.namespace(f"{place.name}-more"), make.config_map("old")]
    install(place, bundle(place, *extra, make.config_map("a")))
    small = bundle(place, make.config_map("a"))
    assert {step.action for step in plan(place, Intent(small, prune=False)).steps} == {Action.SAME, Action.KEEP}
    asked = plan(place, small)
    assert actions(asked.of(Action.DELETE)) == [("old", "delete")]
    assert [step.reason for step in asked.of(Action.KEEP)] == [
        "deleting a CRD deletes all its objects (none exist); this needs consent",
        "deleting a namespace deletes everything in it; this needs consent",
    ]
    place.kubectl({**make.custom(place.group, "Thing", "users"), "metadata": {"name": "users", "namespace": "default"}})
    for name in "abcdefg":
        place.kubectl(make.config_map(name, f"{place.name}-more"))
    consenting = Intent(small, prune_definitions=True, prune_namespaces=True)
    assert [step.reason for step in plan(place, consenting).of(Action.DELETE)][:2] == [
        "not in this version; deletes all its objects too (Thing default/users)",
        "not in this version; deletes everything in it too "
        f"({', '.join(f'ConfigMap {place.name}-more/{name}' for name in 'abcde')} and 2 more)",
    ]
    install(place, consenting)
    assert place.get("v1", "Namespace", f"{place.name}-more", "") is None


def test_namespaces_without_scope_and_wrong_namespaces_are_put_right(place: Place) -> None:
    role = make.cluster_role(f"{place.name}-r")
    role["metadata"]["namespace"] = "nonsense"
    what = bundle(place, make.config_map("a"), role, make.config_map("a", x="a duplicate"))
    planned = plan(place, what)
    assert {(step.ref.name, step.ref.namespace) for step in planned.steps} == {
        (place.namespace, ""),
        ("a", place.namespace),
        (f"{place.name}-r", ""),
    }


def test_data_with_a_status_is_sent_without_it(place: Place) -> None:
    own = make.custom(place.group, "Thing", "own")
    own["status"] = {"state": "Ready"}
    install(place, bundle(place, make.definition(place.group, "Thing"), own))
    found = place.get(f"{place.group}/v1", "Thing", "own")
    assert found is not None
    assert "status" not in found


def test_who_has_rights_in_one_namespace_only_installs_there(place: Place) -> None:
    place.make_namespace()
    role = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "Role",
        "metadata": {"name": "installer", "namespace": place.namespace},
        "rules": [
            {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "list", "watch", "create", "patch"]},
            {"apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "verbs": ["get", "create", "update"]},
        ],
    }
    binding = {**_binding(place), "kind": "RoleBinding", "metadata": {"name": "i", "namespace": place.namespace}}
    binding["roleRef"] = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "installer"}
    place.kubectl(role)
    place.kubectl(binding)
    limited = place.connect(token="viewer")
    planned = plan(place, bundle(place, make.config_map("a")), cluster=limited)
    assert (planned.missing, planned.blockers) == ((), ())
    apply(place, planned, cluster=limited)
    assert place.get("v1", "ConfigMap", "a") is not None
    refused = plan(
        place, bundle(place, make.config_map("a"), make.service_account("sa"), name="other"), cluster=limited
    )
    with pytest.raises(RefusedError):
        apply(place, refused, cluster=limited)
    assert place.get("v1", "ConfigMap", "kymatui.other") is None


def test_a_default_cr_without_its_namespace_is_refused_before_anything_is_written(place: Place) -> None:
    """It is the last step of an installation, which would fail when everything else is there."""
    absent = f"{place.namespace}-later"
    resource = make.custom(place.group, "Thing", "default", absent)
    what = bundle(place, make.definition(place.group, "Thing"), make.config_map("a"), resource=resource)
    planned = plan(place, what)
    step = step_of(planned.steps, "default")
    assert (step.action, step.reason) == (
        Action.BLOCKED,
        f"namespace {absent} of the default CR does not exist; create it, or use policy Ignore",
    )
    with pytest.raises(RefusedError, match=f"namespace {absent} of the default CR does not exist"):
        apply(place, planned)
    assert place.get("v1", "ConfigMap", "a") is None
    assert not plan(place, Intent(what, policy=Policy.IGNORE)).blockers
    brings = replace(what, objects=(*what.objects, make.namespace(absent)))
    assert not plan(place, brings).blockers
    place.raw.apply(make.namespace(absent), manager="test")
    assert step_of(plan(place, what).steps, "default").action is Action.CREATE
    install(place, what)
    assert not plan(place, what).blockers


def test_a_saved_plan_of_another_cluster_with_the_same_name_is_refused(place: Place) -> None:
    planned = plan(place, bundle(place, make.config_map("a")))
    own = replace(planned, identity=cluster_identity(place.cluster))
    assert own.identity
    assert plan_from_json(plan_to_json(own)) == own
    other = replace(own, identity="of-another")
    with pytest.raises(RefusedError, match="another cluster that is also called"):
        apply(place, other)
    with pytest.raises(RefusedError, match="another cluster that is also called"), begin(place.cluster) as run:
        applier.refuse_outdated(other, run)
    assert place.get("v1", "Namespace", place.namespace, "") is None
    apply(place, own)
    older = {key: value for key, value in json.loads(plan_to_json(own))["plan"].items() if key != "identity"}
    text = json.dumps({"schema": "kymatui.io/plan/v1", "plan": older})
    assert plan_from_json(text) == planned


def test_an_outdated_plan_creates_no_namespace(place: Place) -> None:
    role = f"{place.name}-r"
    planned = plan(place, bundle(place, make.config_map("a"), make.cluster_role(role)))
    place.kubectl(make.cluster_role(role, make.rule("pods", "get")))
    with pytest.raises(OutdatedError, match=role):
        apply(place, planned)
    assert place.get("v1", "Namespace", place.namespace, "") is None


def test_a_namespace_that_exists_meanwhile_is_not_called_written(place: Place) -> None:
    planned, told = plan(place, bundle(place, make.config_map("a"))), Told()
    place.make_namespace()
    apply(place, planned, told=told)
    assert f"Namespace {place.namespace} already exists" in told.messages
    assert f"Namespace {place.namespace} written" not in told.messages


@pytest.mark.parametrize(
    ("origin", "title"),
    [
        (Origin("oci", "oci://reg.example/keda@sha256:12", "1.5.0", "sha256:12"), "keda 1.5.0"),
        (Origin("raw", "https://example.com/keda.yaml"), "keda from https://example.com/keda.yaml"),
        (Origin("raw", ""), "keda 1.5.0"),
    ],
)
def test_a_plan_is_called_by_module_and_version_where_its_address_is_a_digest(origin: Origin, title: str) -> None:
    assert Bundle("keda", "kyma-system", origin, "1.5.0").title == title
