"""Components on a registry over real sockets, as tests of signatures and copies need them, and files of keys."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.serialization import BestAvailableEncryption, Encoding, NoEncryption, PrivateFormat

from kymatui.actions.components.stored_components import StoredComponent, require_component
from kymatui.adapters.oci.registry import RegistryArtifacts
from kymatui.engine.sources.component_source import MANIFEST_TYPE, blob_digest, component_artifact, resource_layer
from kymatui.ocm.component_location import ComponentLocation
from tests.engine.sources.packing import tar
from tests.ocm.components import component, key, public_pem

NAME, VERSION = "acme.org/module/sample", "1.2.3"
OBJECT = b"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n"
MANIFEST = tar({"manifest.yaml": OBJECT})
NOTE = b"a note\n"


def location(host: str, name: str = NAME, version: str = VERSION, base: str = "p") -> ComponentLocation:
    return ComponentLocation(f"{host}/{base}", name, version)


def local(name: str, content: bytes, media_type: str = "application/x-tar", **more: Any) -> dict[str, Any]:
    """A resource with its digest; `digest=None` leaves it out."""
    value = blob_digest(content).partition(":")[2]
    found = {
        "name": name,
        "version": VERSION,
        "type": "blob",
        "relation": "local",
        "access": {"type": "localBlob", "localReference": blob_digest(content), "mediaType": media_type},
        "digest": {"hashAlgorithm": "SHA-256", "normalisationAlgorithm": "genericBlobDigest/v1", "value": value},
        **more,
    }
    return {key: value for key, value in found.items() if value is not None}


def document(name: str = NAME, version: str = VERSION, **fields: Any) -> dict[str, Any]:
    """The descriptor of a component with two local resources."""
    labels = [{"name": "acme.org/free", "value": 1}, {"name": "acme.org/signed", "value": "a", "signing": True}]
    resources = [local("raw-manifest", MANIFEST), local("note", NOTE, "text/plain")]
    found = {"resources": resources, "sources": [], "componentReferences": [], "labels": labels, **fields}
    return component(name=name, version=version, **found)


def put(host: str, made: dict[str, Any], *contents: bytes, base: str = "p") -> StoredComponent:
    """Store a component with its blobs, or replace its descriptor."""
    store = RegistryArtifacts(insecure=[host])
    body = made.get("component") or made["metadata"]
    where = location(host, body["name"], body["version"], base)
    blobs = contents or (MANIFEST, NOTE)
    layers = [resource_layer(one, "application/octet-stream", [{"name": str(at)}]) for at, one in enumerate(blobs)]
    artifact = component_artifact(made, layers)
    for one in (*blobs, artifact.descriptor, artifact.config):
        store.push_blob(where.repository, one)
    store.push_manifest(where.repository, where.tag, artifact.manifest, MANIFEST_TYPE)
    return require_component(store, where)


def stored(host: str, name: str = NAME, version: str = VERSION, base: str = "p") -> StoredComponent:
    return require_component(RegistryArtifacts(insecure=[host]), location(host, name, version, base))


def edited(host: str, *path: Any, value: Any, name: str = NAME, version: str = VERSION) -> None:
    """Change one place of a stored descriptor; its blobs stay."""
    found = stored(host, name, version)
    made: Any = copy.deepcopy(dict(found.document))
    place = made
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = value
    store = RegistryArtifacts(insecure=[host])
    artifact = component_artifact(made, found.layers)
    for one in (artifact.descriptor, artifact.config):
        store.push_blob(found.location.repository, one)
    store.push_manifest(found.location.repository, found.location.tag, artifact.manifest, MANIFEST_TYPE)


def key_files(folder: Path, number: int = 0, password: bytes = b"") -> tuple[str, str]:
    """Write a private and a public key; return their paths."""
    how = BestAvailableEncryption(password) if password else NoEncryption()
    private, public = folder / f"{number}.key", folder / f"{number}.pub"
    private.write_bytes(key(number).private_bytes(Encoding.PEM, PrivateFormat.PKCS8, how))
    public.write_bytes(public_pem(number))
    return str(private), str(public)
