"""ModuleTemplates and ModuleReleaseMetas of the sample modules."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from kymatui.sandbox.world.modules.module_manifest import default_resource
from kymatui.sandbox.world.modules.module_packages import CHARTS, PackedModule
from kymatui.sandbox.world.modules.sample_module import ModuleStyle, Packing, SampleModule

API_VERSION = "operator.kyma-project.io/v1beta2"
PREFIX = "operator.kyma-project.io"
MANIFESTS = "manifests.operator.kyma-project.io"
KYMAS = "kymas.operator.kyma-project.io"
TEMPLATES = "moduletemplates.operator.kyma-project.io"
RELEASES = "modulereleasemetas.operator.kyma-project.io"
Obj = dict[str, Any]


def release_meta(module: SampleModule, namespace: str) -> Obj | None:
    """Return the ModuleReleaseMeta of a module of the new style, None for other styles."""
    if module.style is not ModuleStyle.NEW:
        return None
    spec: Obj = {"moduleName": module.name, "ocmComponentName": module.component}
    if module.mandatory:
        spec["mandatory"] = {"version": module.versions[-1]}
    else:
        spec["channels"] = [{"channel": c, "version": v} for c, v in module.channels.items()]
    if module.beta:
        spec["beta"] = True
    if module.internal:
        spec["internal"] = True
    metadata: Obj = {"name": module.name, "namespace": namespace, "labels": _labels(module)}
    if module.mandatory:
        metadata["finalizers"] = [f"{PREFIX}/mandatory-module"]
    return {"apiVersion": API_VERSION, "kind": "ModuleReleaseMeta", "metadata": metadata, "spec": spec}


def templates(
    module: SampleModule, namespace: str, packed: Mapping[str, PackedModule], registry_url: str
) -> Iterator[Obj]:
    """Yield the ModuleTemplates of a module: one per version, or (old style) one per channel."""
    if module.style is ModuleStyle.OLD:
        for channel, version in module.channels.items():
            yield _old_template(module, namespace, channel, version, packed[version])
        return
    for version in module.versions:
        yield _new_template(module, namespace, version, packed[version], registry_url)


def _labels(module: SampleModule) -> dict[str, str]:
    labels = {f"{PREFIX}/module-name": module.name}
    if module.style is not ModuleStyle.COMMUNITY:
        labels[f"{PREFIX}/managed-by"] = "kyma"
    for name, is_set in (("beta", module.beta), ("internal", module.internal), ("mandatory-module", module.mandatory)):
        if is_set:
            labels[f"{PREFIX}/{name}"] = "true"
    return labels


def _new_template(module: SampleModule, namespace: str, version: str, packed: PackedModule, registry_url: str) -> Obj:
    annotations = {f"{PREFIX}/is-cluster-scoped": "false"}
    if module.style is ModuleStyle.COMMUNITY:
        annotations["source"] = f"{registry_url}/v2/{packed.repository}/manifests/{version}"
    metadata = {
        "name": f"{module.name}-{version}",
        "namespace": namespace,
        "labels": _labels(module),
        "annotations": annotations,
    }
    kinds = (module.resource, *module.user_kinds)
    spec: Obj = {
        "moduleName": module.name,
        "version": version,
        "mandatory": module.mandatory,
        "requiresDowntime": version in module.downtime,
        "info": _info(module),
        "data": default_resource(module),
        "associatedResources": [kind.gvk() for kind in kinds],
        "manager": _manager(module),
        "resources": _links(module, version, packed, registry_url),
        "descriptor": {},
    }
    return {"apiVersion": API_VERSION, "kind": "ModuleTemplate", "metadata": metadata, "spec": spec}


def _old_template(module: SampleModule, namespace: str, channel: str, version: str, packed: PackedModule) -> Obj:
    metadata = {
        "name": f"{module.name}-{channel}",
        "namespace": namespace,
        "labels": _labels(module),
        "annotations": {
            f"{PREFIX}/is-cluster-scoped": "false",
            f"{PREFIX}/module-version": version,
            f"{PREFIX}/doc-url": _info(module)["documentation"],
        },
    }
    checks = [{"jsonPath": r.path, "value": r.value, "mappedState": r.state} for r in module.rules]
    spec: Obj = {
        "channel": channel,
        "mandatory": module.mandatory,
        "data": default_resource(module),
        "customStateCheck": checks,
        "descriptor": dict(packed.descriptor),
    }
    return {"apiVersion": API_VERSION, "kind": "ModuleTemplate", "metadata": metadata, "spec": spec}


def _info(module: SampleModule) -> Obj:
    return {
        "repository": f"https://github.com/kyma-project/{module.manager_name}",
        "documentation": f"https://kyma-project.io/#/{module.name}/user/README",
        "icons": [{"name": "module-icon", "link": f"https://example.com/icons/{module.name}.svg"}],
    }


def _manager(module: SampleModule) -> Obj:
    return {
        "group": "apps",
        "version": "v1",
        "kind": module.manager_kind,
        "name": module.manager_name,
        "namespace": module.namespace,
    }


def _links(module: SampleModule, version: str, packed: PackedModule, registry_url: str) -> list[Obj]:
    """Return working links: blobs of the sandbox's registry, charts by their reference."""
    links = [{"name": "rawManifest", "link": f"{registry_url}/v2/{packed.repository}/blobs/{packed.raw}"}]
    host = registry_url.partition("//")[2]
    if module.packing is Packing.CHART:
        links.append({"name": "chart", "link": f"oci://{host}/{CHARTS}/{module.name}:{version}"})
    if packed.kustomization:
        links.append(
            {"name": "kustomization", "link": f"{registry_url}/v2/{packed.repository}/blobs/{packed.kustomization}"}
        )
    return links
