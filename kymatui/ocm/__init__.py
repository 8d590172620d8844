"""Component descriptors of the Open Component Model: read, normalised, compared with their digests, verified.

    descriptor = read_descriptor(document)                     # a dict, as YAML or JSON has it; v2 or v3alpha1
    normalise(descriptor, "jsonNormalisation/v3")              # the bytes that a digest is of
    digest_of(descriptor, "jsonNormalisation/v3", "SHA-256")   # hexadecimal
    verify(descriptor, Keys(public_key=pem), name="acme")      # raises SignatureError
    check_content(descriptor.resources[0], content)            # what was fetched is what was signed
    module_layers(descriptor)                                  # what a Kyma module consists of: manifest, default CR, …

Pure: nothing is fetched or written here.
"""

from kymatui.ocm.descriptors import Descriptor, Digest, Label, Reference, Resource, Signature, Source
from kymatui.ocm.errors import DescriptorError, SignatureError
from kymatui.ocm.modules import ModuleLayer, ModuleLayers, module_layers
from kymatui.ocm.normalising import ALGORITHMS, digest_of, normalise
from kymatui.ocm.reading import parse_descriptor, read_descriptor
from kymatui.ocm.signatures import Keys, check_content, verify

__all__ = [
    "ALGORITHMS",
    "Descriptor",
    "DescriptorError",
    "Digest",
    "Keys",
    "Label",
    "ModuleLayer",
    "ModuleLayers",
    "Reference",
    "Resource",
    "Signature",
    "SignatureError",
    "Source",
    "check_content",
    "digest_of",
    "module_layers",
    "normalise",
    "parse_descriptor",
    "read_descriptor",
    "verify",
]
