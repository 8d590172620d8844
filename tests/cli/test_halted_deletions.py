"""Deletions that stop: refused for missing rights before anything is deleted, or continued by a second run."""

from __future__ import annotations

import contextlib
import json
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from kymatui.actions.edits import cluster_edits
from kymatui.adapters.files.backups import list_backups
from kymatui.adapters.kube.watch.kube_cluster import KubeCluster
from kymatui.domain.kubernetes.refs import GroupVersionKind, ObjectRef
from kymatui.engine.cluster.ports import PatchKind
from kymatui.engine.deletion import managed_deletion
from kymatui.engine.jobs.object_deletion import ObjectDeletion, delete_object
from kymatui.errors import ForbiddenError, UnreachableError
from tests.engine.places import eventually
from tests.sandboxes.resuming import resume_reconciliation

pytestmark = pytest.mark.xdist_group("halted-deletions")  # one sandbox for all of them

FUNCTION = GroupVersionKind("serverless.kyma-project.io", "v1alpha2", "Function")
APPLICATION = GroupVersionKind("applicationconnector.kyma-project.io", "v1alpha1", "Application")
_GROUP = "rbac.authorization.k8s.io"
_READ = {"apiGroups": ["*"], "resources": ["*"], "verbs": ["get", "list", "watch"]}
_KYMA = {"apiGroups": ["operator.kyma-project.io"], "resources": ["kymas"], "verbs": ["*"]}
_FUNCTIONS = {"apiGroups": [FUNCTION.group], "resources": ["functions"], "verbs": ["delete"]}


@contextlib.contextmanager
def jane_may(cluster: KubeCluster, *rules: dict[str, Any]) -> Iterator[None]:
    """Let user jane read everything, and do what the rules allow."""
    role: dict[str, Any] = {"apiVersion": f"{_GROUP}/v1", "kind": "ClusterRole", "metadata": {"name": "of-jane"}}
    cluster.create({**role, "rules": [_READ, *rules]})
    binding = {
        **role,
        "kind": "ClusterRoleBinding",
        "roleRef": {"apiGroup": _GROUP, "kind": "ClusterRole", "name": "of-jane"},
        "subjects": [{"apiGroup": _GROUP, "kind": "User", "name": "jane"}],
    }
    cluster.create(binding)
    try:
        yield
    finally:
        for kind in ("ClusterRoleBinding", "ClusterRole"):
            cluster.delete(ObjectRef(GroupVersionKind(_GROUP, "v1", kind), "", "of-jane"))


@pytest.mark.parametrize(
    ("rules", "missing", "absent"),
    [
        ((_KYMA,), ("delete Function.v1alpha2.serverless.kyma-project.io in billing",), "patch Kyma"),
        ((_FUNCTIONS,), ("patch Kyma.v1beta2.operator.kyma-project.io in kyma-system",), "delete Function"),
        ((), ("patch Kyma", "delete Function"), "list "),
    ],
    ids=["functions", "kyma", "both"],
)
def test_a_deletion_without_the_rights_is_refused_before_anything_is_deleted(
    run: Any, cluster: KubeCluster, rules: tuple[dict[str, Any], ...], missing: tuple[str, ...], absent: str
) -> None:
    before = len(cluster.list(FUNCTION))
    with jane_may(cluster, *rules):
        for names in (("serverless",), ("serverless", "telemetry")):
            for words in (("--dry-run",), ("--yes", "--no-backup")):
                status, out, err = run("delete", *names, "--cascade", *words, "--as", "jane")
                assert (status, "serverless cannot be deleted: you may not " in err) == (2, True), err
                assert "`kymatui rights delete serverless` prints the Role that allows it" in err
                assert "--cascade deletes them too" not in err
                assert "missing permission: " in out + err
                assert all(right in err for right in missing), err
                assert f"may not {absent}" not in err
        for words in (("--dry-run",), ("--yes", "--no-backup")):
            status, out, err = run("delete", "serverless", "--cascade", *words, "-o", "json", "--as", "jane")
            found = json.loads(out)
            assert (status, found["outcome"], found["gone"]) == (2, "refused", [])
            assert all(any(right in one for one in found["missing"]) for right in missing)
    assert (len(cluster.list(FUNCTION)), before) == (3, 3)


def test_an_edit_that_needs_a_deletion_is_refused_without_the_right_to_delete(run: Any, cluster: KubeCluster) -> None:
    with jane_may(cluster, _KYMA):
        for words in (("--dry-run",), ("--yes", "--no-backup")):
            status, _, err = run("disable", "serverless", "--cascade", *words, "--as", "jane")
            assert (status, "you may not delete Function" in err) == (2, True), err
            assert "`kymatui rights delete" in err
        assert run("disable", "istio", "--dry-run", "--as", "jane")[0] == 0
    assert len(cluster.list(FUNCTION)) == 3


def test_what_was_deleted_before_a_failure_is_named(
    run: Any, cluster: KubeCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    refs = {name: ObjectRef(APPLICATION, "default", name) for name in ("first", "second")}
    has_begun = threading.Event()

    def forbidden(on: Any, ref: ObjectRef, *more: Any, **named: Any) -> ObjectDeletion:
        if ref.name == "second":
            assert has_begun.wait(20)
            raise ForbiddenError("a webhook refuses it", status=403)
        done = delete_object(on, ref, *more, **named)
        has_begun.set()
        return done

    monkeypatch.setattr(managed_deletion, "delete_object", forbidden)
    for name in ("delete", "disable"):
        has_begun.clear()
        for ref in refs.values():
            body = {"apiVersion": APPLICATION.api_version, "kind": "Application"}
            cluster.apply({**body, "metadata": {"name": ref.name, "namespace": ref.namespace}}, manager="user")
        status, out, err = run(name, "application-connector", "--cascade", "--yes", "--no-backup", "-o", "json")
        assert (status, "a webhook refuses it; 1 object already deleted" in err) == (3, True), err
        if name == "delete":
            found = json.loads(out)
            assert (found["outcome"], found["gone"]) == ("unfinished", ["Application default/first"])
        eventually(lambda: cluster.get(refs["first"]) is None, "the first is deleted")
    cluster.delete(refs["second"])


@pytest.mark.parametrize("form", ["table", "name", "json", "jsonpath={.object}"])
def test_the_removal_of_a_finalizer_is_answered_in_every_form(run: Any, cluster: KubeCluster, form: str) -> None:
    ref = ObjectRef(APPLICATION, "default", "held")
    body = {"apiVersion": APPLICATION.api_version, "kind": "Application"}
    metadata = {"name": "held", "namespace": "default", "finalizers": ["example.org/held"]}
    cluster.apply({**body, "metadata": metadata}, manager="user")
    cluster.delete(ref)
    eventually(lambda: "held" in run("finalizers", "application-connector", "-o", "name")[1], "it is held")
    words = ("--object", "default/held", "--remove", "example.org/held", "--typed", "default/held", "-o", form)
    status, out, err = run("finalizers", "application-connector", *words)
    assert status == 0, err
    if form == "json":
        found = json.loads(out)
        assert (found["object"], found["finalizer"]) == ("Application default/held", "example.org/held")
        assert (found["gone"], found["outcome"], found["target"]["context"]) == (True, "done", "kcp")
    else:
        printed = {"table": "Application default/held deleted\n", "name": "default/held\n"}
        assert out == printed.get(form, "Application default/held\n")


def test_a_deletion_that_is_run_again_keeps_what_the_first_run_saved(
    run: Any, cluster: KubeCluster, tmp_path: Path
) -> None:
    held = {"first": ObjectRef(APPLICATION, "default", "held"), "second": ObjectRef(FUNCTION, "billing", "tax")}
    body = {"apiVersion": APPLICATION.api_version, "kind": "Application"}
    for name in ("free", "held"):
        cluster.apply({**body, "metadata": {"name": name, "namespace": "default"}}, manager="user")
    resume_reconciliation(cluster, "application-connector")
    path = tmp_path / "saved.yaml"
    words = {"first": ("application-connector", "--backup", str(path)), "second": ("serverless",)}
    for name, ref in held.items():
        cluster.patch(ref, {"metadata": {"finalizers": ["example.org/held"]}}, PatchKind.MERGE, manager="user")
        given = ("delete", *words[name], "--cascade", "--yes")
        status, _, err = run(*given, "--timeout", "0.5")
        assert (status, "run the command again" in err) == (3, True), err
        time.sleep(1)  # the name of a backup has its second
        cluster.patch(ref, {"metadata": {"finalizers": None}}, PatchKind.MERGE, manager="user")
        status, _, err = run(*given)
        assert status == 0, err
    assert {"free", "held"} <= {one["metadata"]["name"] for one in yaml.safe_load_all(path.read_text())}
    status, out, err = run("restore", "serverless", "--dry-run", "-o", "json")
    found = json.loads(out)
    kinds = [one["object"].split()[0] for one in found["objects"]]
    assert (kinds.count("Function"), found["outcome"]) == (3, "refused"), err
    assert set(found["files"]) == {line.split(":")[0] for line in err.splitlines() if ".yaml: " in line}
    status, _, err = run("delete", "keda", "--cascade", "--yes", "--backup", str(path))
    assert (status, "exists and is not a backup of keda" in err) == (1, True), err


def test_a_restore_reaches_behind_a_disable_that_ended_after_it_had_deleted(
    run: Any, cluster: KubeCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run("enable", "serverless", "--yes")[0] == 0
    cluster.forget_kinds()
    words = ("disable", "serverless", "--cascade", "--yes")
    for number, name in enumerate(("early", "late", "last")):
        body = {"apiVersion": FUNCTION.api_version, "kind": "Function"}
        cluster.apply({**body, "metadata": {"name": name, "namespace": "default"}}, manager="user")
        if number == 2:
            assert run(*words)[0] == 0
            break
        with monkeypatch.context() as patching:
            patching.setattr(cluster_edits, "carry_out", unreachable)
            status, _, err = run(*words)
        assert (status, "already deleted" in err) == (3, True), err
        time.sleep(1)  # the name of a backup has its second
    assert [one.is_finished for one in list_backups() if one.module == "serverless"][:3] == [True, False, False]
    status, out, err = run("restore", "serverless", "--dry-run", "-o", "json")
    found = json.loads(out)
    names = {one["object"].rpartition("/")[2] for one in found["objects"] if one["object"].startswith("Function")}
    assert (names, len(found["files"])) == ({"early", "late", "last"}, 3), err


def unreachable(*given: Any) -> None:
    raise UnreachableError("the cluster does not answer")


def test_a_dry_run_of_an_installation_counts_missing_rights(run: Any, cluster: KubeCluster) -> None:
    groups = ["", "apps", "apiextensions.k8s.io", _GROUP, "operator.kyma-project.io", "backup.sandbox.local", "batch"]
    all_but_leases = {"apiGroups": groups, "resources": ["*"], "verbs": ["*"]}
    with jane_may(cluster, all_but_leases):
        for verb in ("install", "plan"):
            given = ("--dry-run",) if verb == "install" else ()
            status, out, err = run(verb, "backup-operator", *given, "--as", "jane")
            assert (status, "missing permission: create Lease" in out) == (2, True), out + err
        status, out, err = run("install", "backup-operator", "--yes", "-o", "json", "--as", "jane")
        assert (status, json.loads(out)["outcome"]) == (2, "refused"), err
        assert "cannot be installed: you may not create Lease" in err
