"""What people can reach who may write Manifests, but not in the Kymas' namespace: no more than their own rights."""

from __future__ import annotations

import base64
import contextlib
import json
import socket
import threading
from collections.abc import Iterator
from dataclasses import dataclass

import pytest
import yaml

from kymatui.domain.inventories import ANNOTATION_INSTALLS
from kymatui.domain.kubernetes.object_meta import LABEL_KYMA_NAME, LABEL_MANAGED_BY
from kymatui.domain.kubernetes.refs import GroupVersionKind, ObjectRef
from kymatui.domain.kyma.manifests import FINALIZER, OLD_FINALIZER
from kymatui.engine.cluster.ports import PatchKind
from kymatui.errors import ForbiddenError
from kymatui.operator.monitoring import ignored_manifests
from kymatui.operator.program import OperatorOptions
from tests.adapters.chart_sites import chart_site
from tests.engine.places import eventually
from tests.integration.intruders import (
    ACCOUNT,
    BINDING,
    CLUSTER_ADMIN,
    CONFIG_MAP,
    IGNORED,
    MANIFEST,
    SECRET,
    TENANT,
    Intruder,
    Json,
    config_map,
)
from tests.integration.operators import HOME, KYMA, ControlPlane, RunningOperator, running_operator
from tests.sandboxes.starting import ready_sandbox

pytestmark = pytest.mark.xdist_group("manifest-intruders")
EVENT = GroupVersionKind("", "v1", "Event")
LEASE = GroupVersionKind("coordination.k8s.io", "v1", "Lease")
WATCHER = GroupVersionKind("operator.kyma-project.io", "v1beta2", "Watcher")


@dataclass(frozen=True)
class Walk:
    """A control plane that is its own runtime, an operator with all rights on it, and an intruder."""

    plane: ControlPlane
    operator: RunningOperator
    intruder: Intruder


@pytest.fixture(scope="module")
def walk() -> Iterator[Walk]:
    with ready_sandbox("kcp", "skr") as sandbox, chart_site() as site:
        plane = ControlPlane(sandbox.kubeconfig)
        intruder = Intruder(plane, site)
        options = OperatorOptions(
            namespace=HOME, single_cluster=True, tenants=(TENANT,), account=ACCOUNT, secrets=(f"{HOME}/named",)
        )
        intruder.grant(TENANT, "ServiceAccount", ACCOUNT, GRANTED)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(ignored_manifests, "INTERVAL", 0.5)
            with running_operator(plane, options) as operator:
                yield Walk(plane, operator, intruder)


@pytest.fixture
def plane(walk: Walk) -> ControlPlane:
    return walk.plane


@pytest.fixture
def intruder(walk: Walk) -> Intruder:
    return walk.intruder


def exists(plane: ControlPlane, kind: GroupVersionKind, namespace: str, name: str) -> bool:
    return plane.kcp.get(ObjectRef(kind, namespace, name)) is not None


@pytest.fixture
def victim(plane: ControlPlane) -> Iterator[ObjectRef]:
    """An object that belongs to nobody's Manifest."""
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "victim", "namespace": HOME}}
    plane.kcp.apply(body, force=True)
    ref = ObjectRef(CONFIG_MAP, HOME, "victim")
    yield ref
    plane.kcp.delete(ref)


def synced(ref: ObjectRef) -> Json:
    kind = ref.kind
    place = {"name": ref.name, "namespace": ref.namespace}
    return {"group": kind.group, "version": kind.version, "kind": kind.kind, **place}


def set_status(intruder: Intruder, ref: ObjectRef, status: Json) -> None:
    intruder.plane.kcp.patch(ref, {"status": status}, PatchKind.MERGE, manager="mallory", subresource="status")


# namespaces whose Manifests are not installed


def test_the_intruder_may_do_nothing_in_the_namespace_of_kymas(intruder: Intruder) -> None:
    with pytest.raises(ForbiddenError):
        intruder.cluster.create(intruder.manifest("m", HOME))
    with pytest.raises(ForbiddenError):
        intruder.cluster.list(SECRET, HOME)


OF_A_KYMA = {"labels": {LABEL_KYMA_NAME: "one", LABEL_MANAGED_BY: "kyma"}}


@pytest.mark.parametrize("metadata", [{}, OF_A_KYMA], ids=["own", "of a Kyma"])
def test_a_manifest_of_another_namespace_is_left_as_it_is(walk: Walk, metadata: Json) -> None:
    intruder, plane = walk.intruder, walk.plane
    name = f"escalation-{len(metadata)}"
    ref = intruder.put(name, IGNORED, CLUSTER_ADMIN % name, metadata=metadata)
    before = plane.kcp.get(ref)
    intruder.let_operator_work()
    assert not exists(plane, BINDING, "", name)
    assert plane.kcp.get(ref) == before
    assert not plane.kcp.list(EVENT, IGNORED)


def test_its_deletion_deletes_nothing_and_takes_off_no_finalizer(walk: Walk, victim: ObjectRef) -> None:
    intruder, plane = walk.intruder, walk.plane
    installs = {ANNOTATION_INSTALLS: json.dumps([["x", "control-1", "default"]])}
    metadata = {**OF_A_KYMA, "finalizers": [FINALIZER, OLD_FINALIZER], "annotations": installs}
    intruder.let_operator_work()
    ref = intruder.put("deleted", IGNORED, metadata=metadata)
    set_status(intruder, ref, {"state": "Ready", "synced": [synced(victim)]})
    intruder.cluster.delete(ref)
    intruder.let_operator_work()
    assert exists(plane, CONFIG_MAP, victim.namespace, victim.name)
    assert exists(plane, CONFIG_MAP, HOME, "control-1")
    assert (plane.kcp.get(ref) or {})["metadata"]["finalizers"] == [FINALIZER, OLD_FINALIZER]


def test_kymas_and_watchers_of_other_namespaces_are_left_as_they_are(walk: Walk) -> None:
    intruder, plane = walk.intruder, walk.plane
    metadata = {"name": "mine", "namespace": IGNORED}
    bodies: list[Json] = [
        {"apiVersion": KYMA.api_version, "kind": "Kyma", "metadata": metadata, "spec": {"channel": "regular"}},
        {
            "apiVersion": WATCHER.api_version,
            "kind": "Watcher",
            "metadata": metadata,
            "spec": {
                "serviceInfo": {"name": "s", "namespace": IGNORED, "port": 80},
                "labelsToWatch": {"a": "b"},
                "resourceToWatch": {"group": "", "version": "v1", "resource": "secrets"},
                "field": "spec",
                "gateway": {"selector": {"matchLabels": {"a": "b"}}},
                "manager": "m",
            },
        },
    ]
    before = [intruder.cluster.create(body) for body in bodies]
    intruder.let_operator_work()
    kinds = (KYMA, WATCHER)
    assert [plane.kcp.get(ObjectRef(kind, IGNORED, "mine")) for kind in kinds] == before


def test_what_is_ignored_is_in_the_log(walk: Walk) -> None:
    ref = walk.intruder.put("a-first", IGNORED, config_map("unseen", IGNORED))
    eventually(lambda: any(f"{IGNORED}/a-first" in line for line in walk.operator.told), "it is in the log")
    (line,) = [line for line in walk.operator.told if f"{IGNORED}/a-first" in line]
    assert line.startswith("ignored: ")
    assert walk.intruder.status(ref) == {}


# namespaces with a ServiceAccount


GRANTED = [("", "configmaps"), ("", "secrets"), ("coordination.k8s.io", "leases")]
"""What the account may, all in its own namespace."""


def test_a_manifest_installs_what_its_account_may(plane: ControlPlane, intruder: Intruder) -> None:
    ref = intruder.put("own", TENANT, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: mine}\n")
    intruder.reaches(ref, "Ready")
    live = plane.kcp.get(ObjectRef(CONFIG_MAP, TENANT, "mine")) or {}
    assert live["metadata"]["annotations"]["kymatui.io/manifest"] == f"{TENANT}/own"
    intruder.cluster.delete(ref)
    eventually(lambda: plane.kcp.get(ref) is None, "it is uninstalled")
    assert not exists(plane, CONFIG_MAP, TENANT, "mine")


FORBIDDEN = {
    "cluster": CLUSTER_ADMIN % "forbidden-cluster",
    "kymas": config_map("forbidden-kymas", HOME),
    "stranger": config_map("forbidden-stranger", IGNORED),
    "role": f"""
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {{name: forbidden-role, namespace: {TENANT}}}
roleRef: {{apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cluster-admin}}
subjects: [{{apiGroup: rbac.authorization.k8s.io, kind: User, name: mallory}}]
""",
}


@pytest.mark.parametrize("name", FORBIDDEN)
def test_a_manifest_installs_nothing_that_its_account_may_not(walk: Walk, name: str) -> None:
    intruder, template = walk.intruder, FORBIDDEN[name]
    body = yaml.safe_load(template)
    kind = GroupVersionKind.of(body["apiVersion"], body["kind"])
    ref = intruder.put(f"forbidden-{name}", TENANT, template)
    words = intruder.reaches(ref, "Error")
    assert f"system:serviceaccount:{TENANT}:{ACCOUNT}" in words
    assert not exists(walk.plane, kind, body["metadata"].get("namespace", ""), body["metadata"]["name"])


def test_the_deletion_of_a_manifest_deletes_nothing_that_its_account_may_not(walk: Walk, victim: ObjectRef) -> None:
    intruder, plane = walk.intruder, walk.plane
    intruder.let_operator_work()
    installs = {ANNOTATION_INSTALLS: json.dumps([["x", "control-1", "default"]])}
    ref = intruder.put("deleting", TENANT, config_map("deleting", TENANT), metadata={"annotations": installs})
    eventually(lambda: bool(intruder.status(ref)), "it is reconciled")
    set_status(intruder, ref, {"synced": [synced(victim)]})
    intruder.cluster.delete(ref)
    words = intruder.reaches(ref, "Deleting")
    assert f"system:serviceaccount:{TENANT}:{ACCOUNT}" in words
    assert exists(plane, CONFIG_MAP, victim.namespace, victim.name)
    assert exists(plane, CONFIG_MAP, HOME, "control-1")


def test_a_manifest_of_a_tenant_reaches_no_runtime(walk: Walk) -> None:
    intruder, plane = walk.intruder, walk.plane
    with listening() as (server, clients):
        labels = {LABEL_KYMA_NAME: "one"}
        plane.put("one")
        intruder.cluster.create(access_secret("access", TENANT, labels, server))
        intruder.cluster.create(access_secret("access", IGNORED, labels, server))
        ref = intruder.put("runtime", TENANT, config_map("r", TENANT), metadata={"labels": labels}, remote=True)
        assert "only the Kymas' namespace has access to runtimes" in intruder.reaches(ref, "Error")
        eventually(lambda: bool(plane.status("one")), "the Kyma is reconciled")
        intruder.let_operator_work()
        assert clients == []


def access_secret(name: str, namespace: str, labels: Json, server: str) -> Json:
    config = {
        "clusters": [{"name": "c", "cluster": {"server": server}}],
        "users": [{"name": "u", "user": {"token": "t"}}],
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
        "current-context": "x",
    }
    data = {"config": base64.b64encode(yaml.safe_dump(config).encode()).decode()}
    metadata = {"name": name, "namespace": namespace, "labels": labels}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "data": data}


@contextlib.contextmanager
def listening() -> Iterator[tuple[str, list[socket.socket]]]:
    """Yield the address of a server that never answers, and who has connected to it."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        clients: list[socket.socket] = []

        def accept() -> None:
            with contextlib.suppress(OSError):
                while True:
                    clients.append(server.accept()[0])

        threading.Thread(target=accept, daemon=True).start()
        yield f"https://127.0.0.1:{server.getsockname()[1]}", clients
        for client in clients:
            client.close()


def test_pull_secrets_are_read_as_the_account(walk: Walk) -> None:
    intruder = walk.intruder
    selector = {"matchLabels": {"pull": "true"}}
    source = {"type": "oci-ref", "repo": "127.0.0.1:1", "name": "c", "ref": "sha256:" + "0" * 64}
    ref = ObjectRef(MANIFEST, TENANT, "pulling")
    body = intruder.manifest("pulling", TENANT)
    body["spec"]["install"]["source"] = {**source, "credSecretSelector": selector}
    log = walk.plane.faults["kcp"]
    log.requests(forget=True)
    intruder.cluster.create(body)
    assert "no auth secret found" in intruder.reaches(ref, "Error")
    asked = [one for one in log.requests()["requests"] if one["path"].endswith(f"/{TENANT}/secrets")]
    assert asked
    assert {one["impersonated"] for one in asked} == {f"system:serviceaccount:{TENANT}:{ACCOUNT}"}


# what charts read with lookup

PASSWORD = "s3cr3t-of-the-kymas"


def put_secret(plane: ControlPlane, name: str, namespace: str) -> None:
    data = {"password": base64.b64encode(PASSWORD.encode()).decode()}
    metadata = {"name": name, "namespace": namespace}
    plane.kcp.apply({"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "data": data}, force=True)


def reading(namespace: str, name: str, use: str) -> str:
    return f'{{{{- $s := (lookup "v1" "Secret" "{namespace}" "{name}").data.password | b64dec }}}}\n{use}'


TELL = "{{ fail $s }}"
COPY = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: copied}\ndata: {v: {{ $s | quote }}}\n"


def written_texts(walk: Walk) -> str:
    """Everything that the operator has written for people: statuses, Events, log, metrics."""
    objects = [*walk.plane.kcp.list(MANIFEST), *walk.plane.kcp.list(EVENT)]
    return json.dumps(objects) + "\n".join(walk.operator.told) + walk.operator.metrics()


@pytest.mark.parametrize("use", [TELL, COPY], ids=["fail", "copy"])
@pytest.mark.parametrize("namespace", [HOME, TENANT])
def test_a_chart_reads_no_secret_that_is_not_named(walk: Walk, namespace: str, use: str) -> None:
    put_secret(walk.plane, "access", namespace)
    name = f"reads-{namespace}-{len(use)}"
    walk.intruder.chart(name, reading(namespace, "access", use))
    walk.plane.kcp.create(walk.intruder.manifest(name, namespace))
    words = walk.intruder.reaches(ObjectRef(MANIFEST, namespace, name), "Error")
    assert f"a template reads Secret {namespace}/access with lookup" in words
    assert not exists(walk.plane, CONFIG_MAP, namespace, "copied")
    assert PASSWORD not in written_texts(walk)


def test_a_tenants_chart_reads_nothing_that_its_account_may_not(walk: Walk) -> None:
    put_secret(walk.plane, "named", HOME)
    ref = walk.intruder.put("reads-kymas", TENANT, reading(HOME, "named", TELL))
    words = walk.intruder.reaches(ref, "Error")
    assert f"system:serviceaccount:{TENANT}:{ACCOUNT}" in words
    assert PASSWORD not in written_texts(walk)


@pytest.mark.parametrize("use", ["fail $s", "fail (upper $s)", "include $s ."])
def test_no_error_of_a_chart_has_what_it_read(walk: Walk, use: str) -> None:
    put_secret(walk.plane, "named", HOME)
    name = f"tells-{len(use)}"
    walk.intruder.chart(name, reading(HOME, "named", f"{{{{ {use} }}}}"))
    walk.plane.kcp.create(walk.intruder.manifest(name, HOME))
    words = walk.intruder.reaches(ObjectRef(MANIFEST, HOME, name), "Error")
    assert f"chart {name} fails" in words
    texts = written_texts(walk)
    assert not [form for form in (PASSWORD, PASSWORD.upper(), PASSWORD[:8]) if form in texts]


def test_no_error_of_the_server_has_what_a_chart_read(walk: Walk) -> None:
    """A ConfigMap's key is checked by the server, which quotes it."""
    put_secret(walk.plane, "named", HOME)
    body = 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: refused, labels: {v: {{ printf "%s/" $s | quote }}}}\n'
    walk.intruder.chart("quoted", reading(HOME, "named", body))
    walk.plane.kcp.create(walk.intruder.manifest("quoted", HOME))
    words = walk.intruder.reaches(ObjectRef(MANIFEST, HOME, "quoted"), "Error")
    assert "(hidden)" in words
    assert PASSWORD not in written_texts(walk)


def test_a_chart_finds_the_password_again_that_its_release_created(walk: Walk) -> None:
    template = """
{{- $s := lookup "v1" "Secret" "kcp-system" "generated" }}
apiVersion: v1
kind: Secret
metadata: {name: generated, namespace: kcp-system}
data: {password: {{ if $s }}{{ $s.data.password | quote }}{{ else }}"Zmlyc3Q="{{ end }} }
"""
    ref = ObjectRef(MANIFEST, HOME, "generating")
    walk.intruder.chart("generating", template)
    walk.plane.kcp.create(walk.intruder.manifest("generating", HOME))
    assert walk.intruder.reaches(ref, "Ready")
    before = len([one for one in walk.operator.finished if one.ref == ref])
    walk.plane.kcp.patch(ref, {"metadata": {"annotations": {"again": "1"}}}, PatchKind.MERGE)
    eventually(lambda: len([one for one in walk.operator.finished if one.ref == ref]) > before, "it is reconciled")
    assert walk.intruder.status(ref)["state"] == "Ready"
