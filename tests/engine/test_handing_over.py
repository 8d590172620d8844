"""What changes hands: nothing is deleted on the way, and whose it is stands in one place only."""

from __future__ import annotations

import time
from contextlib import suppress

import pytest
from msgspec.structs import replace

from kymatui.actions.edits.handover import hand_over, handover_notice, handover_summary
from kymatui.actions.modules.adopt import with_misplaced
from kymatui.domain.gitops import git_warnings
from kymatui.domain.kubernetes.managed_fields import KUBERNETES_COMPONENTS
from kymatui.domain.kubernetes.object_meta import field_managers, read_ref
from kymatui.domain.kubernetes.refs import SECRET
from kymatui.domain.kyma.problems import Actor
from kymatui.domain.ownership import ANNOTATION_RELEASE, ANNOTATIONS_OWNED_BY, LIFECYCLE_APPLIER, owning_manifest
from kymatui.engine.cluster.ports import FIELD_MANAGER, OPERATOR_FIELD_MANAGER, PatchKind
from kymatui.engine.deletion import module_deletion, uninstall_plan
from kymatui.engine.deletion.deletion_state import DeletionState, ManagedBy
from kymatui.engine.deletion.managed_deletion import DeletionConsent
from kymatui.engine.inventory.inventory_store import ApplySetStore
from kymatui.engine.inventory.release_store import ReleaseStore
from kymatui.engine.jobs.run import SystemClock, begin
from kymatui.engine.plans.plan import Action, Intent, plan_from_json, plan_to_json
from kymatui.errors import ConflictError, OutdatedError
from tests.engine import objects as make
from tests.engine.charts import chart
from tests.engine.installing import LIMITS, Told, apply, bundle, install, plan
from tests.engine.places import Json, Place


def somebody_made(place: Place) -> None:
    """A ConfigMap that is there before the module."""
    place.cluster.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": place.namespace}})
    found = make.config_map("a", x="1")
    place.cluster.create({**found, "metadata": {**found["metadata"], "namespace": place.namespace}}, manager="somebody")


def test_what_was_only_found_is_taken_over_by_adopting_it(place: Place) -> None:
    somebody_made(place)
    install(place, bundle(place, make.config_map("a", x="1")))
    seen = uninstall_plan.plan_uninstall("module", place.namespace, place.cluster, SystemClock())
    assert seen is not None
    assert [step.action for step in seen.steps] == [Action.KEEP]
    taking = plan(place, Intent(bundle(place, make.config_map("a", x="1")), adopt=True, force=True))
    assert not taking.changes_nothing
    apply(place, taking)
    seen = uninstall_plan.plan_uninstall("module", place.namespace, place.cluster, SystemClock())
    assert seen is not None
    assert [step.action for step in seen.steps] == [Action.DELETE]


def test_the_plan_of_an_adoption_names_who_had_it(place: Place) -> None:
    somebody_made(place)
    (step,) = plan(place, Intent(bundle(place, make.config_map("a", x="1")), adopt=True)).steps
    assert (step.action, step.reason) == (Action.CHANGE, "owner: somebody → kymatui")


FLUX = {"kustomize.toolkit.fluxcd.io/name": "apps", "kustomize.toolkit.fluxcd.io/namespace": "flux-system"}


def git_takes(place: Place, name: str) -> None:
    live = place.get("v1", "ConfigMap", name)
    assert live is not None
    place.cluster.patch(read_ref(live), {"metadata": {"labels": FLUX}}, PatchKind.MERGE, manager="kustomize-controller")


def test_what_git_applies_is_named_in_every_plan_that_changes_or_deletes_it(place: Place) -> None:
    git = "Flux Kustomization flux-system/apps applies"
    install(place, bundle(place, *(make.config_map(name, x="1") for name in "abc")))
    for name in "ab":
        git_takes(place, name)
    unchanged = plan(place, bundle(place, *(make.config_map(name, x="1") for name in "abc")))
    assert unchanged.notes == ()
    upgrade = plan(place, bundle(place, *(make.config_map(name, x="2") for name in "abc")))
    assert upgrade.notes == (f"{git} 2 of these objects and may revert their changes: make them in Git",)
    pruning = plan(place, bundle(place, *(make.config_map(name, x="1") for name in "bc")))
    warning = f"{git} ConfigMap {place.namespace}/a and may revert this change: make it in Git"
    assert pruning.notes == (warning,)
    assert git_warnings(plan_from_json(plan_to_json(pruning)).git) == (warning,), "a saved plan has it too"
    uninstall = uninstall_plan.plan_uninstall("module", place.namespace, place.cluster, SystemClock())
    assert uninstall is not None
    state = DeletionState(place.cluster.name, "module", ManagedBy.DIRECT, foreseen=("known",), uninstall=uninstall)
    assert state.warnings == ("known", *upgrade.notes)


def test_what_git_applies_by_a_release_is_changed_and_deleted_with_the_release(place: Place) -> None:
    install(place, chart(place, make.config_map("a", x="1")))
    git_takes(place, "a")
    assert [change.release for change in plan(place, chart(place, make.config_map("a", x="2"))).git] == [True]
    uninstall = uninstall_plan.plan_uninstall("web", place.namespace, place.cluster, SystemClock())
    state = DeletionState(place.cluster.name, "web", ManagedBy.DIRECT, uninstall=uninstall)
    assert [change.release for change in state.git] == [True]


@pytest.mark.parametrize(
    ("labels", "first"),
    [
        ({}, "that release"),
        ({f"helm.toolkit.fluxcd.io/{key}": "apps" for key in ("name", "namespace")}, "Flux HelmRelease apps/apps"),
    ],
)
def test_what_another_release_has_names_what_has_to_be_deleted_first(
    place: Place, labels: dict[str, str], first: str
) -> None:
    install(place, chart(place, make.config_map("a", x="1")))
    live = place.get("v1", "ConfigMap", "a")
    assert live is not None
    place.cluster.patch(read_ref(live), {"metadata": {"labels": labels}}, PatchKind.MERGE, manager="helm-controller")
    (step,) = plan(place, bundle(place, make.config_map("a", x="1"))).steps
    assert step.action is Action.BLOCKED
    assert step.reason.endswith(f"/web; delete {first} first, or rename the object")


def test_labels_of_git_that_the_module_itself_brings_say_nothing_of_this_cluster(place: Place) -> None:
    def exported(value: str) -> Json:
        body = make.config_map("a", x=value)
        return {**body, "metadata": {**body["metadata"], "labels": FLUX}}

    install(place, bundle(place, exported("1")))
    assert plan(place, bundle(place, exported("2"))).notes == ()


def test_what_git_applies_is_adopted_only_after_it_was_released_there(place: Place) -> None:
    somebody_made(place)
    git_takes(place, "a")
    intent = Intent(bundle(place, make.config_map("a", x="1")), adopt=True)
    (step,) = plan(place, intent).steps
    reason = "Flux Kustomization flux-system/apps applies it and would revert the adoption: release it there first"
    assert (step.action, step.reason) == (Action.BLOCKED, reason)
    released = {"metadata": {"annotations": {"kustomize.toolkit.fluxcd.io/reconcile": "disabled"}}}
    place.cluster.patch(step.ref, released, PatchKind.MERGE)
    (step,) = plan(place, intent).steps
    assert step.action is Action.CHANGE


def test_components_of_kubernetes_are_no_owner_to_take_over_from(place: Place) -> None:
    somebody_made(place)
    found = place.get("v1", "ConfigMap", "a")
    assert found is not None
    for component in sorted(KUBERNETES_COMPONENTS):
        mark = {"metadata": {"annotations": {f"example.com/{component}": "1"}}}
        place.cluster.patch(read_ref(found), mark, PatchKind.MERGE, manager=component)
    found = place.get("v1", "ConfigMap", "a")
    assert found is not None
    assert field_managers(found) >= KUBERNETES_COMPONENTS
    (step,) = plan(place, Intent(bundle(place, make.config_map("a", x="1")), adopt=True)).steps
    assert (step.action, step.reason) == (Action.CHANGE, "owner: somebody → kymatui")


APPLYING = ("kubectl", "cli", "kustomize-controller", LIFECYCLE_APPLIER)


@pytest.mark.parametrize("manager", ["kubectl-client-side-apply", "kubectl-create", "unknown", *APPLYING])
def test_an_upgrade_of_what_kubectl_installed_leaves_nothing_of_the_old_version(place: Place, manager: str) -> None:
    place.cluster.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": place.namespace}})
    for old in (make.config_map("a", x="1", gone="1"), make.config_map("old", x="1"), make.config_map("edited", x="1")):
        body = {**old, "metadata": {**old["metadata"], "namespace": place.namespace}}
        if manager in APPLYING:
            place.cluster.apply(body, manager=manager)
        else:
            place.cluster.create(body, manager=manager)
    alien = make.config_map("alien", x="1")
    place.cluster.create({**alien, "metadata": {**alien["metadata"], "namespace": place.namespace}}, manager="another")
    live = {name: place.get("v1", "ConfigMap", name) for name in ("a", "old", "alien", "edited")}
    edit = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "edited", "namespace": place.namespace}}
    place.kubectl({**edit, "data": {"mine": "1"}})
    outdated = tuple(read_ref(live[name]) for name in ("old", "alien"))
    new = bundle(place, make.config_map("a", x="2"), make.config_map("edited", x="2"), version="2.0.0")
    intent = Intent(new, adopt=True, force=True, adopted_version="1.0.0", outdated=outdated)
    made = plan(place, intent)
    steps = {step.ref.name: step for step in made.steps}
    assert made.user_verb == "adopt and upgrade"
    assert plan_from_json(plan_to_json(made)) == made
    assert steps["a"].action is Action.CHANGE
    assert manager in steps["a"].reason or manager == LIFECYCLE_APPLIER
    changes = {one.path: (one.before, one.after) for one in steps["a"].changes}
    assert (changes["data.gone"], changes["data.x"]) == (("1", None), ("1", "2"))
    assert (steps["old"].action, steps["alien"].action) == (Action.DELETE, Action.KEEP)
    assert "another" in steps["alien"].reason
    apply(place, made)
    now = place.get("v1", "ConfigMap", "a")
    assert now is not None
    assert (now["data"], set(field_managers(now))) == ({"x": "2"}, {"kymatui"})
    edited = place.get("v1", "ConfigMap", "edited")
    assert edited is not None
    assert edited["data"] == {"x": "2", "mine": "1"}
    assert place.get("v1", "ConfigMap", "old") is None
    assert place.get("v1", "ConfigMap", "alien") is not None
    again = plan(place, Intent(new))
    assert again.changes_nothing
    assert again.verb == "upgrade"


@pytest.mark.parametrize("manager", ["cli", "kubectl"])
def test_adopting_what_another_tool_changed_since_needs_no_force_afterwards(place: Place, manager: str) -> None:
    install(place, bundle(place, make.config_map("a", x="1")))
    newer = make.config_map("a", x="2", gone="1")
    newer = {**newer, "metadata": {**newer["metadata"], "namespace": place.namespace}}
    place.cluster.apply(newer, manager=manager, force=True)
    *_, conflict = plan(place, Intent(bundle(place, make.config_map("a", x="3"), version="3"))).steps
    assert (conflict.action, {one.manager for one in conflict.conflicts}) == (Action.CONFLICT, {manager})
    taking = plan(place, Intent(bundle(place, make.config_map("a", x="2", gone="1"), version="2"), adopt=True))
    *_, step = taking.steps
    assert (step.action, step.reason) == (Action.CHANGE, f"owner: {manager} → kymatui")
    apply(place, taking)
    now = place.get("v1", "ConfigMap", "a")
    assert now is not None
    assert field_managers(now) == {"kymatui"}
    install(place, bundle(place, make.config_map("a", x="3"), version="3"))
    now = place.get("v1", "ConfigMap", "a")
    assert now is not None
    assert now["data"] == {"x": "3"}, "what the new version does not have is gone"


COPIES = [  # the field manager, its namespace, whether kymatui's plan deletes the copy there
    ("cli", "kyma-system", True),
    ("unknown", "default", True),
    ("cli", "default", False),
    ("kubectl", "kyma-system", False),  # nobody says that this is the module's
]


@pytest.mark.parametrize(("manager", "namespace", "is_copy"), COPIES)
@pytest.mark.parametrize("prune", [True, False])
def test_an_adoption_names_what_would_exist_twice(
    place: Place, manager: str, namespace: str, is_copy: bool, prune: bool
) -> None:
    with suppress(ConflictError):
        place.cluster.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})
    body = make.config_map(f"copied-{place.namespace}", x="1")
    copy = {**body, "metadata": {**body["metadata"], "namespace": namespace}}
    place.cluster.apply(copy, manager=manager)
    intent = with_misplaced(Intent(bundle(place, body), adopt=True, prune=prune), place.cluster)
    taking = plan(place, intent)
    steps = [step.action for step in taking.steps if step.ref == read_ref(copy)]
    assert steps == ([Action.DELETE if prune else Action.KEEP] if is_copy else [])
    note = f"{read_ref(copy)} {'is deleted' if prune else 'stays'}: kymatui installs the same in namespace"
    assert any(note in text for text in taking.notes) is is_copy
    apply(place, taking)
    assert (place.cluster.get(read_ref(copy)) is None) is (is_copy and prune)


def test_what_is_taken_over_gets_no_default_resource_that_is_not_there(place: Place) -> None:
    somebody_made(place)
    resource = make.config_map("default", x="1")
    taking = Intent(bundle(place, make.config_map("a", x="1"), resource=resource), adopt=True, force=True)
    apply(place, plan(place, taking))
    install(place, bundle(place, make.config_map("a", x="1"), resource=resource))
    assert place.get("v1", "ConfigMap", "default") is None, "nor does an upgrade create it"


def test_a_helm_release_is_forgotten_when_all_of_it_has_another_owner_and_not_before(place: Place) -> None:
    install(place, chart(place, make.config_map("a", x="1"), make.config_map("b", x="1")))
    known = ReleaseStore(place.cluster, "web", place.namespace, time.time).read()
    assert known is not None
    assert f"the Helm release {place.namespace}/web is removed with its history" in handover_notice(known, Actor.KLM)
    for name, left in (("a", 1), ("b", 0)):
        live = place.get("v1", "ConfigMap", name)
        assert live is not None
        metadata = {"name": name, "namespace": place.namespace}
        theirs = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"x": "1"}}
        place.cluster.apply(theirs, manager=LIFECYCLE_APPLIER, force=True)
        ended = hand_over(place.cluster, known)
        now = place.get("v1", "ConfigMap", name)
        assert now is not None
        assert now["metadata"]["uid"] == live["metadata"]["uid"]
        assert ANNOTATION_RELEASE not in (now["metadata"].get("annotations") or {})
        assert field_managers(now) == {LIFECYCLE_APPLIER}
        assert len(ended.remaining) == left
        secrets = place.raw.list(SECRET, place.namespace, labels="owner=helm,name=web")
        assert len(secrets) == (1 if left else 0)
        assert ("its Helm release stays" in handover_summary(known, ended, Actor.KLM)) == bool(left)


def test_the_operator_adopts_what_was_installed_directly_and_gives_it_back(place: Place) -> None:
    install(place, bundle(place, make.config_map("a", x="1")))
    inventory = ApplySetStore(place.cluster, "module", place.namespace).read()
    assert inventory is not None
    assert hand_over(place.cluster, inventory).taken == (), "the operator does not apply it yet"
    metadata = {"name": "a", "namespace": place.namespace, "annotations": {ANNOTATIONS_OWNED_BY[0]: "kcp-system/m"}}
    theirs = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"x": "1"}}
    place.cluster.apply(theirs, manager=OPERATOR_FIELD_MANAGER, force=True)
    ended = hand_over(place.cluster, inventory)
    assert ([ref.name for ref in ended.taken], ended.remaining) == (["a"], ())
    assert "1 object: owner kymatui → kymatui's operator" in handover_summary(inventory, ended, Actor.OPERATOR)
    now = place.get("v1", "ConfigMap", "a")
    assert now is not None
    assert field_managers(now) == {OPERATOR_FIELD_MANAGER}
    again = plan(place, Intent(bundle(place, make.config_map("a", x="1")), adopt=True, force=True))
    assert {step.ref.name: step.reason for step in again.steps}["a"] == "owner: kymatui's operator → kymatui"
    apply(place, again)
    now = place.get("v1", "ConfigMap", "a")
    assert now is not None
    assert field_managers(now) == {FIELD_MANAGER}
    assert not owning_manifest(now)


def test_what_somebody_else_deleted_is_told_and_what_somebody_installed_anew_is_not_deleted(place: Place) -> None:
    install(place, bundle(place, make.config_map("a", x="1"), make.config_map("b", x="1")))
    seen = uninstall_plan.plan_uninstall("module", place.namespace, place.cluster, SystemClock())
    assert seen is not None
    gone = next(step.ref for step in seen.steps if step.ref.kind.kind == "ConfigMap")
    place.cluster.delete(gone)
    again = uninstall_plan.plan_uninstall("module", place.namespace, place.cluster, SystemClock())
    assert again is not None
    assert again.lost == (gone,)
    install(place, bundle(place, make.config_map("c", x="2")))
    told = Told()
    with begin(place.cluster, limits=LIMITS, progress=told) as run:
        with pytest.raises(OutdatedError, match="another client has installed module"):
            module_deletion.uninstall_module(seen, run, DeletionConsent(seen.accepted))
        now = uninstall_plan.plan_uninstall("module", place.namespace, place.cluster, SystemClock())
        assert now is not None
        ended = module_deletion.uninstall_module(replace(now, lost=(gone,)), run, DeletionConsent(now.accepted))
    assert ended.lost == (gone,)
    assert f"{gone} was already deleted by another client" in told.messages
