"""kubectl on the sandbox: what a person types works."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.sandboxes.starting import ReadySandbox

pytestmark = [
    pytest.mark.skipif(shutil.which("kubectl") is None, reason="kubectl is not here"),
    pytest.mark.xdist_group("kubectl"),
]

NAMESPACE = "kubectl-tests"
DEPLOYMENT = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: registry.example/web:1}]}
"""
CONFIG_MAP = """
apiVersion: v1
kind: ConfigMap
metadata: {name: settings, labels: {app: web}}
data: {colour: VALUE}
"""


class Kubectl:
    """Runs kubectl on one cluster, in one namespace."""

    def __init__(self, kubeconfig: Path, home: Path) -> None:
        self._kubeconfig = kubeconfig
        self._home = home

    def run(
        self, *words: str, text: str = "", check: bool = True, **environment: str
    ) -> subprocess.CompletedProcess[str]:
        command = ["kubectl", "--kubeconfig", str(self._kubeconfig), "-n", NAMESPACE, *words]
        found = subprocess.run(
            command,
            input=text,
            capture_output=True,
            text=True,
            timeout=60,
            env={**os.environ, "HOME": str(self._home), **environment},
        )
        if check:
            assert found.returncode == 0, f"{words}: {found.stdout}{found.stderr}"
        return found

    def __call__(self, *words: str, text: str = "") -> str:
        return self.run(*words, text=text).stdout

    def json(self, *words: str) -> Any:
        return json.loads(self(*words, "-o", "json"))


@pytest.fixture(scope="module")
def kubectl(sandbox: ReadySandbox, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kubectl]:
    found = Kubectl(sandbox.kubeconfig, tmp_path_factory.mktemp("home"))
    found("create", "namespace", NAMESPACE)
    yield found
    found("delete", "namespace", NAMESPACE, "--wait=false")


@pytest.fixture
def settings(kubectl: Kubectl) -> Iterator[str]:
    kubectl("apply", "-f", "-", text=CONFIG_MAP.replace("VALUE", "red"))
    yield "settings"
    kubectl("delete", "configmap", "settings", "--ignore-not-found")


def test_apply_tells_created_unchanged_and_configured(kubectl: Kubectl) -> None:
    red, blue = CONFIG_MAP.replace("VALUE", "red"), CONFIG_MAP.replace("VALUE", "blue")
    assert kubectl("apply", "-f", "-", text=red) == "configmap/settings created\n"
    assert kubectl("apply", "-f", "-", text=red) == "configmap/settings unchanged\n"
    assert kubectl("apply", "-f", "-", text=blue) == "configmap/settings configured\n"
    assert kubectl("delete", "-f", "-", text=blue) == 'configmap "settings" deleted\n'


def test_server_side_apply_meets_the_owner_of_a_field(kubectl: Kubectl, settings: str) -> None:
    kubectl("patch", "configmap", settings, "--type=merge", "-p", '{"data":{"colour":"green"}}')
    blue = CONFIG_MAP.replace("VALUE", "blue")
    refused = kubectl.run("apply", "--server-side", "--field-manager=me", "-f", "-", text=blue, check=False)
    assert refused.returncode != 0
    assert "conflict" in refused.stderr
    kubectl("apply", "--server-side", "--field-manager=me", "--force-conflicts", "-f", "-", text=blue)
    assert kubectl.json("get", "configmap", settings)["data"] == {"colour": "blue"}


def test_diff_shows_what_apply_would_change(kubectl: Kubectl, settings: str) -> None:
    same = kubectl.run("diff", "-f", "-", text=CONFIG_MAP.replace("VALUE", "red"), check=False)
    assert (same.returncode, same.stdout) == (0, "")
    other = kubectl.run("diff", "-f", "-", text=CONFIG_MAP.replace("VALUE", "blue"), check=False)
    assert other.returncode == 1
    assert "+  colour: blue" in other.stdout


def test_dry_runs_write_nothing(kubectl: Kubectl) -> None:
    kubectl("apply", "--dry-run=server", "-f", "-", text=CONFIG_MAP.replace("VALUE", "red"))
    assert kubectl("get", "configmap", "settings", "--ignore-not-found") == ""


def test_unknown_fields_are_refused(kubectl: Kubectl) -> None:
    refused = kubectl.run("apply", "-f", "-", text=CONFIG_MAP.replace("\ndata:", "\ndota:"), check=False)
    assert 'unknown field "dota"' in refused.stderr


def test_a_workload_from_its_first_to_its_last_pod(kubectl: Kubectl) -> None:
    kubectl("apply", "-f", "-", text=DEPLOYMENT)
    assert "successfully rolled out" in kubectl("rollout", "status", "deployment/web", "--timeout=30s")
    kubectl("wait", "--for=condition=Available", "deployment/web", "--timeout=30s")
    table = kubectl("get", "deployment", "web", "-o", "wide").splitlines()
    assert table[0].split()[:5] == ["NAME", "READY", "UP-TO-DATE", "AVAILABLE", "AGE"]
    assert table[1].split()[:4] == ["web", "2/2", "2", "2"]
    assert kubectl("logs", "deployment/web").startswith("level=info")  # before one of its Pods goes
    kubectl("scale", "deployment", "web", "--replicas=1")
    kubectl("rollout", "status", "deployment/web", "--timeout=30s")
    assert "Replicas:               1 desired" in kubectl("describe", "deployment", "web")
    kubectl("delete", "deployment", "web", "--cascade=foreground", "--timeout=30s")
    assert kubectl("get", "replicasets,pods", "-l", "app=web") == ""


def test_orphans_stay(kubectl: Kubectl) -> None:
    kubectl("apply", "-f", "-", text=DEPLOYMENT)
    kubectl("rollout", "status", "deployment/web", "--timeout=30s")
    kubectl("delete", "deployment", "web", "--cascade=orphan", "--timeout=30s")
    assert len(kubectl.json("get", "replicasets", "-l", "app=web")["items"]) == 1
    kubectl("delete", "replicasets", "-l", "app=web", "--timeout=30s")


def test_lists_in_pages_across_namespaces(kubectl: Kubectl, settings: str) -> None:
    def listed(*words: str) -> list[list[str]]:
        """The lines without the ages, which go on meanwhile."""
        return [line.split()[:3] for line in kubectl("get", "configmaps", "-A", "--no-headers", *words).splitlines()]

    whole = listed()
    assert listed("--chunk-size=1") == whole
    assert settings in [name for _, name, _ in whole]


def test_a_watch_shows_changes(kubectl: Kubectl, settings: str) -> None:
    command = ["get", "configmaps", "--watch-only", "-o", "name"]
    has_shown = threading.Event()

    def annotate() -> None:
        for number in range(100):
            if has_shown.is_set():
                return
            kubectl("annotate", "--overwrite", "configmap", settings, f"at={number}")
        watching.terminate()

    with subprocess.Popen(
        ["kubectl", "--kubeconfig", str(kubectl._kubeconfig), "-n", NAMESPACE, *command],
        stdout=subprocess.PIPE,
        text=True,
    ) as watching:
        changes = threading.Thread(target=annotate)
        changes.start()
        try:
            assert watching.stdout is not None
            told = watching.stdout.readline()
        finally:
            has_shown.set()
            changes.join()
            watching.terminate()
    assert told == f"configmap/{settings}\n"


def test_labels_annotations_patches_and_edits(kubectl: Kubectl, settings: str) -> None:
    kubectl("label", "configmap", settings, "size=big")
    kubectl("annotate", "configmap", settings, "note=well")
    kubectl("patch", "configmap", settings, "-p", '{"data":{"more":"yes"}}')
    kubectl("patch", "configmap", settings, "--type=json", "-p", '[{"op":"remove","path":"/data/colour"}]')
    kubectl.run("edit", "configmap", settings, KUBE_EDITOR="sed -i s/yes/maybe/")
    found = kubectl.json("get", "configmap", settings)
    assert found["metadata"]["labels"]["size"] == "big"
    assert found["metadata"]["annotations"]["note"] == "well"
    assert found["data"] == {"more": "maybe"}


@pytest.mark.parametrize(
    "words",
    [
        ("deployment", "d", "--image=registry.example/d:1"),
        ("job", "j", "--image=registry.example/j:1"),
        ("cronjob", "c", "--image=registry.example/c:1", "--schedule=0 0 1 1 *"),
        ("secret", "generic", "s", "--from-literal=a=b"),
        ("serviceaccount", "a"),
        ("service", "clusterip", "v", "--tcp=80:8080"),
        ("role", "r", "--verb=get", "--resource=pods"),
        ("rolebinding", "b", "--role=r", "--user=jane"),
        ("poddisruptionbudget", "p", "--selector=app=web", "--min-available=1"),
        ("quota", "q", "--hard=pods=10"),
        ("ingress", "i", "--rule=example.com/=v:80"),
    ],
    ids=lambda words: words[0],
)
def test_what_kubectl_creates_from_words(kubectl: Kubectl, words: tuple[str, ...]) -> None:
    """These commands send protobuf."""
    assert "created" in kubectl("create", *words)


def test_rights_and_tokens(kubectl: Kubectl) -> None:
    assert kubectl("auth", "can-i", "delete", "pods") == "yes\n"
    assert kubectl.run("auth", "can-i", "delete", "pods", "--as=jane", check=False).stdout == "no\n"
    assert "*.*" in kubectl("auth", "can-i", "--list")
    assert kubectl("create", "token", "default").count(".") == 2
    assert "admin" in kubectl("auth", "whoami")


def test_what_is_served_and_what_it_means(kubectl: Kubectl) -> None:
    assert "deploy" in kubectl("api-resources", "--api-group=apps")
    assert "apps/v1" in kubectl("api-versions").splitlines()
    assert "image" in kubectl("explain", "deployment.spec.template.spec.containers")


GIZMOS = """
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: gizmos.kubectl.example}
spec:
  group: kubectl.example
  names: {kind: Gizmo, plural: gizmos, singular: gizmo, listKind: GizmoList}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties: {spec: {type: object, properties: {size: {type: integer, description: How large it is.}}}}
"""
GIZMO = "apiVersion: kubectl.example/v1\nkind: Gizmo\nmetadata: {name: g}\nspec: {size: 1}\n"
LIST = """
apiVersion: v1
kind: List
items:
- {apiVersion: kubectl.example/v1, kind: Gizmo, metadata: {name: listed}, spec: {size: 3}}
- {apiVersion: v1, kind: ConfigMap, metadata: {name: listed}, data: {a: b}}
"""


def test_a_crd_and_its_object_in_one_file_need_two_runs(kubectl: Kubectl) -> None:
    both = "---\n".join((GIZMOS, GIZMO, CONFIG_MAP.replace("settings", "beside")))
    first = kubectl.run("apply", "-f", "-", text=both, check=False)
    assert first.returncode == 1
    assert 'no matches for kind "Gizmo" in version "kubectl.example/v1"' in first.stderr
    assert kubectl.json("get", "configmap", "beside")["data"]
    kubectl("wait", "--for=condition=Established", "--timeout=20s", "crd/gizmos.kubectl.example")
    kubectl("apply", "-f", "-", text=both)
    assert kubectl.json("get", "gizmo", "g")["spec"] == {"size": 1}

    changed = GIZMO.replace("size: 1", "size: 2")
    difference = kubectl.run("diff", "-f", "-", text=changed, check=False)
    assert (difference.returncode, "+  size: 2" in difference.stdout) == (1, True)
    assert "configured" in kubectl("apply", "-f", "-", text=changed)
    assert kubectl.json("get", "gizmo", "g")["spec"] == {"size": 2}

    kubectl("apply", "-f", "-", text=LIST)
    kubectl("apply", "-f", "-", text=LIST.replace("size: 3", "size: 4").replace("a: b", "a: c"))
    assert kubectl.json("get", "gizmo", "listed")["spec"] == {"size": 4}
    assert kubectl.json("get", "configmap", "listed")["data"] == {"a": "c"}


@pytest.mark.parametrize("form", ["plaintext", "plaintext-openapiv2"])
def test_explain_reads_both_versions_of_openapi(kubectl: Kubectl, form: str) -> None:
    explained = kubectl("explain", "deployment.spec.template.spec.containers.image", f"--output={form}")
    assert "image <string>" in explained or "FIELD:    image <string>" in explained
    replicas = kubectl("explain", "deployment.spec.replicas", f"--output={form}")
    assert "<integer>" in replicas


def test_what_a_cluster_begins_with_is_managed_by_the_api_server(kubectl: Kubectl) -> None:
    for name in ("namespace/kube-system", "priorityclass/system-node-critical", "service/kubernetes"):
        metadata = kubectl.json("get", name, "-n", "default", "--show-managed-fields")["metadata"]
        assert [entry["manager"] for entry in metadata["managedFields"]] == ["kube-apiserver"]
