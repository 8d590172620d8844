"""`kymatui manifest`, and the deletion of what a Manifest installs, with an intruder between the plan and its yes.

Beside what he does elsewhere (`tests.cli.unseen`) he sets the skip label, adds a finalizer, or deletes a Manifest that
a finalizer blocks. The cluster has no lifecycle-manager, and no operator runs: only the command and the intruder write.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import yaml

from kymatui.adapters.oci.registry import Registry
from kymatui.crds import read_crds
from kymatui.domain.kubernetes.object_meta import LABEL_MODULE_NAME, LABEL_SKIP, OPERATOR
from kymatui.domain.kubernetes.refs import GroupVersionKind, ObjectRef
from kymatui.engine.cluster.ports import Cluster, PatchKind
from tests.cli.intruding import MARK, Json, Stage
from tests.cli.unseen import Left, Target, Targets, Walk
from tests.engine.objects import config_map
from tests.integration.embedded import eventually

KIND = GroupVersionKind(OPERATOR, "v1beta2", "Manifest")
MODULES, VERSIONS = ("cache", "queue"), ("1.0.0", "1.1.0")
HELD = "example.org/held"
SORTS = ("change", "delete", "replace", "skip", "finalizer", "terminate")


def offer(cluster: Cluster, registry: str, modules: Sequence[str] = MODULES) -> None:
    """Makes the modules known to a bare cluster: their kinds, and a template for each version."""
    cluster.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "modules"}})
    for body in read_crds():
        cluster.apply(body)

    def is_served() -> bool:
        cluster.forget_kinds()
        return cluster.kind(KIND) is not None

    eventually(is_served, "templates are served")
    for name in modules:
        for version in VERSIONS:
            content = yaml.safe_dump_all([config_map(name, "modules", version=version)]).encode()
            cluster.apply(template(registry, name, version, push(registry, name, content)))


def push(registry: str, name: str, content: bytes) -> str:
    """Push a layer of a module's component; its digest."""
    where = f"{registry}/modules/component-descriptors/kyma-project.io/module/{name}"
    return Registry(insecure=True).push_blob(where, content, "application/yaml").digest


def template(registry: str, name: str, version: str, digest: str, manager: Json | None = None) -> Json:
    """A template that says both where its manifest is, and in which layer of which component."""
    component_name = f"kyma-project.io/module/{name}"
    where = f"modules/component-descriptors/{component_name}"
    access = {"type": "localBlob", "localReference": digest, "mediaType": "application/yaml"}
    layer = {"name": "raw-manifest", "version": version, "type": "yaml", "relation": "local", "access": access}
    component = {
        "name": component_name,
        "version": version,
        "provider": "modules.example",
        "repositoryContexts": [{"type": "OCIRegistry", "baseUrl": f"http://{registry}", "subPath": "modules"}],
        "sources": [],
        "componentReferences": [],
        "resources": [layer],
    }
    manager = manager or {"group": "", "version": "v1", "kind": "ConfigMap"}
    spec = {
        "moduleName": name,
        "version": version,
        "descriptor": {"meta": {"schemaVersion": "v2"}, "component": component},
        "resources": [{"name": "rawManifest", "link": f"http://{registry}/v2/{where}/blobs/{digest}"}],
        "manager": {**manager, "namespace": "modules", "name": name},
    }
    metadata = {"name": f"{name}-{version}", "namespace": "modules"}
    return {"apiVersion": f"{OPERATOR}/v1beta2", "kind": "ModuleTemplate", "metadata": metadata, "spec": spec}


def ref(module: str) -> ObjectRef:
    return ObjectRef(KIND, "modules", module)


class Installed(Target):
    """The Manifest of a module, with all that the intruder may do to one."""

    def __init__(self, module: str) -> None:
        source = {"repo": "registry.example/theirs", "name": module, "ref": "sha256:" + "0" * 64, "type": "oci-ref"}
        spec = {"remote": False, "version": "0.9.0", "install": {"name": "raw-manifest", "source": source}}
        super().__init__(ref(module), {"spec": spec})
        self._at = ref(module)

    @property
    def body(self) -> Json:
        made = super().body
        made["metadata"]["labels"] = {LABEL_MODULE_NAME: self.name}
        return made

    def left(self, stage: Stage) -> Left:
        """What is being deleted counts as deleted, but for the finalizer that somebody set."""
        metadata = (stage.cluster.get(self._at) or {}).get("metadata") or {}
        finalizers = metadata.get("finalizers") or []
        if metadata.get("deletionTimestamp"):
            return Left(None if finalizers == [HELD] else f"finalizers {finalizers}")
        found = super().left(stage)
        return Left((found.value, finalizers), found.uid) if metadata else found

    def act(self, stage: Stage, sort: str) -> None:
        if sort == "skip":
            self._patch(stage, {"labels": {LABEL_SKIP: "true"}})
        elif sort in ("finalizer", "terminate"):
            self._patch(stage, {"finalizers": [HELD]})
            if sort == "terminate":
                stage.cluster.delete(self._at)
        else:
            super().act(stage, sort)

    def _patch(self, stage: Stage, metadata: Json) -> None:
        stage.cluster.patch(self._at, {"metadata": metadata}, PatchKind.MERGE, manager=MARK)


def manifest_of(module: str) -> Callable[[Stage], Target]:
    return lambda stage: Installed(module)


def bare(stage: Stage) -> None:
    """No Manifest is left of an earlier walk."""
    for module in MODULES:
        if stage.cluster.get(ref(module)) is not None:
            stage.cluster.patch(ref(module), {"metadata": {"finalizers": None}}, PatchKind.MERGE, manager=MARK)
            if stage.cluster.get(ref(module)) is not None:
                stage.cluster.delete(ref(module))


def written(stage: Stage) -> None:
    """Manifests of a lower version are there."""
    bare(stage)
    for module in MODULES:
        body = Installed(module).body
        stage.cluster.create(body, manager="kymatui")


def _every(module: str, *sorts: str) -> Targets:
    return {sort: manifest_of(module) for sort in sorts}


def _words(*names: str) -> Callable[[Stage], list[str]]:
    return lambda stage: ["manifest", *names, "--no-wait", "--force"]


MANIFESTS: tuple[Walk, ...] = (
    Walk("manifest", bare, _words("cache"), _every("cache", "create")),
    Walk("manifest-upgrade", written, _words("cache"), _every("cache", *SORTS)),
    Walk("manifest-several", bare, _words(*MODULES), _every("queue", "create")),
    Walk("manifest-upgrade-several", written, _words(*MODULES), _every("queue", *SORTS)),
    Walk(
        "delete-manifest",
        written,
        lambda stage: ["delete", "cache", "--timeout", "2"],
        _every("cache", *SORTS),
        deletes=True,
    ),
    Walk(
        "delete-manifests",
        written,
        lambda stage: ["delete", *MODULES, "--timeout", "2"],
        _every("queue", *SORTS),
        deletes=True,
    ),
)


def walks(names: Sequence[str] = ()) -> Iterator[tuple[Walk, str]]:
    """Each flow with each of its intruders."""
    for flow in MANIFESTS:
        if not names or flow.name in names:
            yield from ((flow, sort) for sort in flow.targets)


def new_stage(kubeconfig: Path, folder: Path, registry: str) -> Stage:
    """A stage on an empty cluster that offers the modules."""
    stage = Stage(kubeconfig, folder)
    offer(stage.cluster, registry)
    return stage
