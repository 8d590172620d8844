"""The simulated installer: parse, label, apply, prune and assess a manifest's objects."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Iterable, Sequence
from typing import Any

import yaml

from kymatui.first_use import dataclass
from kymatui.sandbox.apimachinery.statuses import StatusError
from kymatui.sandbox.controllers.framework.controller_context import ControllerContext
from kymatui.sandbox.controllers.framework.status_conditions import find_condition
from kymatui.sandbox.controllers.framework.store_reader import Obj
from kymatui.sandbox.world.lifecycle.kind_index import KindIndex

APPLIER = "declarative.kyma-project.io/applier"
OWNED_BY = "deprecated-operator.kyma-project.io/owned-by"
DISCLAIMER = "operator.kyma-project.io/managed-by-reconciler-disclaimer"
LAST = frozenset(
    {
        "CustomResourceDefinition",
        "Namespace",
        "ServiceAccount",
        "Role",
        "ClusterRole",
        "RoleBinding",
        "ClusterRoleBinding",
        "Service",
        "Deployment",
    }
)
YAML_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_ROLLING = {"NewReplicaSetCreated", "FoundNewReplicaSet", "ReplicaSetUpdated", "NewReplicaSetAvailable"}


def unpack(content: bytes, source_type: str) -> bytes:
    """Return the manifest's text: the blob itself, or the first file of a tar archive."""
    if source_type != "oci-dir":
        return content
    with tarfile.open(fileobj=io.BytesIO(content)) as archive:
        for member in archive:
            if member.isfile() and not member.name.rpartition("/")[2].startswith("._"):
                found = archive.extractfile(member)
                if found is not None:
                    return found.read()
    raise ValueError("the layer holds no file")


def parse(text: bytes) -> list[Obj]:
    """Return the objects of a multi-document YAML; lists are flattened, duplicates dropped."""
    seen: set[tuple[str, ...]] = set()
    found: list[Obj] = []
    for document in yaml.load_all(text, Loader=YAML_LOADER):
        items = (
            document.get("items", []) if isinstance(document, dict) and document.get("kind") == "List" else [document]
        )
        for obj in items:
            if not isinstance(obj, dict) or "kind" not in obj:
                continue
            metadata = obj.get("metadata") or {}
            identity = (obj["apiVersion"], obj["kind"], metadata.get("namespace", ""), metadata.get("name", ""))
            if identity not in seen:
                seen.add(identity)
                found.append(obj)
    return found


@dataclass(frozen=True)
class Installer:
    """Installs objects in one cluster; `manager` is the field manager."""

    context: ControllerContext
    kinds: KindIndex
    manager: str = APPLIER

    def marked(self, objects: Iterable[Obj], owner: str, component: str) -> list[Obj]:
        """Return the objects with lifecycle-manager's labels and annotations."""
        found: list[Obj] = []
        for obj in objects:
            metadata = dict(obj.get("metadata") or {})
            metadata["labels"] = {
                **(metadata.get("labels") or {}),
                "operator.kyma-project.io/managed-by": "kyma",
                "app.kubernetes.io/component": component,
                "app.kubernetes.io/part-of": "Kyma",
            }
            metadata["annotations"] = {
                **(metadata.get("annotations") or {}),
                OWNED_BY: owner,
                DISCLAIMER: "This resource is managed by Kyma: changes to it are undone.",
            }
            found.append({**obj, "metadata": metadata})
        return found

    def apply(self, objects: Sequence[Obj]) -> bool:
        """Apply all objects, CRDs and namespaces first; return False if a kind is not served yet."""
        first = [o for o in objects if o["kind"] in ("CustomResourceDefinition", "Namespace")]
        rest = [o for o in objects if o["kind"] not in ("CustomResourceDefinition", "Namespace")]
        client = self.context.client.named(self.manager)
        for obj in [*first, *rest]:
            found = self.kinds.find(obj["apiVersion"], obj["kind"])
            if found is None:
                return False
            resource, namespaced = found
            namespace = (obj["metadata"].get("namespace") or "default") if namespaced else ""
            version = obj["apiVersion"].rpartition("/")[2]
            try:
                client.patch(
                    resource,
                    obj["metadata"]["name"],
                    obj,
                    namespace=namespace,
                    type="apply",
                    force=True,
                    version=version,
                )
            except LookupError:
                return False
        return True

    def identities(self, objects: Iterable[Obj]) -> list[dict[str, str]]:
        """Return the status.synced entries of the objects."""
        found: list[dict[str, str]] = []
        for obj in objects:
            group, _, version = obj["apiVersion"].rpartition("/")
            known = self.kinds.find(obj["apiVersion"], obj["kind"])
            namespaced = known is None or known[1]
            namespace = (obj["metadata"].get("namespace") or "default") if namespaced else ""
            name = obj["metadata"]["name"]
            found.append(
                {"group": group, "version": version, "kind": obj["kind"], "name": name, "namespace": namespace}
            )
        return found

    def read(self, identity: dict[str, str]) -> Obj | None:
        """Return the live object of an identity."""
        resource = self._resource(identity)
        return self.context.observer.get(resource, (identity["namespace"], identity["name"])) if resource else None

    def prune(self, identities: Sequence[dict[str, str]]) -> bool:
        """Delete in two phases (CRDs and other prerequisites last); return whether nothing is left."""
        targets = [i for i in identities if (i["kind"], i["name"]) != ("Namespace", "kyma-system")]
        early = [i for i in targets if i["kind"] not in LAST]
        for phase in (early, [i for i in targets if i["kind"] in LAST]):
            left = [obj for i in phase if (obj := self._delete(i)) is not None]
            if left:
                return False
        return True

    def _delete(self, identity: dict[str, str]) -> Obj | None:
        found = self.read(identity)
        if found is None:
            return None
        if not found["metadata"].get("deletionTimestamp"):
            self.context.delete(self._resource(identity), found)
        return self.read(identity)

    def unlabel(self, identities: Sequence[dict[str, str]]) -> None:
        """Remove the label managed-by from objects that become unmanaged."""
        client = self.context.client.named(self.manager)
        patch: Any = {"metadata": {"labels": {"operator.kyma-project.io/managed-by": None}}}
        for identity in identities:
            if self.read(identity) is not None:
                client.patch(self._resource(identity), identity["name"], patch, namespace=identity["namespace"])

    def _resource(self, identity: dict[str, str]) -> str:
        api_version = f"{identity['group']}/{identity['version']}" if identity["group"] else identity["version"]
        found = self.kinds.find(api_version, identity["kind"])
        return found[0] if found else ""

    # -- state

    def manager_state(self, objects: Sequence[Obj]) -> str:
        """Return Ready, Processing or Error from the first Deployment or StatefulSet only."""
        first = next((o for o in objects if o["kind"] in ("Deployment", "StatefulSet")), None)
        if first is None:
            return "Ready"
        [identity] = self.identities([first])
        live = self.read(identity)
        status = (live or {}).get("status") or {}
        if first["kind"] == "StatefulSet":
            wanted = (live or {}).get("spec", {}).get("replicas", 1)
            return "Ready" if status.get("readyReplicas", 0) == wanted else "Processing"
        available = find_condition(status.get("conditions"), "Available")
        progressing = find_condition(status.get("conditions"), "Progressing")
        if progressing is None or progressing["status"] != "True":
            return "Processing" if not status.get("conditions") else "Error"
        done = progressing.get("reason") == "NewReplicaSetAvailable"
        if done and available is not None and available["status"] == "True":
            return "Ready"
        return "Processing" if progressing.get("reason") in _ROLLING else "Error"

    def ensure(self, resource: Obj) -> bool:
        """Create the default CR if it is missing; return False if its kind is not served yet."""
        found = self.kinds.find(resource["apiVersion"], resource["kind"])
        if found is None:
            return False
        name, namespaced = found
        metadata = resource["metadata"]
        namespace = metadata.get("namespace", "") if namespaced else ""
        if self.context.observer.get(name, (namespace, metadata["name"])) is not None:
            return True
        client = self.context.client.named("resource.kyma-project.io/finalizer")
        try:
            client.create(name, resource, namespace=namespace)
        except LookupError:
            return False
        except StatusError as error:
            if error.reason != "AlreadyExists":
                raise
        return True
