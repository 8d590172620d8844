"""New signatures of components in registries; content is compared with its digests before it is signed.

Verification of a component in a registry: its signatures, then all content that they cover.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from msgspec import Struct
from msgspec.structs import replace

from kymatui.actions.components.component_digests import CheckedContent, ComponentDigests, has_all_digests
from kymatui.actions.components.stored_components import StoredComponent, require_component
from kymatui.engine.sources.artifact_store import ArtifactStore
from kymatui.engine.sources.component_source import MANIFEST_TYPE, blob_digest, component_artifact
from kymatui.errors import OutdatedError, RefusedError, UsageError
from kymatui.ocm import ComponentDescriptor, Keys, Signature, SignatureError, verify
from kymatui.ocm.component_location import ComponentLocation
from kymatui.ocm.descriptors import SCHEMA_V3, Digest
from kymatui.ocm.pem import PrivateKey
from kymatui.ocm.signature_check import PKCS1
from kymatui.ocm.signing import digest_entry, sign, signature_entry


class SignRequest(Struct, frozen=True):
    """A component and the signature to add.

    certificates  PEM chain of the key, which becomes part of the signature and must lead to `roots`
    skip_images   accept the digests of images as they are
    overwrite     replace a signature of the same name
    """

    location: ComponentLocation
    name: str
    algorithm: str = PKCS1
    hash_algorithm: str = "SHA-256"
    normalisation: str = "jsonNormalisation/v3"
    certificates: bytes = b""
    roots: bytes = b""
    issuer: str = ""
    skip_images: bool = False
    overwrite: bool = False


class SignedComponent(Struct, frozen=True):
    """The signature; `digest` is of the new manifest, `former` of the one that it replaces: equal if it was there."""

    signature: Signature
    location: ComponentLocation
    digest: str
    former: str
    content: CheckedContent


def sign_component(store: ArtifactStore, request: SignRequest, key: PrivateKey) -> SignedComponent:
    """Sign a component and store it again under its tag; blobs stay as they are.

    A signature that the component already has by this key stays, so that an interrupted command can run again. Raise
    SignatureError for content with another digest, RefusedError for a name that is used by another signature,
    OutdatedError if the tag was moved meanwhile, and RegistryError.
    """
    component = require_component(store, request.location)
    digests = ComponentDigests(store, request.hash_algorithm, request.normalisation, skip_images=request.skip_images)
    complete = digests.complete(component)
    signature = sign(
        complete,
        key,
        request.name,
        algorithm=request.algorithm,
        hash_algorithm=request.hash_algorithm,
        normalisation=request.normalisation,
        certificates=request.certificates,
        roots=request.roots,
        issuer=request.issuer,
    )
    known = component.descriptor.signature(request.name)
    if known is not None and not request.overwrite:
        if not _is_same(known, signature, component, complete, key):
            raise RefusedError(
                f"{request.location} already has a signature {request.name!r}",
                hint="use another name, or replace it with --overwrite",
            )
        return SignedComponent(known, request.location, component.digest, component.digest, digests.checked)
    descriptor = replace(
        complete,
        signatures=(*(existing for existing in complete.signatures if existing.name != request.name), signature),
    )
    digest = _store(store, component, signed_document(component.document, descriptor))
    return SignedComponent(signature, request.location, digest, component.digest, digests.checked)


def _is_same(
    known: Signature, new: Signature, component: StoredComponent, complete: ComponentDescriptor, key: PrivateKey
) -> bool:
    """Return whether a signature says what the new one would; those of RSASSA-PSS never have the same value."""
    if complete != component.descriptor:  # it lacks digests that the new one would add
        return False
    if known == new:
        return True
    if new.algorithm == PKCS1 or replace(known, value=new.value) != new:
        # PKCS1 signatures of the same content are equal byte for byte; PSS adds a random salt
        return False
    public = key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    try:
        verify(complete, Keys(public), name=known.name)
    except SignatureError:
        return False
    return True


def _store(store: ArtifactStore, component: StoredComponent, document: dict[str, Any]) -> str:
    where = component.location
    annotations = component.manifest.get("annotations")
    artifact = component_artifact(document, component.layers, annotations if isinstance(annotations, dict) else None)
    for content in (artifact.descriptor, artifact.config):
        store.push_blob(where.repository, content)
    current = require_component(store, where).digest
    if current != component.digest:
        raise OutdatedError(f"{where} was changed meanwhile", hint="run the command again to sign the current version")
    digest = store.push_manifest(where.repository, where.tag, artifact.manifest, MANIFEST_TYPE)
    assert digest == blob_digest(artifact.manifest)
    return digest


def signed_document(document: Mapping[str, Any], descriptor: ComponentDescriptor) -> dict[str, Any]:
    """Return the document with the descriptor's digests where it has none, and with its signatures.

    Entries of signatures that the document already has are kept as they are, with fields that are not read.
    """
    signed = copy.deepcopy(dict(document))
    body = signed["spec"] if descriptor.schema == SCHEMA_V3 else signed["component"]
    references = "references" if descriptor.schema == SCHEMA_V3 else "componentReferences"
    _add_digests(body.get("resources") or (), [resource.digest for resource in descriptor.resources])
    _add_digests(body.get(references) or (), [reference.digest for reference in descriptor.references])
    known = {entry["name"]: entry for entry in signed.get("signatures") or ()}
    entries = [(signature, signature_entry(signature)) for signature in descriptor.signatures]
    signed["signatures"] = [
        known[signature.name] if signature.name in known and _is_same_document(known[signature.name], entry) else entry
        for signature, entry in entries
    ]
    return signed


def _is_same_document(known: Mapping[str, Any], entry: Mapping[str, Any]) -> bool:
    return bool(known.get("signature", {}).get("value") == entry["signature"]["value"])


def _add_digests(entries: Sequence[dict[str, Any]], digests: Sequence[Digest | None]) -> None:
    for entry, digest in zip(entries, digests, strict=True):
        if not entry.get("digest") and digest is not None:
            entry["digest"] = digest_entry(digest)


class VerifyRequest(Struct, frozen=True):
    """What has to be verified, and whom to trust.

    signatures   names of signatures; none means that all must be good
    issuer       required distinguished name of the certificate
    skip_images  do not fetch images to compare them with their digests
    """

    location: ComponentLocation
    keys: Keys
    signatures: tuple[str, ...] = ()
    issuer: str = ""
    skip_images: bool = False
    now: datetime | None = None


class VerifiedComponent(Struct, frozen=True):
    """A component whose signatures and content are good."""

    component: StoredComponent
    signatures: tuple[Signature, ...]
    content: CheckedContent


def verify_component(store: ArtifactStore, request: VerifyRequest) -> VerifiedComponent:
    """Verify a component. Raise SignatureError for the first thing that is wrong, and RegistryError."""
    if not (request.keys.public_key or request.keys.roots):
        raise UsageError("a key or root certificates are required", hint="use --public-key FILE or --ca-cert FILE")
    component = require_component(store, request.location)
    names = request.signatures or tuple(signature.name for signature in component.descriptor.signatures)
    if not names:
        raise SignatureError(f"{request.location} is not signed", hint="it was not used")
    contents: dict[tuple[str, str], CheckedContent] = {}
    verified = [_verified(store, request, component, name, contents) for name in dict.fromkeys(names)]
    return VerifiedComponent(component, tuple(verified), next(iter(contents.values())))


def _verified(
    store: ArtifactStore,
    request: VerifyRequest,
    component: StoredComponent,
    name: str,
    contents: dict[tuple[str, str], CheckedContent],
) -> Signature:
    descriptor = component.descriptor
    signature = descriptor.signature(name)
    if signature is None or has_all_digests(descriptor):
        # nothing is fetched for a component that is not signed by a trusted key
        signature = verify(descriptor, request.keys, name=name, issuer=request.issuer, now=request.now)
    kind = (signature.digest.hash_algorithm, signature.digest.normalisation_algorithm)
    if kind in contents and has_all_digests(descriptor):
        return signature
    digests = ComponentDigests(store, *kind, skip_images=request.skip_images)
    complete = digests.complete(component)
    contents[kind] = digests.checked
    return verify(
        replace(descriptor, resources=complete.resources, references=complete.references),
        request.keys,
        name=name,
        issuer=request.issuer,
        now=request.now,
    )
