"""The samples of the first module-manager as Manifests of v1alpha1, with what they refer to in a registry and in a
repository on this machine."""

from __future__ import annotations

import http.server
import json
import threading
from pathlib import Path
from typing import Any, Self

import yaml

from tests.engine import walking
from tests.engine.sources.packing import tar
from tests.engine.walking import OWN, Desk, Json

RESOURCE = {
    "apiVersion": f"{OWN}/v1alpha1",
    "kind": "SampleCRD",
    "metadata": {"name": "sample-crd-from-manifest", "namespace": "default"},
    "resource": "samplecrds",  # the plural that the oldest Manifests have, which is no part of the object
    "spec": {"randomkey": "samplevalue"},
}


class Repository:
    """A Helm repository and a place for archives: charts by name, files by path."""

    def __init__(self) -> None:
        pages: dict[str, bytes] = {}
        self._entries: dict[str, list[Json]] = {}
        self.pages = pages

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                body = pages.get(self.path)
                self.send_response(200 if body is not None else 404)
                self.send_header("Content-Length", str(len(body or b"")))
                self.end_headers()
                self.wfile.write(body or b"")

            def log_message(self, *args: Any) -> None:
                del args

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def add(self, name: str, version: str, archive: bytes) -> None:
        path = f"/{name}-{version}.tgz"
        self.pages[path] = archive
        self._entries.setdefault(name, []).append({"name": name, "version": version, "urls": [path[1:]]})
        self.pages["/index.yaml"] = json.dumps({"apiVersion": "v1", "entries": self._entries}).encode()

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *given: object) -> None:
        self._server.shutdown()
        self._server.server_close()


class Samples:
    """Manifests of v1alpha1 out of the reference data."""

    def __init__(self, shared: Path, desk: Desk, repository: Repository) -> None:
        self._kyma = shared / "kyma"
        self._desk, self._repository = desk, repository
        chart = walking.packed(self._kyma / "helm-charts" / "mm-module-chart")
        repository.add("nginx-ingress", "0.1.0", chart)
        kustomization = {path.name: path.read_bytes() for path in (self._kyma / "kustomize").iterdir()}
        repository.pages["/kustomize.tar"] = tar(kustomization)
        self._kustomization = tar(kustomization, packed=True)

    def module_manager(self) -> Json:
        """The published sample; its chart lies on this machine."""
        body: Json = yaml.safe_load((self._kyma / "manifests" / "v1alpha1_module-manager_sample.yaml").read_text())
        body["metadata"]["labels"].pop("operator.kyma-project.io/kyma-name")
        body["spec"]["installs"][0]["source"]["url"] = self._repository.url
        return body

    def everything(self, version: int) -> Json:
        """All kinds of sources side by side, with a config and a definitions layer, and a default resource."""
        raw = (self._kyma / "raw-manifests" / "klm-raw-manifest.yaml").read_bytes()
        chart = walking.packed(self._kyma / "helm-charts" / "template-operator-busybox")
        definitions = (self._kyma / "crds" / "module-manager-v1alpha1" / "feb23-sample_crd.yaml").read_bytes()
        config = {"configs": [self._config(version), {"name": "nobody", "overrides": "replicaCount=9"}]}
        charted = {"type": "helm-chart", "url": self._repository.url, "chartName": "nginx-ingress"}
        kustomized = {"type": "kustomize", "url": f"{self._repository.url}/kustomize.tar"}
        installs = [
            {"name": "from-layer", "source": self.layer(chart)},
            {"name": "from-repository", "source": charted},
            {"name": "again-from-repository", "source": charted},
            {"name": "raw", "source": self.layer(raw)},
            {"name": "kustomized", "source": kustomized},
        ]
        return {
            "apiVersion": f"{OWN}/v1alpha1",
            "kind": "Manifest",
            "metadata": {"name": "everything", "namespace": "default"},
            "spec": {
                "remote": False,
                "installs": installs[: 5 - version],
                "config": self.layer(yaml.safe_dump(config).encode()),
                "crds": self.layer(tar({"crds/sample.yaml": definitions}, packed=True)),
                "resource": RESOURCE,
            },
        }

    def _config(self, version: int) -> Json:
        """Of one install; the other with the same chart keeps the chart's own values."""
        flags = "CreateNamespace=true,Namespace=elsewhere"
        overrides = f"replicaCount={2 + version},podAnnotations.message=x\\,y"
        return {"name": "from-repository", "clientConfig": flags, "overrides": overrides}

    def layered_kustomization(self) -> Json:
        """A kustomization in a layer."""
        body = self.everything(0)
        body["metadata"]["name"] = "kustomized"
        body["spec"] = {
            "remote": False,
            "installs": [{"name": "kustomized", "source": self.layer(self._kustomization)}],
        }
        return body

    def layer(self, content: bytes) -> Json:
        """A layer in the registry, as a source of v1alpha1 names it."""
        digest = self._desk.push("samples/x.io/m", content)
        repo = f"http://{self._desk.registry}/samples"
        return {"type": "oci-ref", "repo": repo, "name": "x.io/m", "ref": digest}
