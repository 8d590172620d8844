"""The copies of CRDs and catalog on a runtime: two real servers, the control plane `old` and the runtime `new`."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kymatui.adapters.kube.api.client import Client
from kymatui.adapters.kube.auth.connection import connect
from kymatui.adapters.kube.transport.transport import Transport
from kymatui.adapters.kube.watch.kube_cluster import KubeCluster
from kymatui.crds import read_crds
from kymatui.domain.kubernetes.refs import CRD, ObjectRef
from kymatui.domain.kyma.template_index import TemplateIndex, index_templates
from kymatui.engine.cluster.ports import Cluster, Object, PatchKind, Write, Writes, WriteVerb
from kymatui.errors import ForbiddenError, NotFoundError
from kymatui.operator.catalogs.runtime_catalog import RELEASE_META, SYNCED_CRDS, TEMPLATE, RuntimeCatalog
from tests.domain import builders
from tests.engine.places import Json, eventually
from tests.sandboxes.starting import ReadySandbox

BETA, INTERNAL, MANAGED = (f"operator.kyma-project.io/{name}" for name in ("beta", "internal", "managed-by"))
CANCEL = threading.Event()


class Counted(Writes):
    """A cluster that counts its writes, and refuses those to an object's name."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self.applied: list[str] = []
        self.forbidden = ""

    def __getattr__(self, name: str) -> Any:
        return getattr(self._cluster, name)

    def write(self, write: Write, *, cancel: threading.Event | None = None) -> Object:
        if write.verb is WriteVerb.APPLY:
            name = write.ref.name
            if name == self.forbidden:
                raise ForbiddenError(f"{name} is forbidden", status=403)
            self.applied.append(name)
        return self._cluster.write(write, cancel=cancel)


class Pair:
    """A control plane's catalog in `kcp-system`, and a runtime."""

    def __init__(self, sandbox: ReadySandbox, folder: Path) -> None:
        self.home, self.runtime = (
            KubeCluster(Client(Transport(connect(str(sandbox.kubeconfig), context, "")))) for context in ("old", "new")
        )
        for cluster, name in ((self.home, "kcp-system"), (self.runtime, "kyma-system")):
            cluster.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}, manager="test")
        for body in read_crds():
            self.home.apply(body, manager="test", force=True)
        eventually(lambda: served(self.home), "the control plane serves templates")
        self.counted = Counted(self.runtime)
        self.catalog = RuntimeCatalog(self.home, self, frozenset({"fenced"}))

    def read(self, cancel: threading.Event) -> TemplateIndex:
        templates, metas = (self.home.list(kind, "kcp-system") for kind in (TEMPLATE, RELEASE_META))
        return index_templates(templates, metas, "kcp-system")

    def put(self, *objects: Json) -> None:
        for body in objects:
            self.home.apply(at_home(body), manager="test", force=True)

    def sync(self, **labels: str) -> None:
        kyma = builders.a_kyma(name="one", namespace="kcp-system", labelled=labels)
        self.catalog.sync_crds(kyma, self.counted, CANCEL)
        eventually(lambda: served(self.runtime), "the runtime serves templates")
        self.catalog.sync_catalog(kyma, self.counted, CANCEL)

    def copies(self) -> dict[str, Json]:
        found = [raw for kind in (TEMPLATE, RELEASE_META) for raw in self.runtime.list(kind)]
        return {f"{raw['metadata']['namespace']}/{raw['metadata']['name']}": raw for raw in found}

    def close(self) -> None:
        for cluster in (self.home, self.runtime):
            for kind in (TEMPLATE, RELEASE_META):
                for raw in cluster.list(kind):
                    cluster.delete(ObjectRef(kind, raw["metadata"]["namespace"], raw["metadata"]["name"]))
        for name in SYNCED_CRDS:
            try:
                self.runtime.delete(ObjectRef(CRD, "", name))
            except NotFoundError:
                continue
        eventually(lambda: all(self.runtime.get(ObjectRef(CRD, "", name)) is None for name in SYNCED_CRDS), "no CRDs")
        for cluster in (self.home, self.runtime):
            cluster.client.transport.close()


def served(cluster: KubeCluster) -> bool:
    cluster.forget_kinds()
    return all(cluster.kind(kind) is not None for kind in (TEMPLATE, RELEASE_META))


def at_home(body: Json) -> Json:
    metadata = {key: body["metadata"][key] for key in ("name", "labels", "annotations") if body["metadata"].get(key)}
    return {
        "apiVersion": "operator.kyma-project.io/v1beta2",
        "kind": body["kind"],
        "metadata": {**metadata, "namespace": "kcp-system"},
        "spec": body["spec"],
    }


def template(module: str, version: str, **labels: str) -> Json:
    metadata = {"name": f"{module}-{version}", "labels": labels, "annotations": {"a": "b"}}
    return {
        "kind": "ModuleTemplate",
        "metadata": metadata,
        "spec": {"moduleName": module, "version": version, "descriptor": {}},
    }


def meta(module: str, selector: Json | None = None, **channels: str) -> Json:
    spec: Json = {
        "moduleName": module,
        "ocmComponentName": f"kyma-project.io/module/{module}",
        "channels": [{"channel": channel, "version": version} for channel, version in channels.items()],
    }
    if selector is not None:
        spec["kymaSelector"] = selector
    return {"kind": "ModuleReleaseMeta", "metadata": {"name": module}, "spec": spec}


@pytest.fixture
def pair(engine_sandbox: ReadySandbox, tmp_path: Path) -> Iterator[Pair]:
    found = Pair(engine_sandbox, tmp_path)
    try:
        yield found
    finally:
        found.close()


def managers(raw: Json) -> set[str]:
    return {field["manager"] for field in raw["metadata"]["managedFields"]}


def test_crds_and_catalog_arrive_and_a_second_sync_writes_nothing(pair: Pair) -> None:
    pair.put(template("alpha", "1.0.0"), template("alpha", "2.0.0"), meta("alpha", regular="1.0.0", fast="3.0.0"))
    pair.sync()
    copies = pair.copies()
    assert sorted(copies) == ["kyma-system/alpha", "kyma-system/alpha-1.0.0"]
    copy = copies["kyma-system/alpha-1.0.0"]
    assert managers(copy) == {"catalog-sync"}
    assert copy["metadata"]["labels"] == {MANAGED: "kyma"}
    assert copy["metadata"]["annotations"] == {"a": "b"}
    assert copy["spec"]["channel"] == ""
    assert copy["spec"]["mandatory"] is False
    assert copies["kyma-system/alpha"]["spec"]["channels"] == [{"channel": "regular", "version": "1.0.0"}]
    for name in SYNCED_CRDS:
        crd = pair.runtime.get(ObjectRef(CRD, "", name)) or {}
        assert crd["metadata"]["labels"] == {MANAGED: "kyma"}
        assert crd["spec"]["conversion"] == {"strategy": "None"}
    pair.counted.applied.clear()
    pair.sync()
    assert pair.counted.applied == []


def test_only_what_changed_is_written_back(pair: Pair) -> None:
    pair.put(template("alpha", "1.0.0"), meta("alpha", regular="1.0.0"))
    pair.sync()
    pair.counted.applied.clear()
    ref = ObjectRef(TEMPLATE, "kyma-system", "alpha-1.0.0")
    pair.runtime.patch(ref, {"spec": {"version": "9.9.9"}}, PatchKind.MERGE, manager="edit")
    crd = ObjectRef(CRD, "", SYNCED_CRDS[1])
    pair.runtime.patch(crd, {"metadata": {"labels": {MANAGED: None}}}, PatchKind.MERGE, manager="edit")
    pair.sync()
    assert sorted(pair.counted.applied) == ["alpha-1.0.0", SYNCED_CRDS[1]]
    assert pair.copies()["kyma-system/alpha-1.0.0"]["spec"]["version"] == "1.0.0"
    pair.runtime.delete(ref)
    pair.sync()
    assert "kyma-system/alpha-1.0.0" in pair.copies()


def test_labels_of_kyma_and_template_decide_and_what_is_no_longer_offered_goes(pair: Pair) -> None:
    pair.put(template("prev", "0.1.0"), template("prev", "0.2.0", **{BETA: "TRUE"}))
    pair.put(meta("prev", regular="0.1.0", fast="0.2.0"), template("inn", "1.0.0", **{INTERNAL: "true"}))
    pair.put(meta("inn", regular="1.0.0"))
    pair.sync()
    assert sorted(pair.copies()) == ["kyma-system/prev", "kyma-system/prev-0.1.0"]
    pair.sync(**{BETA: "True", INTERNAL: "true"})
    assert len(pair.copies()) == 5
    assert len(pair.copies()["kyma-system/prev"]["spec"]["channels"]) == 2
    pair.sync(**{INTERNAL: "true", BETA: "no"})
    assert sorted(pair.copies()) == [f"kyma-system/{name}" for name in ("inn", "inn-1.0.0", "prev", "prev-0.1.0")]
    pair.home.delete(ObjectRef(RELEASE_META, "kcp-system", "inn"))
    pair.sync(**{INTERNAL: "true"})
    assert sorted(pair.copies()) == ["kyma-system/prev", "kyma-system/prev-0.1.0"]


def test_restricted_modules_go_only_to_selected_kymas(pair: Pair) -> None:
    pair.put(template("fenced", "1.0.0"), meta("fenced", {"matchLabels": {"plan": "gold"}}, regular="1.0.0"))
    pair.put(template("open", "1.0.0"), meta("open", {"matchLabels": {"plan": "gold"}}, regular="1.0.0"))
    pair.sync()
    assert pair.copies() == {}
    pair.sync(plan="gold")
    assert sorted(pair.copies()) == ["kyma-system/fenced", "kyma-system/fenced-1.0.0"]
    pair.sync(plan="silver")
    assert pair.copies() == {}


def test_templates_of_other_clients_stay_and_old_styles_are_not_synced(pair: Pair) -> None:
    old = template("alpha", "1.0.0")
    old["metadata"]["name"] = "alpha-regular"
    old["spec"] = {"channel": "regular", "descriptor": {}}
    pair.put(old)
    pair.sync()
    assert pair.copies() == {}
    own = at_home(template("mine", "1.0.0"))
    for namespace, manager in (("kyma-system", "kubectl"), ("default", "kubectl"), ("default", "catalog-sync")):
        name = f"mine-{manager}"
        metadata = {**own["metadata"], "namespace": namespace, "name": name}
        pair.runtime.apply({**own, "metadata": metadata}, manager=manager)
    pair.sync()
    assert sorted(pair.copies()) == ["default/mine-kubectl", "kyma-system/mine-kubectl"]


def test_a_failure_of_one_copy_does_not_keep_the_others(pair: Pair) -> None:
    pair.put(template("alpha", "1.0.0"), template("beta", "1.0.0"))
    pair.put(meta("alpha", regular="1.0.0"), meta("beta", regular="1.0.0"))
    pair.counted.forbidden = "alpha-1.0.0"
    with pytest.raises(ForbiddenError, match=r"alpha-1\.0\.0"):
        pair.sync()
    assert sorted(pair.copies()) == ["kyma-system/alpha", "kyma-system/beta", "kyma-system/beta-1.0.0"]
    pair.counted.forbidden = SYNCED_CRDS[0]
    fresh = RuntimeCatalog(pair.home, pair)
    with pytest.raises(ForbiddenError, match="kymas"):
        fresh.sync_crds(builders.a_kyma(), pair.counted, CANCEL)
    assert {SYNCED_CRDS[1], SYNCED_CRDS[2]} <= set(pair.counted.applied)


def test_a_control_plane_without_a_crd_is_named() -> None:
    class Empty:
        name = "kcp"

        def get(self, ref: ObjectRef, *, cancel: threading.Event | None = None) -> None:
            return None

    empty: Any = Empty()
    catalog = RuntimeCatalog(empty, empty)
    with pytest.raises(NotFoundError, match=r"kcp has no CRD kymas\.operator\.kyma-project\.io"):
        catalog.sync_crds(builders.a_kyma(), empty, CANCEL)
