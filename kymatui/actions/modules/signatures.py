"""Whose signature is asked for before anything of a source is used: a chart's provenance, a module's component."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from kymatui.actions.components.template_component import embedded_descriptor
from kymatui.domain.kyma.module_templates import ModuleTemplate
from kymatui.domain.kyma.versions import same_version
from kymatui.errors import ConfigurationError, UsageError
from kymatui.ocm import ComponentDescriptor
from kymatui.ocm.errors import SignatureError
from kymatui.ocm.module_layers import repository
from kymatui.ocm.signatures import Keys

if TYPE_CHECKING:
    from kymatui.actions.components.signature_reader import SignatureReader
    from kymatui.actions.modules.module_sources import ModuleSource
    from kymatui.domain.plans.direct_install import InstallChoice
    from kymatui.engine.bundles.bundle import Bundle
    from kymatui.engine.cluster.ports import Blobs
    from kymatui.engine.sources.artifact_store import ArtifactStore
    from kymatui.engine.sources.component_source import ModuleComponent, Trust
    from kymatui.engine.sources.render_target import RenderTarget


class SignatureOptions(Struct, frozen=True):
    """Files that say whom to trust, and what is asked of the signature.

    keyring     OpenPGP certificates of those who sign charts
    public_key  the PEM key of who signs components, or `roots`, PEM certificates that theirs lead to
    signature   which, where a component has several
    issuer      the distinguished name that the certificate has to have
    """

    keyring: str = ""
    public_key: str = ""
    roots: str = ""
    signature: str = ""
    issuer: str = ""


def refuse_unsigned_kind(source: ModuleSource) -> None:
    """Raise UsageError for what nobody can sign."""
    if source.file or source.kustomization:
        raise UsageError(
            f"{source.file or source.kustomization} has no signature to verify",
            hint="use --verify only with charts, components and modules of the catalog",
        )


def signed_module(
    choice: InstallChoice, signers: SignatureOptions, blobs: Blobs, insecure: tuple[str, ...] = ()
) -> Bundle:
    """Return a module from the layers of its component, each as it was signed, its default resource too.

    Raises SignatureError before anything is fetched where the component is not signed by whom it has to be, and before
    anything is used where a layer is another one.
    """
    from kymatui.engine.sources.component_source import ModuleComponent

    trust = read_trust(signers)
    template = choice.template
    descriptor = embedded_descriptor(template)
    if descriptor is None:
        raise SignatureError(f"{template.ref} is not signed: it has no component descriptor", hint="not installed")
    require_offered(template, descriptor)
    host = repository(descriptor).partition("/")[0]
    module = ModuleComponent(descriptor, blobs, insecure=host in insecure, trust=trust)
    bundle = only_bundle(module, choice.namespace, str(template.ref))
    return replace(bundle, name=template.module, version=template.version)


def read_trust(signers: SignatureOptions) -> Trust:
    """Return whom a module's component has to be signed by. Raise UsageError without a key or root certificates."""
    from kymatui.engine.sources.component_source import Trust

    if not (signers.public_key or signers.roots):
        raise UsageError(
            "a key or root certificates are required to verify a module", hint="use --public-key FILE or --ca-cert FILE"
        )
    key = read_signer_file(signers.public_key, "--public-key") if signers.public_key else b""
    roots = read_signer_file(signers.roots, "--ca-cert") if signers.roots else b""
    return Trust(Keys(key, roots), signers.signature, signers.issuer)


def signature_reader(store: ArtifactStore, public_key: str) -> SignatureReader:
    """Return what reads signatures, verified with the key in a file, "" for none. Raise ConfigurationError."""
    from kymatui.actions.components.signature_reader import SignatureReader

    return SignatureReader(store, read_trust(SignatureOptions(public_key=public_key)) if public_key else None)


def only_bundle(module: ModuleComponent, namespace: str, where: str, target: RenderTarget | None = None) -> Bundle:
    """Return the bundle of a component. Raise ConfigurationError for several charts of the first generation."""
    bundles = module.bundles(namespace=namespace, target=target)
    if len(bundles) != 1:
        names = ", ".join(bundle.name for bundle in bundles)
        raise ConfigurationError(f"{where} has {len(bundles)} parts ({names}), so it cannot be installed directly")
    return bundles[0]


def require_offered(template: ModuleTemplate, descriptor: ComponentDescriptor) -> None:
    """Raise SignatureError unless the component is the module and version that the template offers."""
    if descriptor.name.rpartition("/")[2] != template.module or not same_version(descriptor.version, template.version):
        raise SignatureError(
            f"{template.ref} offers {template.module} {template.version}, but its component is "
            f"{descriptor.name} {descriptor.version}",
            hint="the signature is for another component; not installed",
        )


def read_signer_file(path: str, what: str) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise ConfigurationError(f"{what}: {path} cannot be read: {error.strerror or error}") from error
