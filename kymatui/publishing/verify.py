"""Verification of a component in a registry: its signatures, then all content that they cover."""

from __future__ import annotations

from datetime import datetime

from msgspec import Struct
from msgspec.structs import replace

from kymatui.actions.components.component_digests import CheckedContent, ComponentDigests, has_all_digests
from kymatui.actions.components.stored_components import StoredComponent, require_component
from kymatui.engine.sources.artifact_store import ArtifactStore
from kymatui.errors import UsageError
from kymatui.ocm import Keys, Signature, SignatureError, verify
from kymatui.ocm.component_location import ComponentLocation


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
