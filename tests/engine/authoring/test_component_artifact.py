"""Artifacts of components: the bytes that ocm writes, and the same ones every time."""

from __future__ import annotations

import hashlib
import io
import json
import tarfile

from hypothesis import given
from hypothesis import strategies as st

from kymatui.engine.sources.component_source import (
    CONFIG_TYPE,
    DESCRIPTOR_TYPE,
    MANIFEST_TYPE,
    component_artifact,
    pack_file,
    resource_layer,
)
from kymatui.helm.yaml.reading import load_yaml

V2 = {"meta": {"schemaVersion": "v2"}, "component": {"name": "acme.org/c", "version": "1.0.0+b"}}
V3 = {"apiVersion": "ocm.software/v3alpha1", "metadata": {"name": "acme.org/c", "version": "1.0.0+b"}}


def test_the_parts_name_each_other_by_digest() -> None:
    layer = resource_layer(b"blob", "application/x-tar", [{"version": "1", "name": "raw-manifest"}])
    for document in (V2, V3):
        found = component_artifact(document, [layer])
        manifest, config = json.loads(found.manifest), json.loads(found.config)
        assert manifest["mediaType"] == MANIFEST_TYPE
        assert manifest["config"] == {
            "mediaType": CONFIG_TYPE,
            "digest": f"sha256:{hashlib.sha256(found.config).hexdigest()}",
            "size": len(found.config),
        }
        assert config == {"componentDescriptorLayer": manifest["layers"][0]}
        assert config["componentDescriptorLayer"]["mediaType"] == DESCRIPTOR_TYPE
        assert config["componentDescriptorLayer"]["size"] == len(found.descriptor)
        assert manifest["layers"][1] == layer
        assert manifest["annotations"]["software.ocm.componentversion"] == "acme.org/c:1.0.0+b"
        assert found.digest == f"sha256:{hashlib.sha256(found.manifest).hexdigest()}"
        with tarfile.open(fileobj=io.BytesIO(found.descriptor)) as archive:
            (member,) = archive.getmembers()
            assert (member.name, member.mode, member.uid, member.uname) == ("component-descriptor.yaml", 0, 0, "")
            assert member.mtime == 1640995200
            assert load_yaml(archive.extractfile(member).read()) == document  # type: ignore[union-attr]
    assert layer["annotations"] == {
        "software.ocm.artifact": '[{"kind":"resource","identity":{"name":"raw-manifest","version":"1"}}]'
    }


def test_annotations_of_a_replaced_manifest_stay() -> None:
    kept = {"software.ocm.creator": "other", "x": "y", "software.ocm.componentversion": "wrong:1"}
    found = json.loads(component_artifact(V2, [], kept).manifest)["annotations"]
    assert found == {**kept, "software.ocm.componentversion": "acme.org/c:1.0.0+b"}


@given(st.binary(max_size=2000), st.sampled_from(["manifest.yaml", "größe.yaml", "a" * 150, "dir with [x].yaml"]))
def test_a_tar_has_the_file_and_nothing_of_this_machine(content: bytes, name: str) -> None:
    packed = pack_file(name, content)
    assert packed == pack_file(name, content)
    assert packed.endswith(bytes(1024))
    if len(name) < 100 and name.isascii():
        assert len(packed) == 512 + -(-len(content) // 512) * 512 + 1024, "as Go's writer: no padding to 10 KiB"
    with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
        (member,) = archive.getmembers()
        assert member.name == name
        assert archive.extractfile(member).read() == content  # type: ignore[union-attr]
        assert (member.mtime, member.mode, member.uid, member.gid, member.uname, member.gname) == (
            0,
            0o644,
            0,
            0,
            "",
            "",
        )
