"""Small clusters with Kyma in them, for sessions and commands."""

from __future__ import annotations

from typing import Any

from tests.adapters.clusters import Cluster, Collection

OPERATOR = "operator.kyma-project.io"
KYMAS, TEMPLATES = f"kymas.{OPERATOR}", f"moduletemplates.{OPERATOR}"
METAS, MANIFESTS = f"modulereleasemetas.{OPERATOR}", f"manifests.{OPERATOR}"
DEFINITIONS = "customresourcedefinitions.apiextensions.k8s.io"
NAMESPACE = "kyma-system"


def module_collection(name: str) -> Collection:
    return Collection(OPERATOR, "v1alpha1", name.capitalize(), f"{name}s")


def kyma_cluster(modules: int = 0, *, streams_lists: bool = True) -> Cluster:
    """A cluster that serves Kyma, workloads and definitions, with so many modules."""
    cluster = Cluster(
        Collection(OPERATOR, "v1beta2", "Kyma", "kymas"),
        Collection(OPERATOR, "v1beta2", "ModuleTemplate", "moduletemplates"),
        Collection(OPERATOR, "v1beta2", "ModuleReleaseMeta", "modulereleasemetas"),
        Collection(OPERATOR, "v1beta2", "Manifest", "manifests"),
        *(Collection("", "v1", kind, f"{kind.lower()}s") for kind in ("ConfigMap", "Secret")),
        *(Collection("apps", "v1", kind, f"{kind.lower()}s") for kind in ("Deployment", "StatefulSet", "DaemonSet")),
        Collection(
            "apiextensions.k8s.io", "v1", "CustomResourceDefinition", "customresourcedefinitions", namespaced=False
        ),
        streams_lists=streams_lists,
    )
    cluster.put(KYMAS, {"metadata": named("default"), "spec": {"channel": "regular"}})
    for number in range(modules):
        add_module(cluster, f"module{chr(97 + number // 26)}{chr(97 + number % 26)}")
    return cluster


def named(name: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "namespace": NAMESPACE, **more}


def add_module(cluster: Cluster, name: str, *, served: bool = True) -> None:
    """A module of version 1.0.0 in the regular channel, with a resource that is ready where its kind is served."""
    if served:
        serve_module(cluster, name)
    data = {"apiVersion": f"{OPERATOR}/v1alpha1", "kind": name.capitalize(), "metadata": {"name": "default"}}
    spec = {"moduleName": name, "version": "1.0.0", "data": data}
    cluster.put(TEMPLATES, {"metadata": named(f"{name}-1.0.0"), "spec": spec})
    channels = [{"channel": "regular", "version": "1.0.0"}]
    release = {"moduleName": name, "ocmComponentName": f"kyma-project.io/module/{name}", "channels": channels}
    cluster.put(METAS, {"metadata": named(name), "spec": release})


def serve_module(cluster: Cluster, name: str) -> None:
    """Installs the definition of a module's kind, and a resource of it."""
    collection = module_collection(name)
    cluster.add(collection)
    cluster.put(collection.name, {"metadata": named("default"), "status": {"state": "Ready"}})
    cluster.put(DEFINITIONS, {"metadata": {"name": collection.name}})
