"""An operator on a control plane, people who may write in other namespaces than the Kymas', and their charts."""

from __future__ import annotations

import io
import tarfile
from typing import Any

from kymatui.adapters.kube.auth.kubeconfig import AccessOverrides
from kymatui.domain.kubernetes.refs import GroupVersionKind, ObjectRef
from kymatui.sessions.cluster.cluster_access import open_cluster
from kymatui.sessions.cluster.session_options import SessionOptions
from tests.adapters.chart_sites import Site
from tests.engine.places import eventually
from tests.integration.operators import HOME, ControlPlane

Json = dict[str, Any]
MANIFEST = GroupVersionKind("operator.kyma-project.io", "v1beta2", "Manifest")
CONFIG_MAP = GroupVersionKind("", "v1", "ConfigMap")
SECRET = GroupVersionKind("", "v1", "Secret")
BINDING = GroupVersionKind("rbac.authorization.k8s.io", "v1", "ClusterRoleBinding")
RBAC = "rbac.authorization.k8s.io"
IGNORED, TENANT = "stranger", "tenant"
ACCOUNT = "deployer"

CLUSTER_ADMIN = """
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: %s}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cluster-admin}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: mallory}]
"""


def config_map(name: str, namespace: str, value: str = "x") -> str:
    return (
        f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}, namespace: {namespace}}}\ndata: {{v: {value}}}\n"
    )


class Intruder:
    """A person who may write Manifests, and what belongs to them, in namespaces other than the Kymas'."""

    def __init__(self, plane: ControlPlane, site: Site) -> None:
        self.plane = plane
        self.site = site
        self._controls = 0
        for namespace in (IGNORED, TENANT):
            plane.kcp.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})
            self.grant(namespace, "User", "mallory", [("operator.kyma-project.io", "*"), ("", "secrets")])
        access = AccessOverrides(impersonated="mallory")
        self.cluster = open_cluster(SessionOptions(str(plane.kubeconfig), "kcp", access=access))

    def grant(self, namespace: str, kind: str, name: str, resources: list[tuple[str, str]]) -> None:
        """Allow everything on resources (group, plural) of a namespace."""
        role = f"{name}-{len(resources)}-{resources[0][1]}".replace("*", "all")
        metadata = {"name": role, "namespace": namespace}
        rules = [{"apiGroups": [group], "resources": [plural], "verbs": ["*"]} for group, plural in resources]
        subject = {"kind": kind, "name": name, **({"apiGroup": RBAC} if kind == "User" else {"namespace": namespace})}
        self.plane.kcp.apply({"apiVersion": f"{RBAC}/v1", "kind": "Role", "metadata": metadata, "rules": rules})
        reference = {"apiGroup": RBAC, "kind": "Role", "name": role}
        binding = {"kind": "RoleBinding", "metadata": metadata, "roleRef": reference, "subjects": [subject]}
        self.plane.kcp.apply({"apiVersion": f"{RBAC}/v1", **binding})

    def chart(self, name: str, template: str) -> None:
        """Offer a chart with one template in the repository."""
        files = {
            f"{name}/Chart.yaml": f"apiVersion: v2\nname: {name}\nversion: 1.0.0\n",
            f"{name}/templates/a.yaml": template,
        }
        buffer = io.BytesIO()
        with tarfile.open(fileobj=buffer, mode="w:gz") as tar:
            for path, text in files.items():
                member = tarfile.TarInfo(path)
                member.size = len(text)
                tar.addfile(member, io.BytesIO(text.encode()))
        entry = f"{name}:\n  - {{version: 1.0.0, urls: [a.tgz]}}\n"
        self.site.pages[f"/{name}/a.tgz"] = buffer.getvalue()
        self.site.pages[f"/{name}/index.yaml"] = f"apiVersion: v1\nentries:\n  {entry}".encode()

    def manifest(self, name: str, namespace: str, **more: Any) -> Json:
        """A Manifest with the chart of its name, `metadata` and further fields of its spec as given."""
        metadata = {"name": name, "namespace": namespace, **more.pop("metadata", {})}
        source = {"type": "helm-chart", "url": f"{self.site.url}/{name}", "chartName": name}
        spec = {"remote": False, "install": {"name": name, "source": source}, **more}
        return {"apiVersion": MANIFEST.api_version, "kind": "Manifest", "metadata": metadata, "spec": spec}

    def put(self, name: str, namespace: str, template: str = "", **more: Any) -> ObjectRef:
        """Write a Manifest, as the intruder, with a chart of one template."""
        if template:
            self.chart(name, template)
        self.cluster.create(self.manifest(name, namespace, **more))
        return ObjectRef(MANIFEST, namespace, name)

    def let_operator_work(self) -> None:
        """Wait until the operator has installed a Manifest that was written just now, in the Kymas' namespace."""
        self._controls += 1
        name = f"control-{self._controls}"
        self.chart(name, config_map(name, HOME))
        self.plane.kcp.create(self.manifest(name, HOME))
        eventually(lambda: self.plane.kcp.get(ObjectRef(CONFIG_MAP, HOME, name)) is not None, f"{name} is installed")

    def status(self, ref: ObjectRef) -> Json:
        found: Json = (self.plane.kcp.get(ref) or {}).get("status") or {}
        return found

    def reaches(self, ref: ObjectRef, state: str) -> str:
        """Wait for a state; return the operation of the status."""
        eventually(lambda: self.status(ref).get("state") == state, f"{ref} is {state}")
        return str(self.status(ref)["lastOperation"]["operation"])
