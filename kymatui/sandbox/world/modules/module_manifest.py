"""The manifest of a module version: all objects of its installation, with the schemas of its CRDs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import yaml

from kymatui.sandbox.world.modules.sample_module import SampleModule

Schema = dict[str, Any]

STRING: Schema = {"type": "string"}
INTEGER: Schema = {"type": "integer", "format": "int64"}
ANYTHING: Schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
TIME: Schema = {"type": "string", "format": "date-time"}


def text(description: str = "", **more: Any) -> Schema:
    schema: Schema = {"type": "string", **more}
    return {**schema, "description": description} if description else schema


def choice(values: Sequence[str], **more: Any) -> Schema:
    return {"type": "string", "enum": list(values), **more}


def record(properties: dict[str, Schema], required: Sequence[str] = (), **more: Any) -> Schema:
    schema: Schema = {"type": "object", "properties": properties, **more}
    if required:
        schema["required"] = list(required)
    return schema


def items(schema: Schema, key: str = "", **more: Any) -> Schema:
    """Return a list schema; with `key`, a list map."""
    array: Schema = {"type": "array", "items": schema, **more}
    if key:
        array.update({"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": [key]})
    return array


def conditions() -> Schema:
    """Return the schema of a list of metav1.Condition by type."""
    condition = record(
        {
            "type": text(
                pattern=r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?"
                r"(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$",
                maxLength=316,
            ),
            "status": choice(["True", "False", "Unknown"]),
            "reason": text(pattern=r"^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$", minLength=1, maxLength=1024),
            "message": text(maxLength=32768),
            "observedGeneration": {**INTEGER, "minimum": 0},
            "lastTransitionTime": TIME,
        },
        ["type", "status", "reason", "message", "lastTransitionTime"],
    )
    return items(condition, "type")


AGE_COLUMN: Schema = {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"}
STATE_COLUMN: Schema = {"name": "State", "type": "string", "jsonPath": ".status.state"}


def version_of(
    name: str,
    spec: Schema | None,
    status: Schema | None,
    *,
    columns: Sequence[Schema] = (AGE_COLUMN,),
    required: Sequence[str] = (),
) -> Schema:
    """Return one version of a CRD; a status enables the status subresource."""
    properties: dict[str, Schema] = {"apiVersion": STRING, "kind": STRING, "metadata": {"type": "object"}}
    if spec is not None:
        properties["spec"] = spec
    if status is not None:
        properties["status"] = status
    version_entry: Schema = {
        "name": name,
        "served": True,
        "storage": True,
        "additionalPrinterColumns": list(columns),
        "schema": {"openAPIV3Schema": record(properties, required)},
    }
    return {**version_entry, "subresources": {"status": {}}} if status is not None else version_entry


def definition(
    group: str,
    kind: str,
    plural: str,
    versions: Sequence[Schema],
    *,
    namespaced: bool = True,
    categories: Sequence[str] = (),
) -> Schema:
    """Return a CustomResourceDefinition."""
    names: Schema = {"kind": kind, "listKind": f"{kind}List", "plural": plural, "singular": kind.lower()}
    if categories:
        names["categories"] = list(categories)
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {
            "group": group,
            "names": names,
            "scope": "Namespaced" if namespaced else "Cluster",
            "versions": list(versions),
        },
    }


Obj = dict[str, Any]


def manifest_objects(module: SampleModule, version: str) -> list[Obj]:
    """Return the objects of a module version in the order of a release manifest."""
    objects: list[Obj] = []
    if module.namespace != "kyma-system":
        objects.append({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": module.namespace}})
    objects += definitions_of(module)
    objects += [_service_account(module), *_roles(module), _configuration(module, version)]
    if version == module.versions[0] and len(module.versions) > 1:
        objects.append(_legacy(module))
    objects += [_metrics(module), manager(module, version)]
    return objects


_DUMPER: Any = getattr(yaml, "CSafeDumper", yaml.SafeDumper)


class _PlainDumper(_DUMPER):  # type: ignore[misc, unused-ignore]
    """Writes shared parts each time, because manifests have no YAML anchors."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def dump(*objects: Any) -> str:
    """Return objects as YAML documents separated by `---`."""
    return yaml.dump_all(objects, Dumper=_PlainDumper, sort_keys=False, explicit_start=len(objects) > 1, width=10_000)


def manifest_text(module: SampleModule, version: str) -> str:
    """Return the manifest as YAML documents separated by `---`."""
    return dump(*manifest_objects(module, version))


def definitions_of(module: SampleModule) -> list[Obj]:
    """Return the CRDs of a module: its module CR, and the kinds that users create."""
    own = module.resource
    definitions = [module_definition(own.group, own.kind, own.plural, own.version)]
    return definitions + [user_definition(k.group, k.kind, k.plural, k.version) for k in module.user_kinds]


def default_resource(module: SampleModule) -> Obj:
    """Return the default CR of a template."""
    return {
        "apiVersion": module.resource.api_version,
        "kind": module.resource.kind,
        "metadata": {"name": module.resource_name, "namespace": module.namespace},
        "spec": dict(module.spec),
    }


def labels(module: SampleModule) -> dict[str, str]:
    return {
        "app.kubernetes.io/name": module.manager_name,
        "app.kubernetes.io/part-of": module.name,
        "kyma-project.io/module": module.name,
    }


def _metadata(module: SampleModule, name: str, *, namespaced: bool = True) -> Obj:
    metadata: Obj = {"name": name, "labels": labels(module)}
    return {**metadata, "namespace": module.namespace} if namespaced else metadata


def _service_account(module: SampleModule) -> Obj:
    return {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": _metadata(module, module.manager_name)}


def _roles(module: SampleModule) -> list[Obj]:
    kinds = (module.resource, *module.user_kinds)
    rules: list[Obj] = [
        {
            "apiGroups": sorted({k.group for k in kinds}),
            "resources": sorted({name for k in kinds for name in (k.plural, f"{k.plural}/status")}),
            "verbs": ["create", "delete", "get", "list", "patch", "update", "watch"],
        },
        {
            "apiGroups": ["apps"],
            "resources": ["deployments"],
            "verbs": ["create", "delete", "get", "list", "patch", "update", "watch"],
        },
        {"apiGroups": [""], "resources": ["events"], "verbs": ["create", "patch"]},
    ]
    if module.needs_secret:
        rules.append({"apiGroups": [""], "resources": ["secrets"], "verbs": ["get", "list", "watch"]})
    role = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": _metadata(module, f"{module.manager_name}-role", namespaced=False),
        "rules": rules,
    }
    binding = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRoleBinding",
        "metadata": _metadata(module, f"{module.manager_name}-rolebinding", namespaced=False),
        "roleRef": {
            "apiGroup": "rbac.authorization.k8s.io",
            "kind": "ClusterRole",
            "name": f"{module.manager_name}-role",
        },
        "subjects": [{"kind": "ServiceAccount", "name": module.manager_name, "namespace": module.namespace}],
    }
    return [role, binding]


def _configuration(module: SampleModule, version: str) -> Obj:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": _metadata(module, f"{module.manager_name}-config"),
        "data": {"config.yaml": f"module: {module.name}\nversion: {version}\nlogLevel: info\n"},
    }


def _legacy(module: SampleModule) -> Obj:
    """Return an object that only the first version has, so that an upgrade prunes it."""
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": _metadata(module, f"{module.manager_name}-migration"),
        "data": {"note": "kept for clusters that come from an older release"},
    }


def _metrics(module: SampleModule) -> Obj:
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": _metadata(module, f"{module.manager_name}-metrics"),
        "spec": {
            "selector": {"app.kubernetes.io/name": module.manager_name},
            "ports": [{"name": "metrics", "port": 8080, "targetPort": "metrics"}],
        },
    }


def manager(module: SampleModule, version: str) -> Obj:
    """Return the workload of the module's manager."""
    pod = {
        "serviceAccountName": module.manager_name,
        "securityContext": {"runAsNonRoot": True},
        "containers": [
            {
                "name": "manager",
                "image": module.image(version),
                "args": ["--leader-elect", "--metrics-bind-address=:8080"],
                "env": [{"name": "MODULE_VERSION", "value": version}],
                "ports": [{"name": "metrics", "containerPort": 8080}],
                "livenessProbe": {"httpGet": {"path": "/healthz", "port": 8081}},
                "readinessProbe": {"httpGet": {"path": "/readyz", "port": 8081}},
                "resources": {
                    "requests": {"cpu": "10m", "memory": "64Mi"},
                    "limits": {"cpu": "500m", "memory": "256Mi"},
                },
                "securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}},
            }
        ],
        "terminationGracePeriodSeconds": 10,
    }
    metadata = _metadata(module, module.manager_name)
    metadata["labels"] = {**metadata["labels"], "app.kubernetes.io/version": version}
    spec: Obj = {
        "replicas": 1,
        "selector": {"matchLabels": {"app.kubernetes.io/name": module.manager_name}},
        "template": {"metadata": {"labels": labels(module)}, "spec": pod},
    }
    if version in module.broken:
        # Long enough to see the rollout; a real cluster's ten minutes are too long for a demonstration.
        spec["progressDeadlineSeconds"] = 2
    if module.stateful:
        spec["serviceName"] = f"{module.manager_name}-metrics"
    return {"apiVersion": "apps/v1", "kind": module.manager_kind, "metadata": metadata, "spec": spec}


def operand(module: SampleModule, name: str, version: str) -> Obj:
    """Return a workload that the module's operator creates for its module CR."""
    selector = {"app.kubernetes.io/name": name, "kyma-project.io/module": module.name}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": module.namespace, "labels": selector},
        "spec": {
            "replicas": 1,
            "selector": {"matchLabels": selector},
            "template": {
                "metadata": {"labels": selector},
                "spec": {
                    "containers": [{"name": name, "image": module.workload_image(name, version)}],
                    "terminationGracePeriodSeconds": 5,
                },
            },
        },
    }


# CRDs of sample modules and of the kinds that their users create.


STATES = ("", "Processing", "Deleting", "Ready", "Error", "Warning", "Unmanaged")


def module_definition(group: str, kind: str, plural: str, version: str) -> Schema:
    """Return the CRD of a module CR: any spec, and a status with state and conditions."""
    status = {
        **record(
            {"state": choice(STATES), "conditions": conditions(), "served": STRING, "observedGeneration": INTEGER}
        ),
        "x-kubernetes-preserve-unknown-fields": True,
    }
    main_version = version_of(version, ANYTHING, status, columns=(STATE_COLUMN, AGE_COLUMN))
    return definition(group, kind, plural, [main_version], categories=["kyma-modules"])


def user_definition(group: str, kind: str, plural: str, version: str) -> Schema:
    """Return the CRD of a kind that users create: any spec, and a status column."""
    known = record({"state": STRING, "conditions": conditions()})
    status = {**known, "x-kubernetes-preserve-unknown-fields": True}
    ready = {"name": "Status", "type": "string", "jsonPath": ".status.state"}
    return definition(group, kind, plural, [version_of(version, ANYTHING, status, columns=(ready, AGE_COLUMN))])
