"""Signatures of images by keys, as cosign stores them: bundles that refer to the image, and tags `sha256-….sig`.

The signed image is the manifest or index that the tag names now; a signature for another digest does not count.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, Final

from msgspec import Struct

from kymatui.actions.components.stored_components import json_object, json_objects
from kymatui.engine.sources.artifact_store import ArtifactStore
from kymatui.engine.sources.component_source import MANIFEST_TYPE, blob_digest, content_descriptor
from kymatui.errors import RegistryError, UsageError
from kymatui.ocm import SignatureError
from kymatui.ocm.cosign_signatures import (
    BUNDLE_TYPE,
    SIGN_PREDICATE,
    SIGNATURE_ANNOTATION,
    SIMPLE_SIGNING,
    PublicKey,
    read_image_key,
    sign_payload,
    signed_bundle,
    simple_payload,
    verify_bundle,
    verify_simple_signature,
)
from kymatui.ocm.pem import PrivateKey
from kymatui.publishing.blob_transfer import Place, require_manifest
from kymatui.publishing.image_layers import compact_json

LARGEST_SIGNATURE: Final = 4 * 1024 * 1024  # bytes of a bundle or payload, which is read whole into memory
MOST_SIGNATURES: Final = 100  # signatures of one image that are fetched: each costs a request or two
_EMPTY_TYPE: Final = "application/vnd.oci.empty.v1+json"
_CONFIG_TYPE: Final = "application/vnd.oci.image.config.v1+json"
_BUNDLES: Final = "application/vnd.dev.sigstore.bundle"

Json = dict[str, Any]


class SignatureForm(StrEnum):
    """Where cosign stores a signature."""

    BUNDLE = "bundle"
    LEGACY = "legacy"


class VerifiedImage(Struct, frozen=True):
    """An image with at least one good signature; `signatures` counts the good ones."""

    repository: str
    digest: str
    form: SignatureForm
    signatures: int


class SignedImage(Struct, frozen=True):
    """A signature; `digest` is the image's, `signature` that of the manifest with the signature.

    `is_new` is False if the key had signed this image before in the same form.
    """

    repository: str
    digest: str
    form: SignatureForm
    signature: str
    is_new: bool = True


def verify_image(store: ArtifactStore, image: tuple[str, str], key: bytes) -> VerifiedImage:
    """Verify an image ("host/path", tag or digest). Raise SignatureError without a good signature by the key."""
    if not key:
        raise UsageError("a public key is required to verify an image", hint="use --public-key FILE")
    public = read_image_key(key)
    repository, pointer = image
    digest = blob_digest(require_manifest(Place(store, repository), pointer)[0])
    problems: list[str] = []
    forms = ((SignatureForm.BUNDLE, _checked_bundles), (SignatureForm.LEGACY, _checked_layers))
    for form, checks in forms:
        good = 0
        for _, problem in checks(store, repository, digest, public):
            good += not problem
            problems += [problem] if problem else []
        if good:
            return VerifiedImage(repository, digest, form, good)
    if not problems:
        raise SignatureError(f"{repository}@{digest} is not signed", hint="it was not used")
    raise SignatureError(
        f"{repository}@{digest} has no signature by this key: {'; '.join(dict.fromkeys(problems))}",
        hint="it was not used",
    )


def sign_image(
    store: ArtifactStore, image: tuple[str, str], key: PrivateKey, *, form: SignatureForm = SignatureForm.BUNDLE
) -> SignedImage:
    """Sign an image and store the signature next to it. Other signatures stay. Raise RegistryError.

    Nothing is stored if the key has signed it already: cosign does the same with legacy signatures, and stores a second
    bundle.
    """
    repository, pointer = image
    manifest = store.manifest(repository, pointer)
    if manifest is None:
        raise RegistryError(f"{repository}:{pointer} does not exist", hint="push the image first")
    raw, media_type = manifest
    digest = blob_digest(raw)
    if known := _known_signature(store, repository, digest, key, form):
        return SignedImage(repository, digest, form, known, is_new=False)
    if form is SignatureForm.LEGACY:
        return SignedImage(repository, digest, form, _store_legacy(store, repository, digest, key))
    subject = {"mediaType": media_type, "digest": digest, "size": len(raw)}
    stored = _store_bundle(store, repository, subject, signed_bundle(key, digest), datetime.now(UTC))
    return SignedImage(repository, digest, form, stored)


def legacy_tag(digest: str) -> str:
    """Return the tag of the legacy signatures of a manifest."""
    return f"{digest.replace(':', '-')}.sig"


def _known_signature(
    store: ArtifactStore, repository: str, digest: str, private: PrivateKey, form: SignatureForm
) -> str:
    """Return the digest of the manifest with a signature by the same key, "" without one."""
    key = private.public_key()
    if form is SignatureForm.BUNDLE:
        locations = (where for where, problem in _checked_bundles(store, repository, digest, key) if not problem)
        return next(locations, "")
    stored = store.manifest(repository, legacy_tag(digest))
    payload = blob_digest(simple_payload(digest, repository))  # another name of the repository is another payload
    good = (
        blob_digest(stored[0])
        for layer, problem in _checked_layers(store, repository, digest, key)
        if stored is not None and not problem and layer.get("digest") == payload
    )
    return next(good, "")


def _checked_bundles(store: ArtifactStore, repository: str, digest: str, key: PublicKey) -> Iterator[tuple[str, str]]:
    """Yield the digest of each manifest with a bundle, and the bundle's problem."""
    for referrer in store.referrers(repository, digest)[:MOST_SIGNATURES]:
        if not str(referrer.get("artifactType", "")).startswith(_BUNDLES):
            continue
        stored_manifest = store.manifest(repository, str(referrer.get("digest", "")))
        manifest = json_object(stored_manifest[0]) if stored_manifest else {}
        for layer in json_objects(manifest, "layers"):
            if not str(layer.get("mediaType", "")).startswith(_BUNDLES):
                continue
            content = store.blob(repository, str(layer.get("digest", "")), LARGEST_SIGNATURE)
            try:
                verify_bundle(content, digest, key)
            except SignatureError as error:
                yield str(referrer.get("digest")), str(error)
            else:
                yield str(referrer.get("digest")), ""


def _checked_layers(store: ArtifactStore, repository: str, digest: str, key: PublicKey) -> Iterator[tuple[Json, str]]:
    """Yield each layer with a legacy signature, and its problem."""
    manifest = store.manifest(repository, legacy_tag(digest))
    for layer in json_objects(json_object(manifest[0]) if manifest else {}, "layers")[:MOST_SIGNATURES]:
        if layer.get("mediaType") != SIMPLE_SIGNING:
            continue
        annotations = layer.get("annotations")
        signature = str(annotations.get(SIGNATURE_ANNOTATION, "")) if isinstance(annotations, dict) else ""
        payload = store.blob(repository, str(layer.get("digest", "")), LARGEST_SIGNATURE)
        try:
            verify_simple_signature(payload, signature, digest, key)
        except SignatureError as error:
            yield layer, str(error)
        else:
            yield layer, ""


def _store_bundle(store: ArtifactStore, repository: str, subject: Json, bundle: bytes, now: datetime) -> str:
    empty = b"{}"
    manifest = {
        "schemaVersion": 2,
        "mediaType": MANIFEST_TYPE,
        "config": {**content_descriptor(empty, _EMPTY_TYPE), "artifactType": BUNDLE_TYPE},
        "layers": [content_descriptor(bundle, BUNDLE_TYPE)],
        "annotations": {
            "dev.sigstore.bundle.content": "dsse-envelope",
            "dev.sigstore.bundle.predicateType": SIGN_PREDICATE,
            "org.opencontainers.image.created": now.strftime("%Y-%m-%dT%H:%M:%SZ"),
        },
        "subject": subject,
        "artifactType": BUNDLE_TYPE,
    }
    store.push_blob(repository, empty)
    store.push_blob(repository, bundle)
    raw = compact_json(manifest)
    return store.push_manifest(repository, blob_digest(raw), raw, MANIFEST_TYPE)


def _store_legacy(store: ArtifactStore, repository: str, digest: str, key: PrivateKey) -> str:
    """Add a layer to the manifest of the legacy signatures, whose config lists the layers."""
    tag = legacy_tag(digest)
    existing = store.manifest(repository, tag)
    layers = json_objects(json_object(existing[0]), "layers") if existing else []
    payload = simple_payload(digest, repository)
    layer = content_descriptor(payload, SIMPLE_SIGNING)
    layers.append({**layer, "annotations": {SIGNATURE_ANNOTATION: sign_payload(key, payload)}})
    config = compact_json(
        {
            "architecture": "",
            "created": "0001-01-01T00:00:00Z",
            "history": [{"created": "0001-01-01T00:00:00Z"} for _ in layers],
            "os": "",
            "rootfs": {"type": "layers", "diff_ids": [entry.get("digest") for entry in layers]},
            "config": {},
        }
    )
    described = content_descriptor(config, _CONFIG_TYPE)
    manifest = {"schemaVersion": 2, "mediaType": MANIFEST_TYPE, "config": described, "layers": layers}
    for content in (payload, config):
        store.push_blob(repository, content)
    return store.push_manifest(repository, tag, compact_json(manifest), MANIFEST_TYPE)
