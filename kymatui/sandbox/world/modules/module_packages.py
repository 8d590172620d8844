"""Packaging of modules in the registry: component versions, charts, kustomizations.

The layout is that of the Open Component Model in an OCI registry:
`<base>/component-descriptors/<component>:<version>`, a config that names the descriptor's layer, the descriptor in a
tar, and one layer per local blob.
"""

from __future__ import annotations

import gzip
import io
import json
import tarfile
from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from kymatui.helm.yaml.reading import load_exactly
from kymatui.sandbox.registry.registry_store import OCI_MANIFEST, RegistryStore
from kymatui.sandbox.world.modules.module_manifest import (
    default_resource,
    definitions_of,
    dump,
    manifest_objects,
    manifest_text,
)
from kymatui.sandbox.world.modules.sample_module import Packing, SampleModule

BASE = "kyma-modules"
CHARTS = "charts"
DESCRIPTOR_TAR = "application/vnd.ocm.software.component-descriptor.v2+yaml+tar"
COMPONENT_CONFIG = "application/vnd.ocm.software.component.config.v1+json"
HELM_CONFIG = "application/vnd.cncf.helm.config.v1+json"
HELM_CHART = "application/vnd.cncf.helm.chart.content.v1.tar+gzip"
OCTETS, TAR = "application/octet-stream", "application/x-tar"


class PackedModule(Struct, frozen=True, dict=True):
    """The location of a module version: repository, manifest layer (`raw`: as plain text), descriptor."""

    repository: str
    layer: str
    raw: str
    media_type: str
    descriptor: Mapping[str, Any]
    chart: str = ""
    kustomization: str = ""


def repository_of(module: SampleModule) -> str:
    return f"{BASE}/component-descriptors/{module.component}"


def pack(store: RegistryStore, module: SampleModule, version: str, registry: str) -> PackedModule:
    """Push one version; `registry` is the host that descriptors name."""
    repository = repository_of(module)
    text = manifest_text(module, version).encode()
    tarred = module.packing is not Packing.PLAIN
    content = tar({"raw-manifest.yaml": text}) if tarred else text
    media_type = TAR if tarred else OCTETS
    layer = store.push_blob(repository, content)
    raw = store.push_blob(repository, text)
    default_cr = dump(default_resource(module)).encode()
    cr_layer = store.push_blob(repository, default_cr)
    blobs = {"raw-manifest": (layer, media_type, len(content)), "default-cr": (cr_layer, OCTETS, len(default_cr))}
    kustomization = ""
    if module.packing is Packing.KUSTOMIZATION:
        folder = tar(kustomization_files(module, version))
        kustomization = store.push_blob(repository, folder)
        blobs["kustomization"] = (kustomization, TAR, len(folder))
    descriptor = descriptor_of(module, version, registry, blobs)
    _push_component(store, repository, version, descriptor, blobs)
    chart = push_chart(store, module, version) if module.packing is Packing.CHART else ""
    return PackedModule(repository, layer, raw, media_type, descriptor, chart, kustomization)


Blobs = Mapping[str, tuple[str, str, int]]


def descriptor_of(module: SampleModule, version: str, registry: str, blobs: Blobs) -> dict[str, Any]:
    """Return the component descriptor (v2): one resource per blob and per image."""
    resources: list[dict[str, Any]] = [
        {
            "name": name,
            "version": version,
            "type": "directoryTree" if media_type == TAR else "yaml",
            "relation": "local",
            "access": {
                "type": "localBlob",
                "localReference": digest,
                "mediaType": media_type,
                "globalAccess": {
                    "type": "ociBlob",
                    "ref": f"{registry}/{repository_of(module)}",
                    "digest": digest,
                    "mediaType": media_type,
                    "size": size,
                },
            },
        }
        for name, (digest, media_type, size) in blobs.items()
    ]
    for workload, image in _images(module, version).items():
        resources.append(
            {
                "name": workload,
                "version": version,
                "type": "ociArtifact",
                "relation": "external",
                "access": {"type": "ociArtifact", "imageReference": image},
            }
        )
    return {
        "meta": {"schemaVersion": "v2"},
        "component": {
            "name": module.component,
            "version": version,
            "provider": "kyma-project.io",
            "labels": [{"name": "kyma-project.io/built-by", "value": "sandbox", "version": "v1"}],
            "repositoryContexts": [
                {"type": "OCIRegistry", "baseUrl": registry, "subPath": BASE, "componentNameMapping": "urlPath"}
            ],
            "sources": [
                {
                    "name": "module-sources",
                    "type": "Github",
                    "version": version,
                    "access": {
                        "type": "gitHub",
                        "repoUrl": f"https://github.com/kyma-project/{module.manager_name}",
                        "commit": "0" * 40,
                    },
                }
            ],
            "componentReferences": [],
            "resources": resources,
        },
    }


def _images(module: SampleModule, version: str) -> dict[str, str]:
    images = {module.manager_name: module.image(version)}
    return images | {name: module.workload_image(name, version) for name in module.workloads}


def _push_component(
    store: RegistryStore, repository: str, version: str, descriptor: Mapping[str, Any], blobs: Blobs
) -> None:
    content = tar({"component-descriptor.yaml": dump(descriptor).encode()})
    first = {"mediaType": DESCRIPTOR_TAR, "digest": store.push_blob(repository, content), "size": len(content)}
    config = json.dumps({"componentDescriptorLayer": first}).encode()
    name = descriptor["component"]["name"]
    manifest = {
        "schemaVersion": 2,
        "mediaType": OCI_MANIFEST,
        "config": {"mediaType": COMPONENT_CONFIG, "digest": store.push_blob(repository, config), "size": len(config)},
        "layers": [first, *(_layer(resource, blob) for resource, blob in blobs.items())],
        "annotations": {
            "software.ocm.componentversion": f"{name}:{version}",
            "software.ocm.creator": "kymatui sandbox",
        },
    }
    store.push_manifest(repository, version.replace("+", ".build-"), json.dumps(manifest).encode())


def _layer(resource: str, blob: tuple[str, str, int]) -> dict[str, Any]:
    digest, media_type, size = blob
    artifact = json.dumps([{"kind": "resource", "identity": {"name": resource}}])
    return {"mediaType": media_type, "digest": digest, "size": size, "annotations": {"software.ocm.artifact": artifact}}


# -- charts and kustomizations


def chart_files(module: SampleModule, version: str) -> dict[str, bytes]:
    """Return the files of a module's Helm chart: CRDs apart, the manager's image and replicas as values."""
    name = module.name
    about = {"apiVersion": "v2", "name": name, "version": version, "appVersion": version, "description": module.about}
    image = module.image(version)
    values = {"replicas": 1, "image": {"repository": image.rpartition(":")[0], "tag": ""}, "logLevel": "info"}
    files: dict[str, bytes] = {"Chart.yaml": _yaml(about), "values.yaml": _yaml(values)}
    for definition in definitions_of(module):
        files[f"crds/{definition['metadata']['name']}.yaml"] = _yaml(definition)
    for obj in manifest_objects(module, version):
        if obj["kind"] in ("CustomResourceDefinition", "Namespace"):
            continue
        text = _yaml(obj).decode()
        if obj["kind"] == module.manager_kind:
            tag = "{{ .Values.image.tag | default .Chart.AppVersion }}"
            text = text.replace(image, f'"{{{{ .Values.image.repository }}}}:{tag}"')
            text = text.replace("replicas: 1", "replicas: {{ .Values.replicas }}")
        text = text.replace("logLevel: info", "logLevel: {{ .Values.logLevel }}")
        text = text.replace(f"namespace: {module.namespace}", "namespace: {{ .Release.Namespace }}")
        files[f"templates/{obj['kind'].lower()}-{obj['metadata']['name']}.yaml"] = text.encode()
    files["templates/NOTES.txt"] = b"{{ .Chart.Name }} {{ .Chart.AppVersion }} is installed.\n"
    return {f"{name}/{path}": content for path, content in files.items()}


def push_chart(store: RegistryStore, module: SampleModule, version: str) -> str:
    """Push the chart as `charts/<name>:<version>`; return the digest of its manifest."""
    repository = f"{CHARTS}/{module.name}"
    content = gzip.compress(tar(chart_files(module, version)), mtime=0)
    config = json.dumps(load_exactly(chart_files(module, version)[f"{module.name}/Chart.yaml"])).encode()
    manifest = {
        "schemaVersion": 2,
        "mediaType": OCI_MANIFEST,
        "config": {"mediaType": HELM_CONFIG, "digest": store.push_blob(repository, config), "size": len(config)},
        "layers": [{"mediaType": HELM_CHART, "digest": store.push_blob(repository, content), "size": len(content)}],
    }
    return store.push_manifest(repository, version.replace("+", "_"), json.dumps(manifest).encode())


def kustomization_files(module: SampleModule, version: str) -> dict[str, bytes]:
    """Return the files of a kustomization that sets labels and the image tag."""
    objects = manifest_objects(module, version)
    crds = [o for o in objects if o["kind"] == "CustomResourceDefinition"]
    rest = [o for o in objects if o["kind"] not in ("CustomResourceDefinition", "Namespace")]
    image, _, tag = module.image(version).rpartition(":")
    kustomization = {
        "apiVersion": "kustomize.config.k8s.io/v1beta1",
        "kind": "Kustomization",
        "namespace": module.namespace,
        "resources": ["crds.yaml", "workload.yaml"],
        "images": [{"name": image, "newTag": tag}],
        "labels": [{"pairs": {"app.kubernetes.io/managed-by": "kustomize"}}],
    }
    return {
        "kustomization.yaml": _yaml(kustomization),
        "crds.yaml": dump(*crds).encode(),
        "workload.yaml": dump(*rest).encode(),
    }


def _yaml(obj: Any) -> bytes:
    return dump(obj).encode()


def tar(files: Mapping[str, bytes]) -> bytes:
    """Return a reproducible tar archive."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for name, content in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            info.mode = 0o644
            archive.addfile(info, io.BytesIO(content))
    return out.getvalue()
