"""What the Kyma controller gives a Manifest that another one maintains: finalizers and the annotation of its layer."""

from __future__ import annotations

import threading
from typing import Any

from kymatui.domain.kubernetes.object_meta import read_ref
from kymatui.domain.kyma.manifests import FINALIZER
from kymatui.engine.cluster.ports import PatchKind
from kymatui.operator.kymas.manifest_writes import ManifestWrites
from kymatui.operator.manifests.manifest_marks import REQUIRED_FINALIZERS, SYNCED_LAYER
from tests.controllers.release_worlds import open_cluster
from tests.domain.test_whatif import SPACE

CANCEL = threading.Event()
FIRST, SECOND = "sha256:" + "1" * 64, "sha256:" + "2" * 64


def manifest(version: str, digest: str) -> dict[str, Any]:
    source = {"repo": "reg.example/modules", "name": "keda", "ref": digest, "type": "oci-ref"}
    return {
        "apiVersion": "operator.kyma-project.io/v1beta2",
        "kind": "Manifest",
        "metadata": {"name": "keda", "namespace": SPACE, "annotations": {"a": "b"}},
        "spec": {"remote": False, "version": version, "install": {"name": "raw-manifest", "source": source}},
    }


def marks(live: Any) -> tuple[set[str], str]:
    metadata = live["metadata"]
    return set(metadata.get("finalizers") or ()), metadata["annotations"].get(SYNCED_LAYER, "")


def test_a_new_manifest_has_the_marks_of_its_controller_if_that_is_in_the_same_process() -> None:
    body = manifest("1.0.0", FIRST)
    for together, expected in ((False, (set(), "")), (True, ({*REQUIRED_FINALIZERS}, FIRST))):
        home = open_cluster("kcp", SPACE)
        ManifestWrites(home, CANCEL, marks=together).write_mandatory(body)
        assert marks(home.get(read_ref(body))) == expected


def test_an_update_neither_takes_nor_restores_marks() -> None:
    home = open_cluster("kcp", SPACE)
    writes = ManifestWrites(home, CANCEL, marks=True)
    ref = read_ref(manifest("1.0.0", FIRST))
    writes.write_mandatory(manifest("1.0.0", FIRST))
    writes.write_mandatory(manifest("1.1.0", SECOND))
    assert marks(home.get(ref)) == ({*REQUIRED_FINALIZERS}, FIRST)  # its controller annotates what it has applied
    patch = {"metadata": {"finalizers": [FINALIZER], "annotations": {SYNCED_LAYER: SECOND}}}
    home.patch(ref, patch, PatchKind.MERGE)
    writes.write_mandatory(manifest("1.2.0", FIRST))
    assert marks(home.get(ref)) == ({FINALIZER}, SECOND)


def test_a_manifest_keeps_a_default_cr_that_a_later_template_lacks() -> None:
    """A Manifest with the finalizer of its default CR, and without the CR's name, could not be deleted."""
    home = open_cluster("kcp", SPACE)
    writes = ManifestWrites(home, CANCEL, marks=True)
    body = manifest("1.0.0", FIRST)
    resource = {"apiVersion": "example.org/v1", "kind": "Keda", "metadata": {"name": "default"}, "spec": {"size": 1}}
    writes.write_mandatory({**body, "spec": {**body["spec"], "resource": resource}})
    writes.write_mandatory(manifest("1.1.0", SECOND))
    live = home.get(read_ref(body))
    assert live is not None
    assert (live["spec"]["version"], live["spec"]["resource"]) == ("1.1.0", resource)
