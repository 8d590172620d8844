"""Component descriptors of the Open Component Model: read, normalised, digested and verified.

    descriptor = read_descriptor(document)                     # a dict from YAML or JSON; v2 or v3alpha1
    normalise(descriptor, "jsonNormalisation/v3")              # the bytes to digest
    digest_of(descriptor, "jsonNormalisation/v3", "SHA-256")   # hexadecimal
    verify(descriptor, Keys(public_key=pem), name="acme")      # raises SignatureError
    check_content(descriptor.resources[0], content)            # compares with the signed digest
    module_layers(descriptor)                                  # a Kyma module's manifest, default CR, …

The package is pure: it fetches and writes nothing.
"""

from kymatui.ocm.descriptors import (
    ComponentDescriptor,
    ComponentReference,
    ComponentResource,
    ComponentSource,
    Digest,
    Label,
    Signature,
    parse_descriptor,
    read_descriptor,
)
from kymatui.ocm.errors import DescriptorError, SignatureError
from kymatui.ocm.module_layers import ModuleLayer, ModuleLayers, module_layers
from kymatui.ocm.normalisation import ALGORITHMS, digest_of, normalise
from kymatui.ocm.signatures import Keys, check_content, verify

__all__ = [
    "ALGORITHMS",
    "ComponentDescriptor",
    "ComponentReference",
    "ComponentResource",
    "ComponentSource",
    "DescriptorError",
    "Digest",
    "Keys",
    "Label",
    "ModuleLayer",
    "ModuleLayers",
    "Signature",
    "SignatureError",
    "check_content",
    "digest_of",
    "module_layers",
    "normalise",
    "parse_descriptor",
    "read_descriptor",
    "verify",
]
