"""Plain objects for the tests of the domain, as short as they can be and still be real."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from kymatui.domain.kubernetes.refs import GroupVersionKind
from kymatui.domain.kyma.kymas import Kyma, read_kyma
from kymatui.domain.kyma.module_templates import ModuleTemplate, StateCheckRule, read_template
from kymatui.domain.kyma.template_index import TemplateIndex, index_templates
from kymatui.domain.snapshot.snapshots import Snapshot

API = "operator.kyma-project.io/v1beta2"
PREFIX = "operator.kyma-project.io/"
NOW = datetime(2026, 11, 21, 12, 0, tzinfo=UTC).timestamp()
SAMPLE = GroupVersionKind("operator.kyma-project.io", "v1alpha1", "Sample")

Json = dict[str, Any]


def stamp(seconds_ago: float) -> str:
    """An RFC 3339 time that lies before NOW."""
    return datetime.fromtimestamp(NOW - seconds_ago, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def labels(**values: str) -> dict[str, str]:
    """Labels of lifecycle-manager: `labels(beta="true")`."""
    return {PREFIX + name.replace("_", "-"): value for name, value in values.items()}


def kyma(
    modules: Sequence[Json] = (),
    *,
    channel: str = "regular",
    status: Sequence[Json] = (),
    state: str = "Ready",
    name: str = "default",
    namespace: str = "kyma-system",
    labelled: Mapping[str, str] | None = None,
    skip_windows: bool = False,
    operation: str = "",
) -> Json:
    spec: Json = {"channel": channel, "modules": list(modules)}
    if skip_windows:
        spec["skipMaintenanceWindows"] = True
    return {
        "apiVersion": API,
        "kind": "Kyma",
        "metadata": {"name": name, "namespace": namespace, "labels": dict(labelled or {})},
        "spec": spec,
        "status": {"state": state, "modules": list(status)}
        | ({"lastOperation": {"operation": operation}} if operation else {}),
    }


def report(name: str, version: str, state: str = "Ready", *, channel: str = "regular", **more: Any) -> Json:
    """An entry of a Kyma's status; `template=None` leaves the reference out."""
    tracked = {"apiVersion": API, "kind": "ModuleTemplate", "metadata": {"name": f"{name}-{version}"}}
    entry = {"name": name, "version": version, "state": state, "channel": channel, "template": tracked, **more}
    return {key: value for key, value in entry.items() if value is not None}


def meta(
    module: str, channels: Mapping[str, str] | None = None, *, namespace: str = "kyma-system", **spec: Any
) -> Json:
    content: Json = {"moduleName": module, "ocmComponentName": f"kyma-project.io/module/{module}", **spec}
    if channels is not None:
        content["channels"] = [{"channel": channel, "version": version} for channel, version in channels.items()]
    return {
        "apiVersion": API,
        "kind": "ModuleReleaseMeta",
        "metadata": {"name": module, "namespace": namespace},
        "spec": content,
    }


def template(
    module: str,
    version: str,
    *,
    name: str = "",
    namespace: str = "kyma-system",
    labelled: Mapping[str, str] | None = None,
    data: Json | None = None,
    manager: bool = True,
    **spec: Any,
) -> Json:
    """A new-style template, labelled as the catalog sync labels it."""
    content: Json = {"moduleName": module, "version": version, "descriptor": {}, **spec}
    content["data"] = data if data is not None else default_data(module)
    if manager:
        content["manager"] = {
            "group": "apps",
            "version": "v1",
            "kind": "Deployment",
            "namespace": "kyma-system",
            "name": f"{module}-manager",
        }
    return {
        "apiVersion": API,
        "kind": "ModuleTemplate",
        "metadata": {
            "name": name or f"{module}-{version}",
            "namespace": namespace,
            "labels": {**labels(managed_by="kyma"), **(labelled or {})},
        },
        "spec": content,
    }


def community_template(module: str, version: str, *, namespace: str = "default", **more: Any) -> Json:
    """A template that a user applied: no label of the sync."""
    found = template(module, version, namespace=namespace, **more)
    del found["metadata"]["labels"][PREFIX + "managed-by"]
    return found


def old_template(
    name: str,
    module: str,
    channel: str,
    version: str,
    *,
    namespace: str = "kyma-system",
    labelled: Mapping[str, str] | None = None,
    **spec: Any,
) -> Json:
    """An old-style template: a channel, and a whole descriptor."""
    component = {"name": f"kyma-project.io/module/{module}", "version": version, "resources": []}
    content: Json = {"descriptor": {"component": component}, "data": default_data(module), **spec}
    if channel:
        content["channel"] = channel
    return {
        "apiVersion": API,
        "kind": "ModuleTemplate",
        "metadata": {
            "name": name,
            "namespace": namespace,
            "labels": labels(module_name=module) if labelled is None else dict(labelled),
        },
        "spec": content,
    }


def default_data(module: str) -> Json:
    return {"apiVersion": SAMPLE.api_version, "kind": kind_of(module), "metadata": {"name": "default"}}


def kind_of(module: str) -> str:
    return "".join(part.capitalize() for part in module.split("-"))


def gvk(module: str) -> GroupVersionKind:
    return GroupVersionKind(SAMPLE.group, SAMPLE.version, kind_of(module))


def resource(module: str, state: str | None = "Ready", *, name: str = "default", **metadata: Any) -> Json:
    """A module's own resource; without a state it has no status at all."""
    found: Json = {
        "apiVersion": SAMPLE.api_version,
        "kind": kind_of(module),
        "metadata": {"name": name, "namespace": "kyma-system", "creationTimestamp": stamp(3600), **metadata},
    }
    if state is not None:
        found["status"] = {"state": state}
    return found


def deployment(
    module: str,
    tag: str,
    *,
    ready: bool = True,
    name: str = "",
    namespace: str = "kyma-system",
    image: str = "",
    age: float = 86400.0,
    **metadata: Any,
) -> Json:
    """A manager: rolled out, or with its pod not available for an hour."""
    word = "True" if ready else "False"
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {
            "name": name or f"{module}-manager",
            "namespace": namespace,
            "creationTimestamp": stamp(age),
            "generation": 1,
            **metadata,
        },
        "spec": {
            "replicas": 1,
            "template": {
                "spec": {"containers": [{"name": "manager", "image": image or f"reg.io/prod/{module}:{tag}"}]}
            },
        },
        "status": {
            "observedGeneration": 1,
            "replicas": 1,
            "updatedReplicas": 1,
            "readyReplicas": int(ready),
            "availableReplicas": int(ready),
            "conditions": [
                {"type": "Available", "status": word, "reason": "R", "lastTransitionTime": stamp(3600)},
                {"type": "Progressing", "status": "True", "reason": "NewReplicaSetAvailable"},
            ],
        },
    }


def manifest(module: str, version: str, state: str = "Ready", *, owner: str = "default", **more: Any) -> Json:
    return {
        "apiVersion": API,
        "kind": "Manifest",
        "metadata": {
            "name": f"{owner}-{module}-1",
            "namespace": "kyma-system",
            "creationTimestamp": stamp(7200),
            "labels": labels(kyma_name=owner, module_name=module, channel="regular"),
            **more,
        },
        "spec": {"version": version, "remote": True},
        "status": {"state": state},
    }


def snapshot(**more: Any) -> Snapshot:
    values: dict[str, Any] = {name: tuple(v) if isinstance(v, list) else v for name, v in more.items()}
    return Snapshot("test", **values)


def shelf(*objects: Json, namespace: str = "kyma-system") -> TemplateIndex:
    """Templates and release metas, told apart by their kinds."""
    return index_templates(
        [raw for raw in objects if raw["kind"] == "ModuleTemplate"],
        [raw for raw in objects if raw["kind"] == "ModuleReleaseMeta"],
        namespace,
    )


def a_kyma(*args: Any, **more: Any) -> Kyma:
    found = read_kyma(kyma(*args, **more))
    assert isinstance(found, Kyma)
    return found


def a_template(raw: Json) -> ModuleTemplate:
    found = read_template(raw)
    assert isinstance(found, ModuleTemplate)
    return found


def rules(*entries: tuple[str, str, str]) -> tuple[StateCheckRule, ...]:
    return tuple(StateCheckRule(*entry) for entry in entries)
