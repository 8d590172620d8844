"""The real lifecycle-manager as a process, and what its own installation brings to a control plane.

It needs a gateway, certificates and the agent's Deployment even where nothing listens: this plays istio and
cert-manager, and gives it an agent of its own.
"""

from __future__ import annotations

import base64
import shutil
import socket
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import yaml

from kymatui.adapters.kube.watch.kube_cluster import KubeCluster
from tests.bundle.sources import workload
from tests.controllers.certificates import issue
from tests.integration.operators import HOME

Json = dict[str, Any]
_ISTIO: Final = "istio-system"
_EVERY: Final = ("success", "error", "warning", "busy")


def made(api_version: str, kind: str, name: str, namespace: str = "", **content: Any) -> Json:
    metadata = {"name": name, **({"namespace": namespace} if namespace else {})}
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, **content}


def loose_definition(group: str, version: str, plural: str, kind: str) -> Json:
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    served = {"name": version, "served": True, "storage": True, "subresources": {"status": {}}, "schema": schema}
    names = {"kind": kind, "listKind": f"{kind}List", "plural": plural, "singular": kind.lower()}
    spec = {"group": group, "scope": "Namespaced", "names": names, "versions": [served]}
    return made("apiextensions.k8s.io/v1", "CustomResourceDefinition", f"{plural}.{group}", spec=spec)


class RealManager:
    """lifecycle-manager for some runtimes of a control plane; `folder` is for its files.

    Raises FileNotFoundError if the program is not on the PATH.
    """

    def __init__(self, home: KubeCluster, registry: str, folder: Path, runtimes: Sequence[str]) -> None:
        self._registry, self._folder = registry, folder
        program = shutil.which("lifecycle-manager")
        if program is None:
            raise FileNotFoundError("lifecycle-manager is not on the PATH")
        for body in self._surroundings(runtimes):
            home.forget_kinds()
            home.apply(body, force=True)
        for name in ("bin", "skr-webhook"):  # the program looks for ../skr-webhook
            (folder / name).mkdir()
        self._program = shutil.copy(program, folder / "bin" / "lifecycle-manager")
        agent = workload("agent:1.0.0", name="skr-webhook")
        agent["metadata"]["namespace"] = "kyma-system"
        (folder / "skr-webhook" / "resources.yaml").write_text(yaml.safe_dump(agent))

    def _surroundings(self, runtimes: Sequence[str]) -> Iterator[Json]:
        yield loose_definition("networking.istio.io", "v1beta1", "gateways", "Gateway")
        yield loose_definition("networking.istio.io", "v1beta1", "virtualservices", "VirtualService")
        yield loose_definition("cert-manager.io", "v1", "certificates", "Certificate")
        for name in (_ISTIO, "kyma-system"):
            yield made("v1", "Namespace", name)
        server = {"hosts": ["listener.example.org"], "port": {"name": "https", "number": 443, "protocol": "HTTPS"}}
        gateway = made("networking.istio.io/v1beta1", "Gateway", "klm-watcher", HOME)
        yield {**gateway, "spec": {"selector": {"istio": "ingressgateway"}, "servers": [server]}}
        certificate, key = issue("authority").write(self._folder, "authority")
        data = {"tls.crt": certificate, "tls.key": key, "ca.crt": certificate}
        encoded = {name: base64.b64encode(path.read_bytes()).decode() for name, path in data.items()}
        for name in ("klm-istio-gateway", *(f"{runtime}-webhook-tls" for runtime in runtimes)):
            yield made("v1", "Secret", name, _ISTIO, data=encoded)

    def command(self, path: str = "", requeue: str = "") -> list[str]:
        """Return the command line for components below a path of the registry; `requeue` replaces every interval."""
        return [
            str(self._program),
            "--leader-elect=false",
            f"--modules-repository-subpath={path}",
            f"--oci-registry-host=http://{self._registry}",
            "--skr-watcher-image-tag=1.0.0",
            *(f"--{name}-bind-address=127.0.0.1:{free_port()}" for name in ("metrics", "health-probe")),
            f"--kyma-skr-listener-bind-address=127.0.0.1:{free_port()}",
            *self._intervals(requeue),
        ]

    @staticmethod
    def _intervals(requeue: str) -> Iterator[str]:
        if requeue:
            yield from (
                f"--{kind}-requeue-{name}-interval={requeue}" for kind in ("kyma", "manifest") for name in _EVERY
            )
            yield from ("--failure-base-delay=100ms", "--failure-max-delay=1s", "--module-upgrade-rollout-max-delay=1s")


def stopped_manager() -> Json:
    """Return the Deployment of a lifecycle-manager that is scaled to 0, as before a handover."""
    body = workload("lifecycle-manager:1.20.4", name="klm-controller-manager")
    body["metadata"]["namespace"] = HOME
    body["spec"]["replicas"] = 0
    return body


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])
