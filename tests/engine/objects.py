"""Objects that modules consist of, as small as they can be."""

from __future__ import annotations

from typing import Any

from tests.engine.places import Json


def config_map(name: str, namespace: str = "", **data: str) -> Json:
    return _object("v1", "ConfigMap", name, namespace, data=data)


def secret(name: str, namespace: str = "", **data: str) -> Json:
    return _object("v1", "Secret", name, namespace, stringData=data)


def service_account(name: str, namespace: str = "") -> Json:
    return _object("v1", "ServiceAccount", name, namespace)


def namespace(name: str) -> Json:
    return _object("v1", "Namespace", name)


def cluster_role(name: str, *rules: Json) -> Json:
    return _object("rbac.authorization.k8s.io/v1", "ClusterRole", name, rules=list(rules))


def rule(resource: str, *verbs: str) -> Json:
    plural, _, group = resource.partition(".")
    return {"apiGroups": [group], "resources": [plural], "verbs": list(verbs)}


def deployment(name: str, namespace: str = "", *, image: str = "registry.example/manager:1.0.0", **spec: Any) -> Json:
    labels = {"app": name}
    pod = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "manager", "image": image}]}}
    return _object(
        "apps/v1", "Deployment", name, namespace, spec={"selector": {"matchLabels": labels}, "template": pod, **spec}
    )


def job(name: str, namespace: str = "", *, fails: bool = False) -> Json:
    image = "registry.example/failing:1.0.0" if fails else "registry.example/job:1.0.0"
    pod = {"restartPolicy": "Never", "containers": [{"name": "job", "image": image}]}
    return _object("batch/v1", "Job", name, namespace, spec={"template": {"spec": pod}, "backoffLimit": 0})


def definition(group: str, kind: str, *, scope: str = "Namespaced", version: str = "v1") -> Json:
    plural = f"{kind.lower()}s"
    open_object = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    schema = {"type": "object", "properties": {"spec": open_object, "status": open_object}}
    return _object(
        "apiextensions.k8s.io/v1",
        "CustomResourceDefinition",
        f"{plural}.{group}",
        spec={
            "group": group,
            "scope": scope,
            "names": {"kind": kind, "plural": plural, "singular": kind.lower(), "listKind": f"{kind}List"},
            "versions": [{"name": version, "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}],
        },
    )


def custom(group: str, kind: str, name: str, namespace: str = "", **spec: Any) -> Json:
    return _object(f"{group}/v1", kind, name, namespace, spec=spec)


def _object(api_version: str, kind: str, name: str, namespace: str = "", **rest: Any) -> Json:
    metadata = {"name": name, **({"namespace": namespace} if namespace else {})}
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, **rest}
