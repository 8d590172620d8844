"""The image of the operator: its own command line in a process that has only what a Pod has.

There is no container runtime here. A mount namespace stands for the image: the root is read-only, `/run` holds a
service account's files as the kubelet lays them out, and the environment is the image's and the Deployment's.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import yaml

from kymatui.crds import read_crds
from kymatui.operator.installation.deployment import DeploymentOptions, operator_objects
from kymatui.sessions.cluster.cluster_access import open_cluster
from kymatui.sessions.cluster.session_options import SessionOptions
from tests.integration.embedded import eventually
from tests.sandboxes.starting import ReadySandbox, ready_sandbox

DOCKERFILE = Path(__file__).resolve().parents[2] / "deploy" / "Dockerfile"
HOME = "kcp-system"
ACCESS = ("ServiceAccount", "Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding")
SECRETS = "/run/secrets/kubernetes.io/serviceaccount"
"""Where a Pod finds its service account; `/var/run` is a link to `/run`."""
LAYOUT = f"""
set -e
mount --make-rprivate /
mount -t tmpfs none /run
mkdir -p {SECRETS}
cp "$1"/* {SECRETS}
mount --bind "$2" "$2"
mount -o remount,bind,ro /
shift 2
exec env -i "$@"
"""


def may_mount() -> bool:
    unshare = shutil.which("unshare")
    return unshare is not None and subprocess.run([unshare, "--mount", "true"], capture_output=True).returncode == 0


def instruction(name: str) -> list[str]:
    """Return the words of an instruction of the Dockerfile in JSON; the last one counts."""
    found = re.findall(rf"^{name} (\[.*\])$", DOCKERFILE.read_text(), re.MULTILINE)
    words: list[str] = json.loads(found[-1])
    return words


def environment() -> list[str]:
    """Return the environment of the image but its PATH, which is that of this Python here."""
    (line,) = re.findall(r"^ENV (.*)$", DOCKERFILE.read_text(), re.MULTILINE)
    return [word for word in line.split() if not word.startswith("PATH=")] + [f"PATH={Path(sys.executable).parent}"]


def service_account(sandbox: ReadySandbox, folder: Path) -> str:
    """Create what `operator manifests` prints as access; write the account's files; return the server's address."""
    from kubernetes.client import CoreV1Api
    from kubernetes.config import new_client_from_config

    cluster = open_cluster(SessionOptions(str(sandbox.kubeconfig)))
    cluster.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": HOME}})
    for body in (*read_crds(), *operator_objects(DeploymentOptions("kymatui:1", HOME))):
        if body["kind"] in (*ACCESS, "CustomResourceDefinition"):
            cluster.apply(body)
    with new_client_from_config(str(sandbox.kubeconfig)) as client:
        request = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"audiences": []}}
        answer = CoreV1Api(client).create_namespaced_service_account_token("kymatui-operator", HOME, request)
    config = yaml.safe_load(sandbox.kubeconfig.read_text())["clusters"][0]["cluster"]
    folder.mkdir()
    (folder / "token").write_text(answer.status.token)
    (folder / "namespace").write_text(HOME)
    client_ca = open_cluster(SessionOptions(str(sandbox.kubeconfig))).client.transport.connection.endpoint.authority
    (folder / "ca.crt").write_text(str(client_ca))
    return str(config["server"])


@pytest.mark.skipif(not may_mount(), reason="mount namespaces are not permitted")
def test_the_images_command_line_runs_with_what_a_pod_has(tmp_path: Path) -> None:
    (deployment,) = [
        one for one in operator_objects(DeploymentOptions("kymatui:1", HOME)) if one["kind"] == "Deployment"
    ]
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    assert instruction("CMD") == container["args"][:2] == ["operator", "run"]
    arguments = [re.sub(r"^--metrics=:\d+$", "--metrics=127.0.0.1:0", one) for one in container["args"]]
    work = tmp_path / "work"
    work.mkdir()
    named = [f"{one['name']}={one['value'].replace('/work', str(work))}" for one in container["env"]]
    with ready_sandbox("kcp") as sandbox:
        server = urlsplit(service_account(sandbox, tmp_path / "account"))
        pod = [f"KUBERNETES_SERVICE_HOST={server.hostname}", f"KUBERNETES_SERVICE_PORT={server.port}"]
        command = ["unshare", "--mount", "sh", "-c", LAYOUT, "sh", str(tmp_path / "account"), str(work)]
        command += [*environment(), *named, *pod, *instruction("ENTRYPOINT"), *arguments]
        log = tmp_path / "log"
        with log.open("wb") as out, subprocess.Popen(command, stdout=out, stderr=out, cwd="/") as process:
            try:
                eventually(lambda: "metrics and probes on port" in log.read_text(), "it serves its probes")
                (port,) = re.findall(r"probes on port (\d+)", log.read_text())
                for path in ("healthz", "readyz"):
                    with urllib.request.urlopen(f"http://127.0.0.1:{port}/{path}", timeout=10) as answer:
                        assert answer.status == 200
                cluster = open_cluster(SessionOptions(str(sandbox.kubeconfig)))
                kinds = cluster.kinds("coordination.k8s.io", "Lease")
                eventually(lambda: bool(cluster.list(kinds[0].gvk, "kube-system")), "it holds its Lease")
                os.kill(process.pid, signal.SIGTERM)
                assert process.wait(30) == 0, log.read_text()
            finally:
                process.kill()
        levels = {json.loads(line)["level"] for line in log.read_text().splitlines()}
        assert levels == {"info"}, log.read_text()
