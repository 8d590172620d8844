"""What went wrong elsewhere, and must not here: each test is named after what it shows."""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import yaml
from msgspec.structs import replace

from kymatui.domain.kubernetes.object_meta import read_ref
from kymatui.domain.kubernetes.refs import GroupVersionKind, ObjectRef
from kymatui.engine import Options, check, install, uninstall
from kymatui.engine.cluster.ports import PatchKind
from kymatui.engine.jobs.run import Progress
from kymatui.engine.plans.plan import Action, Intent
from kymatui.errors import ForbiddenError, KymatuiError, OutdatedError, PartlyDoneError, RefusedError
from tests.engine import objects as make
from tests.engine.installing import LIMITS, Told, actions, apply, bundle, plan
from tests.engine.places import Json, Place, eventually

OPTIONS = Options(limits=LIMITS)
IMPATIENT = Options(limits=replace(LIMITS, gone=0.5, ready=0.5))
ROOT = Path(__file__).resolve().parents[2]


def cron_job(name: str, namespace: str = "", **metadata: object) -> Json:
    pod = {"restartPolicy": "Never", "containers": [{"name": "c", "image": "registry.example/job:1"}]}
    spec = {"schedule": "0 0 1 1 *", "jobTemplate": {"spec": {"template": {"spec": pod}}}}
    where = {"namespace": namespace} if namespace else {}
    return {"apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": name, **where, **metadata}, "spec": spec}


def config_map(place: Place, name: str) -> Json | None:
    return place.get("v1", "ConfigMap", name)


def test_21_pruning_goes_in_two_phases_and_a_stuck_finalizer_keeps_the_second(place: Place) -> None:
    old = (cron_job("nightly"), make.service_account("nightly"), make.config_map("a"))
    install(bundle(place, *old), place.cluster, options=OPTIONS)
    place.kubectl(cron_job("nightly", place.namespace, finalizers=["example.org/stuck"]), manager="stuck")
    with pytest.raises(
        PartlyDoneError, match=r"CronJob .*/nightly, blocked by finalizer example.org/stuck \(set by stuck\)"
    ):
        install(bundle(place, make.config_map("a")), place.cluster, options=IMPATIENT)
    assert place.get("v1", "ServiceAccount", "nightly") is not None
    place.kubectl(cron_job("nightly", place.namespace), manager="stuck")
    install(bundle(place, make.config_map("a")), place.cluster, options=OPTIONS)
    assert place.get("v1", "ServiceAccount", "nightly") is None


def test_27_a_namespace_of_the_system_is_never_pruned(place: Place) -> None:
    install(bundle(place, make.namespace("kube-public"), make.config_map("a")), place.cluster, options=OPTIONS)
    small = Intent(bundle(place, make.config_map("a")), prune_namespaces=True)
    (step,) = plan(place, small).of(Action.KEEP)
    assert (step.ref.name, step.reason) == ("kube-public", "a system namespace")


def test_44_what_was_interrupted_after_some_objects_is_completed(place: Place) -> None:
    what = bundle(place, *(make.config_map(f"c{number}", x="1") for number in range(9)), make.secret("z", a="b"))
    place.fault("error", verb="patch", resource="configmaps", name="c5")
    impatient = Options(limits=replace(LIMITS, width=1, retry=replace(LIMITS.retry, attempts=2)))
    with pytest.raises(KymatuiError, match="c5"):
        install(what, place.cluster, options=impatient)
    place.fault("clear")
    assert config_map(place, "c4") is not None
    assert config_map(place, "c6") is None
    install(what, place.cluster, options=OPTIONS)
    assert all(config_map(place, f"c{number}") is not None for number in range(9))
    assert plan(place, what).changes_nothing


def test_45_what_was_there_before_remains_when_an_installation_fails(place: Place) -> None:
    place.make_namespace()
    place.raw.create({**make.config_map("before", place.namespace), "data": {"theirs": "1"}}, manager="somebody")
    what = bundle(place, make.config_map("before", ours="1"), make.deployment("d"))
    place.fault("error", verb="patch", resource="deployments.apps")
    with pytest.raises(KymatuiError, match="fault"):
        install(what, place.cluster, options=OPTIONS)
    place.fault("clear")
    found = config_map(place, "before")
    assert found is not None
    assert found["data"]["theirs"] == "1"


def test_46_an_upgrade_leaves_the_edited_resource_prunes_and_keeps_definitions(place: Place) -> None:
    own = make.custom(place.group, "Thing", "default", size=1)
    first = bundle(place, make.definition(place.group, "Thing"), make.config_map("old"), resource=own)
    install(first, place.cluster, options=OPTIONS)
    place.kubectl(make.custom(place.group, "Thing", "default", place.namespace, size=9))
    before = place.get(f"{place.group}/v1", "Thing", "default")
    second = bundle(place, make.config_map("new"), resource=own)
    planned = plan(place, second)
    assert actions(planned.of(Action.KEEP, Action.DELETE)) == [(f"things.{place.group}", "keep"), ("old", "delete")]
    install(second, place.cluster, options=OPTIONS)
    assert place.get(f"{place.group}/v1", "Thing", "default") == before
    assert config_map(place, "old") is None


def test_49_what_may_not_be_listed_is_unknown_and_not_none(place: Place) -> None:
    install(bundle(place, make.definition(place.group, "Thing"), make.config_map("a")), place.cluster, options=OPTIONS)
    things = GroupVersionKind(place.group, "v1", "Thing")

    class Forbidding(type(place.cluster)):  # type: ignore[misc]
        def list(self, gvk: GroupVersionKind, *given: object, **named: object) -> list[Json]:
            if gvk == things:
                raise ForbiddenError("things may not be listed", status=403)
            return super().list(gvk, *given, **named)  # type: ignore[no-any-return]

    careful = Forbidding(place.cluster.client)
    with pytest.raises(RefusedError, match=r"it is unknown whether module still manages objects of: Thing\."):
        uninstall("module", place.namespace, careful, options=OPTIONS)
    assert config_map(place, "a") is not None


def test_50_a_manager_that_is_dead_is_kept_and_the_finalizer_is_named(place: Place) -> None:
    own = make.custom(place.group, "Thing", "default")
    own["metadata"]["finalizers"] = [f"{place.group}/manager"]
    broken = make.deployment("manager", image="registry.example/broken:1.0.0")
    what = bundle(place, make.definition(place.group, "Thing"), broken, resource=own)
    install(what, place.cluster, wait=False, options=OPTIONS)
    told = Told()
    with pytest.raises(PartlyDoneError, match=f"blocked by finalizer {place.group}/manager") as caught:
        uninstall("module", place.namespace, place.cluster, options=replace(IMPATIENT, progress=told))
    assert "check that the controller" in caught.value.hint
    assert place.get("apps/v1", "Deployment", "manager") is not None
    place.raw.patch(_thing(place, "default"), {"metadata": {"finalizers": None}}, PatchKind.MERGE)


def _thing(place: Place, name: str) -> ObjectRef:
    return ObjectRef(GroupVersionKind(place.group, "v1", "Thing"), place.namespace, name)


@pytest.mark.parametrize(
    ("kind", "plural"), [("Nats", "nats"), ("DockerRegistry", "dockerregistries"), ("Gateway", "gateways")]
)
def test_53_plurals_are_the_definitions_and_never_guessed(place: Place, kind: str, plural: str) -> None:
    odd = make.definition(place.group, kind)
    odd["metadata"]["name"] = f"{plural}.{place.group}"
    odd["spec"]["names"]["plural"] = plural
    what = bundle(place, odd, make.custom(place.group, kind, "own"))
    install(what, place.cluster, options=OPTIONS)
    assert place.get(f"{place.group}/v1", kind, "own") is not None
    uninstall("module", place.namespace, place.cluster, options=OPTIONS)


def test_69_a_module_goes_without_the_source_it_came_from(place: Place) -> None:
    install(bundle(place, make.config_map("a"), make.service_account("sa")), place.cluster, options=OPTIONS)
    elsewhere = place.connect()  # another machine: nothing of the bundle is there
    uninstall("module", place.namespace, elsewhere, options=OPTIONS)
    assert place.get("v1", "Namespace", place.namespace, "") is None


def test_64_two_installs_side_by_side_each_on_its_own(place: Place) -> None:
    one = bundle(place, make.config_map("one"), name="one")
    two = bundle(place, make.config_map("two"), name="two")
    for what in (one, two):
        install(what, place.cluster, options=OPTIONS)
    uninstall("one", place.namespace, place.cluster, options=OPTIONS)
    assert config_map(place, "one") is None
    assert check(two, place.cluster).consistent


def test_66_a_definition_goes_only_when_nothing_of_its_kind_is_left(place: Place) -> None:
    older = make.definition(place.group, "Thing")
    install(bundle(place, make.config_map("a"), crds=(older,)), place.cluster, options=OPTIONS)
    changed = {**older, "metadata": {**older["metadata"], "labels": {"new": "yes"}}}
    assert plan(place, bundle(place, make.config_map("a"), crds=(changed,))).of(Action.CHANGE) == ()
    place.kubectl(make.custom(place.group, "Thing", "theirs", place.namespace))
    with pytest.raises(RefusedError, match="still manages 1"):
        uninstall("module", place.namespace, place.cluster, options=OPTIONS)
    place.raw.delete(_thing(place, "theirs"))
    uninstall("module", place.namespace, place.cluster, options=OPTIONS)
    name = f"things.{place.group}"
    assert place.get("apiextensions.k8s.io/v1", "CustomResourceDefinition", name, "") is None


def test_processes_install_modules_at_once_and_two_the_same(place: Place) -> None:
    """A sample; ten and two of them are in tests/benchmarks/ten_processes.py."""
    place.make_namespace()
    names = ["same", "same", "m0"]
    for name in set(names):
        bodies = [make.config_map(f"{name}-{number}", x="1") for number in range(5)]
        (place.folder / f"{name}.yaml").write_text(yaml.safe_dump_all(bodies))
    shared = {"HOME": str(place.folder), "XDG_STATE_HOME": str(place.folder), "KUBECONFIG": str(place.kubeconfig)}
    before = place.faults.requests()["count"]

    def run(name: str) -> None:
        words = ["install", name, "--file", str(place.folder / f"{name}.yaml"), "-n", place.namespace, "--yes"]
        command = [sys.executable, "-m", "kymatui", *words]
        done = subprocess.run(
            command, cwd=ROOT, capture_output=True, text=True, timeout=100, env={**os.environ, **shared}
        )
        assert done.returncode == 0, done.stderr

    with ThreadPoolExecutor(len(names)) as pool:
        list(pool.map(run, names))
    told = place.faults.requests()
    written = [
        one["path"].rpartition("/")[2]
        for one in told["requests"][before - told["count"] :]
        if one["method"] == "PATCH" and not one["dry_run"] and f"/{place.namespace}/configmaps/" in one["path"]
    ]
    assert sorted(name for name in written if "." not in name) == sorted(
        f"{n}-{i}" for n in set(names) for i in range(5)
    )
    leases = place.raw.list(GroupVersionKind("coordination.k8s.io", "v1", "Lease"), place.namespace)
    assert leases == []


def test_who_has_made_but_the_namespace_when_somebody_else_was_faster_is_outdated_and_no_more(place: Place) -> None:
    what = bundle(place, make.config_map("a"))

    class Overtaken(Told):
        def __call__(self, progress: Progress) -> None:
            if not self.messages and progress.message.startswith("Namespace"):
                self.messages.append(progress.message)
                install(what, place.raw, options=OPTIONS)

    with pytest.raises(OutdatedError, match="another client has changed module since the plan"):
        apply(place, plan(place, what), told=Overtaken())
    assert check(what, place.cluster).consistent


def test_an_object_that_a_webhook_or_a_rule_refuses_is_told_before_anything_is_written(place: Place) -> None:
    bad = make.deployment("bad")
    bad["spec"]["template"]["spec"]["containers"] = []
    place.make_namespace()
    planned = plan(place, bundle(place, make.config_map("a"), bad))
    (step,) = planned.of(Action.BLOCKED)
    assert "spec.template.spec.containers" in step.reason
    with pytest.raises(RefusedError):
        install(bundle(place, make.config_map("a"), bad), place.cluster, options=OPTIONS)
    assert config_map(place, "a") is None
    assert config_map(place, "kymatui.module") is None


def test_an_unready_module_says_why_in_words(place: Place) -> None:
    told = Told()
    broken = bundle(place, make.deployment("d", image="registry.example/broken:1.0.0"))
    with pytest.raises(PartlyDoneError, match=r"Deployment .*/d is not ready: 0 of 1 pods available"):
        install(broken, place.cluster, options=replace(IMPATIENT, progress=told))
    assert any("waiting for Deployment" in words for words in told.messages)
    install(bundle(place, make.deployment("d")), place.cluster, options=OPTIONS)
    assert check(bundle(place, make.deployment("d")), place.cluster).ready


def test_a_namespace_that_somebody_else_made_is_not_ours_to_delete(place: Place) -> None:
    place.make_namespace()
    install(bundle(place, make.config_map("a")), place.cluster, options=OPTIONS)
    uninstall("module", place.namespace, place.cluster, options=OPTIONS)
    eventually(lambda: config_map(place, "a") is None, "the module is gone")
    assert place.raw.get(read_ref(make.namespace(place.namespace))) is not None
