"""Charts: releases that helm understands, and hooks that run in their order, each once."""

from __future__ import annotations

import base64
import json
import os
import random
import shutil
import subprocess

import pytest
from msgspec.structs import replace

from kymatui.domain.inventories import InventoryState
from kymatui.domain.kubernetes.refs import SECRET, GroupVersionKind, ObjectRef
from kymatui.domain.ownership import ANNOTATION_RUN, ObjectOwnership
from kymatui.engine import Options, check, rollback
from kymatui.engine.cluster.ports import PatchKind
from kymatui.engine.deletion import module_deletion, uninstall_plan
from kymatui.engine.deletion.managed_deletion import DeletionConsent
from kymatui.engine.deletion.uninstall_plan import WHOLE, DeletionScope
from kymatui.engine.inventory.release_store import ReleaseStore, interrupted_values, read_inventory
from kymatui.engine.jobs.run import SystemClock, begin
from kymatui.engine.plans.plan import Action, plan_from_json, plan_to_json
from kymatui.engine.plans.transforms import with_labels
from kymatui.errors import ConfigurationError, PartlyDoneError, RefusedError
from kymatui.helm.rendering.releases import Release, Status, from_record, to_record
from tests.engine import objects as make
from tests.engine.charts import chart, hook
from tests.engine.installing import LIMITS, Told, apply, bundle, install, plan
from tests.engine.places import Place

JOB = "batch/v1"


def history(place: Place, name: str = "web") -> list[Release]:
    secrets = place.raw.list(SECRET, place.namespace, labels=f"owner=helm,name={name}")
    return sorted((from_record(secret) for secret in secrets), key=lambda one: one.version)


def statuses(place: Place) -> list[tuple[int, str]]:
    return [(one.version, one.status.value) for one in history(place)]


def uninstall(place: Place, scope: DeletionScope = WHOLE) -> None:
    found = uninstall_plan.plan_uninstall("web", place.namespace, place.cluster, SystemClock(), scope=scope)
    assert found is not None
    with begin(place.cluster, limits=LIMITS) as run:
        module_deletion.uninstall_module(found, run, DeletionConsent(found.accepted))


def test_an_installation_is_a_release(place: Place) -> None:
    install(place, chart(place, make.config_map("a", x="1"), config={"size": 1}))
    (release,) = history(place)
    assert (release.status, release.version, release.description) == (Status.DEPLOYED, 1, "Install complete")
    assert (release.config, release.notes) == ({"size": 1}, "notes of the chart")
    found = place.get("v1", "ConfigMap", "a")
    assert found is not None
    assert found["metadata"]["labels"]["app.kubernetes.io/managed-by"] == "Helm"
    assert found["metadata"]["annotations"]["meta.helm.sh/release-name"] == "web"


def test_an_upgrade_supersedes_and_prunes_and_ten_revisions_are_kept(place: Place) -> None:
    for number in range(1, 13):
        install(place, chart(place, make.config_map("a", x=str(number)), make.config_map(f"only-{number}")))
    assert statuses(place) == [*((number, "superseded") for number in range(3, 12)), (12, "deployed")]
    assert place.get("v1", "ConfigMap", "only-11") is None
    assert place.get("v1", "ConfigMap", "only-12") is not None


def test_the_same_chart_again_makes_no_revision_and_other_values_do(place: Place) -> None:
    install(place, chart(place, make.config_map("a"), config={"x": 1}))
    install(place, chart(place, make.config_map("a"), config={"x": 1}))
    assert statuses(place) == [(1, "deployed")]
    install(place, chart(place, make.config_map("a"), config={"x": 2}))
    assert statuses(place) == [(1, "superseded"), (2, "deployed")]


def test_what_a_chart_makes_up_anew_in_each_rendering_is_no_drift(place: Place) -> None:
    install(place, chart(place, make.config_map("a", v="random-1")))
    marks = [with_labels({"team": "a"})]
    assert check(chart(place, make.config_map("a", v="random-2")), place.cluster).consistent
    ref = ObjectRef(GroupVersionKind("", "v1", "ConfigMap"), place.namespace, "a")
    place.raw.patch(ref, {"data": {"v": "edited"}}, PatchKind.MERGE)
    result = check(chart(place, make.config_map("a", v="random-2")), place.cluster, transforms=marks)
    expected = {field.path: field.expected for field in result.drifts[0].fields}
    assert expected == {"data.v": "random-1", "metadata.labels.team": "a"}
    assert not check(chart(place, make.config_map("a", v="2"), config={"v": "2"}), place.cluster).consistent


def test_a_namespace_that_must_not_be_made_has_to_be_there(place: Place) -> None:
    fixed = chart(place, make.config_map("a"), create_namespace=False)
    with pytest.raises(
        RefusedError, match=f"Namespace {place.namespace}: it does not exist, and CreateNamespace is false"
    ):
        install(place, fixed)
    assert place.get("v1", "Namespace", place.namespace, namespace="") is None
    place.make_namespace()
    install(place, fixed)
    assert statuses(place) == [(1, "deployed")]


def test_a_failure_is_written_into_the_release_and_what_was_deployed_stays(place: Place) -> None:
    install(place, chart(place, make.config_map("a", x="1")))
    broken = chart(place, make.config_map("a", x="2"), hooks=(hook(make.job("h", fails=True), "pre-upgrade"),))
    with pytest.raises(PartlyDoneError, match="pre-upgrade hook Job"):
        install(place, broken)
    assert statuses(place) == [(1, "deployed"), (2, "failed")]
    found = place.get("v1", "ConfigMap", "a")
    assert found is not None
    assert found["data"] == {"x": "1"}
    install(place, chart(place, make.config_map("a", x="3")))
    assert statuses(place) == [(1, "superseded"), (2, "failed"), (3, "deployed")]


def test_an_object_with_the_name_of_a_hook_is_written_after_it_at_each_upgrade(place: Place) -> None:
    hooks = (hook(make.config_map("same", x="hook"), "pre-install", "pre-upgrade"),)

    def data() -> object:
        live = place.get("v1", "ConfigMap", "same")
        assert live is not None
        return live["data"]

    for config in ({}, {"a": "1"}, {"a": "2"}):
        bundle = chart(place, make.config_map("same", x="object"), hooks=hooks, config=config)
        planned = plan(place, bundle)
        assert [step.action for step in planned.steps if step.ref.name == "same"] == [
            Action.CHANGE if config else Action.CREATE
        ]
        apply(place, planned)
        assert data() == {"x": "object"}
    assert plan(place, bundle).changes_nothing


def test_hooks_run_by_weight_and_go_by_their_policies(place: Place) -> None:
    hooks = (
        hook(make.job("second"), "pre-install", weight=2),
        hook(make.job("first"), "pre-install", weight=-1, policies=("hook-succeeded",)),
        hook(make.job("after"), "post-install"),
        hook(make.job("upgrade"), "pre-upgrade"),
    )
    told = Told()
    install(place, chart(place, make.config_map("a"), hooks=hooks), told=told)
    ran = [words.rpartition(" ")[2] for words in told.messages if " hook " in words]
    assert ran == ["first", "second", "after"]
    assert place.get(JOB, "Job", "first") is None
    assert place.get(JOB, "Job", "second") is not None
    assert place.get(JOB, "Job", "upgrade") is None


def test_hooks_stand_in_the_plan_and_are_tried_on_the_server(place: Place) -> None:
    place.make_namespace()
    hooks = (
        hook(make.job("good"), "pre-install", weight=-5),
        hook({**make.job("bad"), "spec": {"template": {"spec": {"restartPolicy": "Always"}}}}, "pre-install"),
        hook(make.custom(place.group, "Nobody", "x"), "post-install"),
        hook(make.config_map("there"), "post-install", policies=("hook-failed",)),
        hook(make.job("upgrade"), "pre-upgrade"),
    )
    place.kubectl({**make.config_map("there"), "metadata": {"name": "there", "namespace": place.namespace}})
    planned = plan(place, chart(place, make.config_map("a"), hooks=hooks))
    assert [(step.event, step.ref.name, step.action.value) for step in planned.hooks] == [
        ("pre-install", "good", "create"),
        ("pre-install", "bad", "blocked"),
        ("post-install", "there", "blocked"),
        ("post-install", "x", "blocked"),
    ]
    assert "spec.template" in planned.hooks[1].reason
    assert "does not delete it first" in planned.hooks[2].reason
    assert "does not serve" in planned.hooks[3].reason
    assert place.get(JOB, "Job", "good") is None
    with pytest.raises(RefusedError, match="bad"):
        install(place, chart(place, make.config_map("a"), hooks=hooks))
    assert place.get("v1", "ConfigMap", "a") is None
    assert plan_from_json(plan_to_json(planned)) == planned
    install(place, chart(place, make.config_map("a"), hooks=hooks[:1]))
    assert plan(place, chart(place, make.config_map("a"), hooks=hooks[:1])).hooks == ()


def test_a_hook_that_fails_stops_everything_after_it(place: Place) -> None:
    hooks = (
        hook(make.job("bad", fails=True), "pre-install", weight=1, policies=("hook-failed",)),
        hook(make.job("never"), "pre-install", weight=2),
    )
    with pytest.raises(PartlyDoneError, match=r"pre-install hook Job .*/bad failed"):
        install(place, chart(place, make.config_map("a"), hooks=hooks))
    assert place.get("v1", "ConfigMap", "a") is None
    assert place.get(JOB, "Job", "bad") is None
    assert place.get(JOB, "Job", "never") is None


def test_delete_takes_the_crs_that_a_hook_created_and_asks_for_those_of_users(place: Place) -> None:
    crd = make.definition(place.group, "Gear")
    created = make.custom(place.group, "Gear", "hooked")
    install(place, chart(place, crd, hooks=(hook(created, "post-install"), hook(make.job("j"), "post-install"))))
    place.raw.create(make.custom(place.group, "Gear", "theirs", place.namespace), manager="kubectl")
    planned = uninstall_plan.plan_uninstall("web", place.namespace, place.cluster, SystemClock())
    assert planned is not None
    assert {one.ref.name: one.ownership for one in planned.remaining.instances} == {
        "hooked": ObjectOwnership.MODULE,
        "theirs": ObjectOwnership.USER,
    }
    assert [one.ref.name for one in planned.remaining.theirs] == ["theirs"]
    ref = planned.remaining.ours[0].ref
    place.raw.delete(planned.remaining.theirs[0].ref)
    place.raw.patch(ref, {"metadata": {"annotations": {"helm.sh/hook": None, ANNOTATION_RUN: None}}}, PatchKind.MERGE)
    unmarked = uninstall_plan.plan_uninstall("web", place.namespace, place.cluster, SystemClock())
    assert unmarked is not None
    assert unmarked.remaining.theirs, "the name alone may be a user's"
    place.raw.patch(ref, {"metadata": {"annotations": {"helm.sh/hook": "post-install"}}}, PatchKind.MERGE)
    uninstall(place)
    crd_left = place.get("apiextensions.k8s.io/v1", "CustomResourceDefinition", f"gears.{place.group}", "")
    assert crd_left is None, "the CR went without consent, and then its CRD"


def test_a_hook_of_an_earlier_version_makes_room_for_the_new_one(place: Place) -> None:
    both = (hook(make.job("h"), "pre-install", "pre-upgrade"),)
    install(place, chart(place, make.config_map("a", x="1"), hooks=both))
    before = place.get(JOB, "Job", "h")
    install(place, chart(place, make.config_map("a", x="2"), hooks=both))
    after = place.get(JOB, "Job", "h")
    assert before is not None
    assert after is not None
    assert before["metadata"]["uid"] != after["metadata"]["uid"]


def test_an_uninstallation_runs_its_hooks_and_leaves_nothing(place: Place) -> None:
    hooks = (
        hook(make.job("before"), "pre-delete", policies=("hook-succeeded",)),
        hook(make.job("after"), "post-delete", policies=("hook-succeeded",)),
    )
    place.make_namespace()
    install(place, chart(place, make.config_map("a"), hooks=hooks))
    found = uninstall_plan.plan_uninstall("web", place.namespace, place.cluster, SystemClock())
    assert found is not None
    assert [(step.event, step.ref.name) for step in found.hooks] == [("pre-delete", "before"), ("post-delete", "after")]
    uninstall(place)
    assert history(place) == []
    assert place.get("v1", "ConfigMap", "a") is None
    assert place.get(JOB, "Job", "before") is None


def test_definitions_of_a_chart_are_created_never_changed_and_go_only_where_a_person_chooses_so(place: Place) -> None:
    definition = make.definition(place.group, "Thing")
    place.kubectl({**definition, "metadata": {**definition["metadata"], "labels": {"old": "yes"}}})
    older = make.definition(place.group, "Other")
    install(place, chart(place, make.config_map("a"), crds=(definition, older)))
    name = f"things.{place.group}"
    found = place.get("apiextensions.k8s.io/v1", "CustomResourceDefinition", name, "")
    assert found is not None
    assert found["metadata"]["labels"] == {"old": "yes"}
    changed = {**older, "metadata": {**older["metadata"], "labels": {"new": "yes"}}}
    again = plan(place, chart(place, make.config_map("a"), crds=(definition, changed)))
    assert {step.action for step in again.steps} == {Action.SAME}
    uninstall(place, DeletionScope(delete_crds=True))
    assert place.get("apiextensions.k8s.io/v1", "CustomResourceDefinition", f"others.{place.group}", "") is None
    assert place.get("apiextensions.k8s.io/v1", "CustomResourceDefinition", name, "") is not None


def test_a_revision_that_helm_wrote_is_read_from_its_manifest(place: Place) -> None:
    place.make_namespace()
    manifest = "---\n# Source: web/a.yaml\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n"
    release = Release("web", place.namespace, 1, Status.DEPLOYED, manifest=manifest)
    place.raw.apply(to_record(release), manager="helm")
    found = ReleaseStore(place.cluster, "web", place.namespace, SystemClock().now).read()
    assert found is not None
    assert [item.ref for item in found.items] == [
        ObjectRef(GroupVersionKind("", "v1", "ConfigMap"), place.namespace, "a")
    ]
    assert found.state is InventoryState.INSTALLED


def test_what_helm_installed_is_upgraded_without_force(place: Place) -> None:
    install(place, chart(place, make.config_map("a", x="1")))
    found = place.get("v1", "ConfigMap", "a")
    assert found is not None
    place.raw.apply(
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {
                "name": "a",
                "namespace": place.namespace,
                "labels": found["metadata"]["labels"],
                "annotations": found["metadata"]["annotations"],
            },
            "data": {"x": "helm's"},
        },
        manager="helm",
        force=True,
    )
    install(place, chart(place, make.config_map("a", x="2")))
    assert (place.get("v1", "ConfigMap", "a") or {})["data"] == {"x": "2"}


def test_a_name_is_a_charts_or_not(place: Place) -> None:
    install(place, chart(place, make.config_map("a")))
    with pytest.raises(RefusedError, match="is installed as a Helm release; this installation would be none"):
        plan(place, bundle(place, make.config_map("a"), name="web"))
    assert read_inventory(place.cluster, SystemClock(), "web", place.namespace) is not None


def test_a_rollback_is_a_new_revision_of_the_old_content_with_its_own_hooks(place: Place) -> None:
    hooks = (hook(make.config_map("told"), "post-rollback"), hook(make.config_map("other"), "post-upgrade"))
    install(place, chart(place, make.config_map("a", x="1"), make.config_map("old"), hooks=hooks, config={"x": 1}))
    install(place, chart(place, make.config_map("a", x="2"), make.config_map("new"), config={"x": 2}))
    rollback("web", place.namespace, place.cluster, options=Options(limits=LIMITS))
    assert (place.get("v1", "ConfigMap", "a") or {})["data"] == {"x": "1"}
    assert place.get("v1", "ConfigMap", "old") is not None
    assert place.get("v1", "ConfigMap", "new") is None
    assert place.get("v1", "ConfigMap", "told") is not None
    assert place.get("v1", "ConfigMap", "other") is None
    newest = history(place)[-1]
    assert statuses(place)[-1] == (3, "deployed")
    assert (newest.description, newest.config) == ("Rollback to 1", {"x": 1})
    with pytest.raises(RefusedError, match="has no revision 9"):
        rollback("web", place.namespace, place.cluster, revision=9)


@pytest.mark.skipif(shutil.which("helm") is None, reason="there is no helm on the PATH")
def test_helm_and_kymatui_take_turns_at_a_release(place: Place) -> None:
    install(place, chart(place, make.config_map("a", x="1"), make.service_account("sa")))
    install(place, chart(place, make.config_map("a", x="2", y="2"), make.service_account("sa"), version="1.1.0"))
    (listed,) = json.loads(helm(place, "list", "-o", "json"))
    assert (listed["name"], listed["revision"], listed["status"]) == ("web", "2", "deployed")
    assert listed["chart"] == "web-1.1.0"
    assert "notes of the chart" in helm(place, "status", "web")
    helm(place, "upgrade", "web", packed(place, {"x": "3", "z": "3"}))
    assert data_of(place) == {"x": "3", "z": "3"}
    assert place.get("v1", "ServiceAccount", "sa") is None
    install(place, chart(place, make.config_map("a", x="4"), version="1.3.0"))
    assert data_of(place) == {"x": "4"}
    helm(place, "rollback", "web")
    assert data_of(place) == {"x": "3", "z": "3"}
    helm(place, "rollback", "web", "2")
    assert data_of(place) == {"x": "2", "y": "2"}
    rollback("web", place.namespace, place.cluster, revision=4, options=Options(limits=LIMITS))
    assert data_of(place) == {"x": "4"}
    helm(place, "upgrade", "web", packed(place, {"x": "5"}), "--server-side=true", "--force-conflicts")
    install(place, chart(place, make.config_map("a", y="6"), version="1.4.0"))
    assert data_of(place) == {"y": "6"}
    said = json.loads(helm(place, "history", "web", "-o", "json"))
    assert [(one["revision"], one["status"]) for one in said][-2:] == [(8, "superseded"), (9, "deployed")]
    helm(place, "uninstall", "web")
    assert place.get("v1", "ConfigMap", "a") is None
    assert history(place) == []


def packed(place: Place, data: dict[str, str]) -> str:
    """A chart in a folder, with one ConfigMap."""
    folder = place.folder / "web"
    (folder / "templates").mkdir(parents=True, exist_ok=True)
    (folder / "Chart.yaml").write_text(json.dumps({"apiVersion": "v2", "name": "web", "version": "1.2.0"}))
    body = make.config_map("a", **data)
    (folder / "templates" / "a.yaml").write_text(json.dumps(body))
    return str(folder)


def data_of(place: Place) -> object:
    return (place.get("v1", "ConfigMap", "a") or {}).get("data")


def helm(place: Place, *words: str) -> str:
    environment = {**os.environ, "KUBECONFIG": str(place.kubeconfig), "HOME": str(place.folder)}
    command = ["helm", "-n", place.namespace, *words]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("policies", [(), ("before-hook-creation",)])
@pytest.mark.parametrize("event", ["pre-install", "post-install"])
def test_an_object_of_a_hooks_name_that_no_hook_created_blocks_the_plan(
    place: Place, policies: tuple[str, ...], event: str
) -> None:
    place.make_namespace()
    place.kubectl(make.job("first", place.namespace))
    what = chart(place, make.config_map("a"), hooks=(hook(make.job("first"), event, policies=policies),))
    for cluster in (place.cluster, place.connect(read_only=True)):
        (step,) = plan(place, what, cluster=cluster).hooks
        assert step.action is Action.BLOCKED
        assert "already exists and was not created by a hook" in step.reason
    with pytest.raises(RefusedError, match="was not created by a hook"):
        install(place, what)
    assert place.get("v1", "ConfigMap", "a") is None


@pytest.mark.parametrize(("size", "fits"), [(600_000, True), (900_000, False)])
def test_a_release_that_does_not_fit_into_a_secret_is_refused_in_the_plan(place: Place, size: int, fits: bool) -> None:
    large = chart(place, make.config_map("a", x="1"))
    assert large.release is not None
    data = base64.b64encode(random.Random(1).randbytes(size)).decode()
    files = [{"name": "files/x.bin", "data": data}]
    large = replace(large, release=replace(large.release, chart={**large.release.chart, "files": files}))
    if fits:
        install(place, large)
        assert statuses(place) == [(1, "deployed")]
        return
    with pytest.raises(ConfigurationError, match="release of web does not fit into a Secret"):
        plan(place, large)


def test_content_that_the_server_refuses_is_to_be_corrected(place: Place) -> None:
    wrong = {**make.config_map("b"), "data": {"v": True}}
    with pytest.raises(PartlyDoneError, match=r"\.data\.v: expected string") as caught:
        install(place, chart(place, make.config_map("a", x="1"), wrong))
    assert caught.value.hint == "correct the chart or its values: the server refuses this object as it is"


@pytest.mark.parametrize("name", ["a" * 64, "a b", "a=b", "a/b", "a,b", "-a", ""])
def test_a_name_that_cannot_be_a_label_has_no_release(place: Place, name: str) -> None:
    assert ReleaseStore(place.cluster, name, place.namespace, SystemClock().now).read() is None
    assert interrupted_values(place.cluster, name, place.namespace) is None


def test_hooks_before_an_installation_find_the_crds_of_the_chart(place: Place) -> None:
    """helm creates crds/, waits until they are established, and then runs the hooks."""
    crd, thing = make.definition(place.group, "Thing"), make.custom(place.group, "Thing", "first")
    before = (hook(thing, "pre-install", weight=1), hook(make.job("second"), "pre-install", weight=2))
    told = Told()
    planned = plan(place, chart(place, make.config_map("a"), crds=(crd,), hooks=before))
    assert [step.action for step in planned.hooks] == [Action.CREATE, Action.CREATE]
    apply(place, planned, told=told)
    place.raw.forget_kinds()
    assert place.get(f"{place.group}/v1", "Thing", "first") is not None
    ran = [words for words in told.messages if " written" in words or " hook " in words]
    assert [words.split()[-2] if " written" in words else words.split()[2] for words in ran] == [
        place.namespace,
        crd["metadata"]["name"],
        "first",
        "second",
        f"{place.namespace}/a",
    ]
