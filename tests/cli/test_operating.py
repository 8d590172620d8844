"""`kymatui reconcile manifest` and `kymatui operator`, with the sandbox's API server and its registry."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from msgspec.structs import replace

from kymatui.adapters.kube.watch.kube_cluster import KubeCluster
from kymatui.adapters.oci.registry import Registry
from kymatui.cli.main import main
from kymatui.crds import read_crds
from kymatui.domain.kubernetes.object_meta import LABEL_SKIP
from kymatui.domain.kubernetes.refs import GroupVersionKind, ObjectRef
from kymatui.engine.cluster.ports import PatchKind
from kymatui.errors import RefusedError
from kymatui.operator.framework.controller import GroupReports
from kymatui.operator.program import CONTROLLERS, OperatorOptions, operator_context
from kymatui.sessions.cluster.cluster_access import open_cluster, read_cluster_target
from kymatui.sessions.cluster.session_options import SessionOptions
from kymatui.sessions.fetching import FetchOptions
from tests.engine.objects import config_map
from tests.integration.embedded import eventually
from tests.sandboxes.starting import ReadySandbox, ready_sandbox, told_sandbox

KIND = GroupVersionKind("operator.kyma-project.io", "v1beta2", "Manifest")
CONFIG_MAP = GroupVersionKind("", "v1", "ConfigMap")
SPACE = "modules"

pytestmark = pytest.mark.xdist_group("operating")  # one sandbox for all of them


@pytest.fixture(scope="module")
def sandbox() -> Iterator[ReadySandbox]:
    with ready_sandbox("one") as running:
        cluster = open_cluster(SessionOptions(str(running.kubeconfig)))
        cluster.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": SPACE}})
        for body in read_crds():
            cluster.apply(body)
        eventually(lambda: is_served(cluster), "Manifests are served")
        yield running


def is_served(cluster: KubeCluster) -> bool:
    cluster.forget_kinds()
    return cluster.kind(KIND) is not None


@pytest.fixture
def cluster(sandbox: ReadySandbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> KubeCluster:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("KUBECONFIG", str(sandbox.kubeconfig))
    monkeypatch.delenv("KYMATUI_READ_ONLY", raising=False)
    return open_cluster()


def put(cluster: KubeCluster, registry: str, name: str, *objects: dict[str, Any]) -> ObjectRef:
    """A Manifest of one layer with these objects, pushed where components are."""
    content = "---\n".join(map(yaml.safe_dump, objects)).encode()
    layer = Registry(insecure=True).push_blob(f"{registry}/component-descriptors/{name}", content, "application/yaml")
    source = {"repo": f"http://{registry}", "name": name, "ref": layer.digest, "type": "oci-ref"}
    spec = {"remote": False, "install": {"name": "raw-manifest", "source": source}}
    metadata = {"name": name, "namespace": SPACE}
    body = {"apiVersion": KIND.api_version, "kind": "Manifest", "metadata": metadata, "spec": spec}
    cluster.apply(body, manager="test", force=True)
    return ObjectRef(KIND, SPACE, name)


def state(cluster: KubeCluster, ref: ObjectRef) -> str:
    found = cluster.get(ref) or {}
    return str(found.get("status", {}).get("state", ""))


def data(cluster: KubeCluster, name: str) -> dict[str, str] | None:
    found = cluster.get(ObjectRef(CONFIG_MAP, SPACE, name))
    return found["data"] if found else None


def test_one_manifest_is_reconciled_once(
    sandbox: ReadySandbox, cluster: KubeCluster, capsys: pytest.CaptureFixture[str]
) -> None:
    ref = put(cluster, sandbox.registry, "once", config_map("once", SPACE, a="1"))
    words = ["reconcile", "manifest", "once", "-n", SPACE, "--insecure-registry", sandbox.registry]
    assert main(words) == 0
    said = capsys.readouterr()
    assert said.out == f"Manifest {SPACE}/once: Ready\n"
    target = replace(read_cluster_target(cluster.client), namespace=SPACE)
    assert said.err.splitlines()[0] == target.line
    assert main([*words, "-o", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["target"], found["state"], found["outcome"]) == (target.document, "Ready", "done")
    assert (state(cluster, ref), data(cluster, "once")) == ("Ready", {"a": "1"})
    for value, sentence in (
        ("true", "skipped: it has the label operator.kyma-project.io/skip-reconciliation"),
        (None, ""),
    ):
        cluster.patch(ref, {"metadata": {"labels": {LABEL_SKIP: value}}}, PatchKind.MERGE)
        assert main(words) == 0
        assert sentence in capsys.readouterr().out
    cluster.delete(ref)
    assert main(words) == 0
    assert capsys.readouterr().out == f"Manifest {SPACE}/once deleted\n"
    assert data(cluster, "once") is None


def test_without_a_namespace_that_of_the_context_is_used(
    sandbox: ReadySandbox,
    cluster: KubeCluster,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    ref = put(cluster, sandbox.registry, "near", config_map("near", SPACE, a="1"))
    document = yaml.safe_load(sandbox.kubeconfig.read_text())
    for context in document["contexts"]:
        context["context"]["namespace"] = SPACE
    (tmp_path / "kubeconfig").write_text(yaml.safe_dump(document))
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "kubeconfig"))
    words = ["reconcile", "manifest", "near", "--insecure-registry", sandbox.registry]
    assert main(words) == 0
    assert capsys.readouterr().out == f"Manifest {SPACE}/near: Ready\n"
    cluster.delete(ref)
    assert main(words) == 0


def test_what_cannot_be_installed_is_said(
    sandbox: ReadySandbox, cluster: KubeCluster, capsys: pytest.CaptureFixture[str]
) -> None:
    ref = put(cluster, sandbox.registry, "closed", config_map("closed", SPACE))
    assert main(["reconcile", "manifest", "closed", "-n", SPACE]) == 3
    assert f"allow it with --insecure-registry {sandbox.registry}" not in capsys.readouterr().out
    assert state(cluster, ref) == "Error"
    assert main(["reconcile", "manifest", "nobody", "-n", SPACE]) == 64
    assert 'no Manifest "nobody" in modules' in capsys.readouterr().err


def test_kustomizations_are_read_by_path_only_below_the_folder_that_was_named(
    sandbox: ReadySandbox, cluster: KubeCluster, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "k").mkdir()
    (tmp_path / "k" / "kustomization.yaml").write_text("resources: [a.yaml]\nnamespace: modules\n")
    (tmp_path / "k" / "a.yaml").write_text(yaml.safe_dump(config_map("bypath", SPACE, a="1")))
    ref = put(cluster, sandbox.registry, "bypath", config_map("bypath", SPACE))
    source = {"type": "kustomize", "path": "k", "repo": None, "name": None, "ref": None}
    cluster.patch(ref, {"spec": {"install": {"source": source}}}, PatchKind.MERGE)
    words = ["reconcile", "manifest", "bypath", "-n", SPACE]
    assert main(words) == 3
    assert "the kustomization k is outside the allowed folders of this machine" in capsys.readouterr().err
    assert main([*words, "--kustomizations", str(tmp_path)]) == 0
    assert data(cluster, "bypath") == {"a": "1"}
    assert main([*words, "--kustomizations", str(tmp_path / "nowhere")]) == 1
    cluster.delete(ref)
    assert main([*words, "--kustomizations", str(tmp_path)]) == 0


def test_where_writing_is_forbidden_nothing_is_reconciled(
    sandbox: ReadySandbox, cluster: KubeCluster, capsys: pytest.CaptureFixture[str]
) -> None:
    ref = put(cluster, sandbox.registry, "shut", config_map("shut", SPACE))
    assert main(["--read-only", "reconcile", "manifest", "shut", "-n", SPACE]) == 4
    assert "reconcile is refused: kymatui runs read-only" in capsys.readouterr().err
    assert state(cluster, ref) == ""


def test_the_operator_follows_manifests_takes_over_from_a_killed_one_and_is_stopped(
    sandbox: ReadySandbox, cluster: KubeCluster, tmp_path: Path
) -> None:
    ref = put(cluster, sandbox.registry, "kept", config_map("kept", SPACE, a="1"))
    command = [sys.executable, "-m", "kymatui", "operator", "-n", SPACE, "--insecure-registry", sandbox.registry]
    with subprocess.Popen(command, env=dict(os.environ)) as first:
        try:
            eventually(lambda: state(cluster, ref) == "Ready", "it is installed")
        finally:
            first.kill()
    with subprocess.Popen(command, env=dict(os.environ)) as process:
        try:
            put(cluster, sandbox.registry, "kept", config_map("kept", SPACE, a="2"))
            eventually(lambda: data(cluster, "kept") == {"a": "2"}, "it is upgraded")
            cluster.delete(ref)
            eventually(lambda: cluster.get(ref) is None and data(cluster, "kept") is None, "it is gone")
        finally:
            process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0
    lease = ObjectRef(GroupVersionKind("coordination.k8s.io", "v1", "Lease"), "kube-system", "kymatui.operator")
    assert cluster.get(lease) is None


def test_the_operator_does_not_start_beside_the_sample_worlds_lifecycle_manager(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    with told_sandbox() as sandbox:
        for more in ((), ("--single-cluster",)):
            handlers = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
            assert main(["operator", "run", "--kubeconfig", str(sandbox.kubeconfig), *more]) == 2
            assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)] == handlers
            assert "klm-controller-manager holds the Lease kyma-system/893110f7" in capsys.readouterr().err


@pytest.mark.parametrize("shards", ["0", "-3"])
def test_a_number_of_shards_that_means_nothing_is_refused(shards: str, cluster: KubeCluster) -> None:
    assert main(["operator", "run", "--shards", shards]) == 64


def test_a_manifest_of_a_kyma_in_another_namespace_is_left_alone(cluster: KubeCluster) -> None:
    """Its operator, or its lifecycle-manager, works there."""
    labels = {
        "operator.kyma-project.io/kyma-name": "default",
        "operator.kyma-project.io/managed-by": "lifecycle-manager",
    }
    body = {
        "apiVersion": KIND.api_version,
        "kind": "Manifest",
        "metadata": {"name": "of-others", "namespace": SPACE, "labels": labels},
        "spec": {"remote": True, "install": {"name": "raw-manifest", "source": {"type": "oci-ref"}}},
    }
    cluster.apply(body)
    context = operator_context(
        OperatorOptions(), GroupReports(lambda ref, error, seconds: None), SessionOptions(), FetchOptions()
    )
    ref = ObjectRef(KIND, SPACE, "of-others")
    (controller,) = CONTROLLERS["manifest"](context)
    with pytest.raises(RefusedError, match="this operator installs Manifests of kcp-system only"):
        controller.reconcile(ref, threading.Event())
    live = cluster.get(ref)
    assert live is not None
    assert "status" not in live
    cluster.delete(ref)
