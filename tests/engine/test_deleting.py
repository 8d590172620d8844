"""Taking modules away: what goes first, what stays, who is named."""

from __future__ import annotations

import threading

import pytest
from msgspec.structs import replace

from kymatui.adapters.kube.api.discovery import Discovery
from kymatui.domain.inventories import Inventory, Origin
from kymatui.domain.kubernetes.refs import GroupVersionKind, ObjectRef
from kymatui.domain.kyma.kymas import Policy
from kymatui.engine.deletion import module_deletion, uninstall_plan
from kymatui.engine.deletion.managed_deletion import DeletionConsent
from kymatui.engine.deletion.module_deletion import DeletionOutcome
from kymatui.engine.inventory.managed_resources import is_shared_kind, managed_kinds
from kymatui.engine.jobs.run import RunLimits, SystemClock, begin
from kymatui.engine.plans.plan import Intent
from kymatui.errors import CancelledError, PartlyDoneError, RefusedError
from tests.engine import objects as make
from tests.engine.installing import LIMITS, Told, bundle, install
from tests.engine.places import Json, Place, eventually

IMPATIENT = replace(LIMITS, gone=0.5)
NAMESPACE = GroupVersionKind("", "v1", "Namespace")


def module(place: Place) -> tuple[Json, ...]:
    return (
        make.definition(place.group, "Thing"),
        make.service_account("manager"),
        make.config_map("settings"),
        make.deployment("manager"),
    )


def remove(place: Place, *, limits: RunLimits = LIMITS, told: Told | None = None, **more: bool) -> DeletionOutcome:
    found = uninstall_plan.plan_uninstall("module", place.namespace, place.cluster, SystemClock())
    assert found is not None
    with begin(place.cluster, limits=limits, progress=told) as run:
        return module_deletion.uninstall_module(found, run, DeletionConsent(found.accepted, **more))


def exists(place: Place, name: str) -> bool:
    return place.raw.get(ObjectRef(NAMESPACE, "", name)) is not None


def definition(place: Place) -> Json | None:
    return place.get("apiextensions.k8s.io/v1", "CustomResourceDefinition", f"things.{place.group}", "")


def test_a_module_goes_to_nothing(place: Place) -> None:
    install(place, bundle(place, *module(place), resource=make.custom(place.group, "Thing", "default")))
    assert place.get(f"{place.group}/v1", "Thing", "default") is not None
    found = remove(place)
    assert found.kept == ()
    assert not exists(place, place.namespace)
    assert definition(place) is None
    assert uninstall_plan.plan_uninstall("module", place.namespace, place.cluster, SystemClock()) is None


def test_the_manager_stays_as_long_as_users_have_what_it_manages(place: Place) -> None:
    install(place, bundle(place, *module(place)))
    place.kubectl(make.custom(place.group, "Thing", "theirs", place.namespace))
    with pytest.raises(RefusedError, match=r"still manages 1 object: Thing .*/theirs"):
        remove(place)
    assert place.get("apps/v1", "Deployment", "manager") is not None
    remove(place, cascade=True)
    assert not exists(place, place.namespace)


def test_an_object_in_two_versions_is_counted_once(place: Place) -> None:
    both = make.definition(place.group, "Rule")
    both["spec"]["versions"].append({**both["spec"]["versions"][0], "name": "v2", "storage": False})
    place.kubectl(both)
    kinds = tuple(GroupVersionKind(place.group, version, "Rule") for version in ("v1", "v2"))
    install(place, Intent(bundle(place, *module(place)), associated=kinds))
    eventually(lambda: _serves(place, kinds[0]), "rules are served")
    place.kubectl(make.namespace(f"{place.name}-b"))
    for where in (place.namespace, f"{place.name}-b"):
        place.kubectl(make.custom(place.group, "Rule", "r", where))
    found = uninstall_plan.plan_uninstall("module", place.namespace, place.cluster, SystemClock())
    assert found is not None
    assert len(found.remaining.theirs) == 2
    place.raw.delete(ObjectRef(NAMESPACE, "", f"{place.name}-b"))


def _serves(place: Place, gvk: GroupVersionKind) -> bool:
    place.raw.forget_kinds()
    place.cluster.forget_kinds()
    return place.raw.kind(gvk) is not None


def test_an_associated_kind_that_is_not_served_has_nothing(place: Place) -> None:
    nobody = (GroupVersionKind("nobody.example", "v1", "Nothing"),)
    install(place, Intent(bundle(place, *module(place)), associated=nobody))
    remove(place)
    assert not exists(place, place.namespace)


def test_associated_objects_of_the_core_group_are_counted(place: Place) -> None:
    config_maps = (GroupVersionKind("", "v1", "ConfigMap"),)
    install(place, Intent(bundle(place, *module(place)), associated=config_maps))
    found = uninstall_plan.plan_uninstall("module", place.namespace, place.cluster, SystemClock())
    assert found is not None
    assert "settings" in {one.ref.name for one in found.remaining.ours}


def test_objects_of_kubernetes_own_kinds_are_shown_and_never_deleted_because_a_module_goes(place: Place) -> None:
    place.make_namespace()
    place.kubectl(make.secret("of-somebody", place.namespace))
    secrets = (GroupVersionKind("", "v1", "Secret"),)
    install(place, Intent(bundle(place, *module(place)), associated=secrets))
    with pytest.raises(RefusedError, match="still manages"):
        remove(place)
    remove(place, cascade=True)
    assert place.get("v1", "Secret", "of-somebody") is not None
    assert place.get("apps/v1", "Deployment", "manager") is None


@pytest.mark.parametrize(
    ("group", "shared"),
    [
        ("", True),
        ("apps", True),
        ("rbac.authorization.k8s.io", True),
        ("keda.sh", False),
        ("gateway.networking.k8s.io", False),
        ("operator.kyma-project.io", False),
    ],
)
def test_kinds_of_kubernetes_itself_are_everybodys(group: str, shared: bool) -> None:
    assert is_shared_kind(group) is shared


def test_63_the_kyma_itself_is_never_taken_for_a_modules_resource(place: Place) -> None:
    kyma = ObjectRef(GroupVersionKind("operator.kyma-project.io", "v1beta2", "Kyma"), "kyma-system", "default")
    inventory = Inventory("busola", place.namespace, Origin("raw", "busola.yaml"), resource=kyma, resource_created=True)
    assert managed_kinds(inventory, place.cluster).kinds == ()


def test_a_finalizer_that_nobody_removes_is_named_with_its_owner_and_the_manager_is_kept(place: Place) -> None:
    own = make.custom(place.group, "Thing", "default")
    own["metadata"]["finalizers"] = [f"{place.group}/cleanup"]
    install(place, bundle(place, *module(place), resource=own))
    told = Told()
    with pytest.raises(
        PartlyDoneError, match=rf"Thing .*/default, blocked by finalizer {place.group}/cleanup \(set by kymatui\)"
    ):
        remove(place, limits=IMPATIENT, told=told)
    assert any("waiting for the deletion of Thing" in words for words in told.messages)
    assert place.get("apps/v1", "Deployment", "manager") is not None
    place.release(ObjectRef(GroupVersionKind(place.group, "v1", "Thing"), place.namespace, "default"))
    remove(place)
    assert not exists(place, place.namespace)


def test_what_was_there_before_and_what_others_hold_stays(place: Place) -> None:
    place.make_namespace()
    place.raw.create(make.config_map("settings", place.namespace), manager="somebody")
    install(place, bundle(place, *module(place)))
    taken: Json = make.service_account("manager", place.namespace)
    taken["metadata"]["labels"] = {"operator.kyma-project.io/managed-by": "kyma"}
    place.kubectl(taken, manager="declarative.kyma-project.io/applier")
    found = remove(place)
    assert {(step.ref.kind.kind, step.ref.name) for step in found.kept} == {
        ("ConfigMap", "settings"),
        ("ServiceAccount", "manager"),
    }
    kept = place.get("v1", "ConfigMap", "settings")
    assert kept is not None
    assert kept["metadata"].get("labels", {}) == {}
    install(place, bundle(place, make.config_map("settings"), name="another"))
    assert place.get("v1", "ServiceAccount", "manager") is not None
    assert place.get("apps/v1", "Deployment", "manager") is None
    assert exists(place, place.namespace)


@pytest.mark.parametrize(("group", "stays"), [("other.example.org", True), ("metrics.k8s.io", False)])
def test_a_namespace_stays_while_kinds_cannot_be_read_that_may_have_objects_in_it(
    place: Place, monkeypatch: pytest.MonkeyPatch, group: str, stays: bool
) -> None:
    """The server behind a group is down, or answers with something that is no discovery."""
    install(place, bundle(place, *module(place)))
    monkeypatch.setattr(Discovery, "unread", lambda _: ((group, "v1"),))
    found = remove(place)
    reason = f"it contains other objects: the kinds of {group}/v1, which cannot be read"
    assert [step.reason for step in found.kept] == ([reason] if stays else [])
    assert exists(place, place.namespace) is stays


def test_a_namespace_in_which_others_are_is_kept_and_they_are_named(place: Place) -> None:
    install(place, bundle(place, *module(place)))
    place.kubectl(make.config_map("theirs", place.namespace))
    found = remove(place)
    assert [step.reason for step in found.kept] == [
        "it contains other objects: ConfigMap " + f"{place.namespace}/theirs"
    ]
    assert place.get("v1", "ConfigMap", "theirs") is not None
    assert place.get("v1", "ConfigMap", "kymatui.module") is None


def test_namespaces_of_the_system_are_never_deleted(place: Place) -> None:
    what = bundle(place, make.namespace("kube-node-lease"), make.namespace(f"{place.name}-own"), make.config_map("a"))
    install(place, what)
    found = remove(place)
    assert [(step.ref.name, step.reason) for step in found.kept] == [("kube-node-lease", "a system namespace")]
    assert not exists(place, f"{place.name}-own")
    assert exists(place, "kube-node-lease")


def test_with_policy_ignore_the_default_resource_is_the_users(place: Place) -> None:
    own = make.custom(place.group, "Thing", "default")
    install(place, Intent(bundle(place, *module(place), resource=own), policy=Policy.IGNORE))
    assert place.get(f"{place.group}/v1", "Thing", "default") is None
    place.kubectl(make.custom(place.group, "Thing", "default", place.namespace))
    with pytest.raises(RefusedError, match="still manages 1"):
        remove(place)


def test_what_may_not_be_listed_blocks_until_that_is_accepted(place: Place) -> None:
    install(place, bundle(place, *module(place)))
    found = uninstall_plan.plan_uninstall("module", place.namespace, place.cluster, SystemClock())
    assert found is not None
    unknown = replace(found, remaining=replace(found.remaining, unknown=(("Thing.x", "forbidden"),)))
    with begin(place.cluster, limits=LIMITS) as run, pytest.raises(RefusedError, match="it is unknown whether"):
        module_deletion.uninstall_module(unknown, run, DeletionConsent(unknown.accepted))


def test_a_deletion_that_is_stopped_goes_on_when_it_is_run_again(place: Place) -> None:
    own = make.custom(place.group, "Thing", "default")
    own["metadata"]["finalizers"] = [f"{place.group}/cleanup"]
    install(place, bundle(place, *module(place), resource=own))
    cancel = threading.Event()
    found = uninstall_plan.plan_uninstall("module", place.namespace, place.cluster, SystemClock())
    assert found is not None

    def stop(progress: object) -> None:
        if "waiting for the deletion" in str(progress):
            cancel.set()

    with begin(place.cluster, limits=LIMITS, progress=stop, cancel=cancel) as run, pytest.raises(CancelledError):
        module_deletion.uninstall_module(found, run, DeletionConsent(found.accepted))
    place.release(ObjectRef(GroupVersionKind(place.group, "v1", "Thing"), place.namespace, "default"))
    remove(place)
    assert not exists(place, place.namespace)


def test_after_a_deletion_that_was_cut_off_an_installation_begins_anew(place: Place) -> None:
    what = bundle(place, *module(place), resource=make.custom(place.group, "Thing", "default"))
    install(place, what)
    place.fault("error", verb="delete", resource="deployments.apps")
    with pytest.raises(PartlyDoneError, match=r"1 object deleted"):
        remove(place, limits=replace(IMPATIENT, retry=replace(LIMITS.retry, attempts=2)))
    place.fault("clear")
    assert place.get(f"{place.group}/v1", "Thing", "default") is None
    install(place, what)
    assert place.get(f"{place.group}/v1", "Thing", "default") is not None
    remove(place)
    assert not exists(place, place.namespace)
