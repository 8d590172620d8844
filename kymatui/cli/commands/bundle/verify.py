"""`kymatui bundle verify`: checks the signatures of a component, or of an image with --cosign."""

from __future__ import annotations

import argparse

from kymatui.actions.modules.signatures import read_signer_file
from kymatui.cli.cluster_options import add_fetching, add_option, add_options, fetch_options
from kymatui.cli.options.registry_options import add_mapping, image_location, located_component
from kymatui.cli.output.printing import print_line
from kymatui.domain.kubernetes.terminal_text import format_count
from kymatui.errors import UsageError
from kymatui.ocm import Keys
from kymatui.publishing.image_signatures import VerifiedImage, verify_image
from kymatui.publishing.sign import VerifiedComponent, VerifyRequest, verify_component
from kymatui.sessions.registries import open_registries


def configure(parser: argparse.ArgumentParser) -> None:
    add_option(parser, "reference REFERENCE", "HOST[:PORT][/PATH]//COMPONENT:VERSION; an image with --cosign")
    add_option(parser, "--cosign", "verify an image that was signed with cosign and a key")
    add_option(parser, "--signature NAME…", "signature to verify (default: all of them); repeatable", dest="signatures")
    options = {
        "--public-key FILE": "PEM key or certificate of the signer",
        "--ca-cert FILE": "PEM root certificates that the signer's certificate must chain to",
        "--issuer NAME": "required name in the certificate: CN=acme,O=example (default: CN with the signature's name)",
        "--skip-images": "do not fetch images to compare their digests",
    }
    add_options(parser, options, "")
    add_mapping(parser)
    add_fetching(parser)


def run(args: argparse.Namespace) -> int:
    store = open_registries(fetch_options(args))
    key = read_signer_file(args.public_key, "--public-key") if args.public_key else b""
    if args.cosign:
        if args.ca_cert or args.issuer or args.signatures:
            raise UsageError("--cosign verifies with --public-key only", hint="remove the other options")
        print_image(verify_image(store, image_location(args.reference, args.mapping), key))
        return 0
    roots = read_signer_file(args.ca_cert, "--ca-cert") if args.ca_cert else b""
    location = located_component(args.reference, args.mapping)
    request = VerifyRequest(location, Keys(key, roots), tuple(args.signatures), args.issuer, args.skip_images)
    print_component(verify_component(store, request))
    return 0


def print_component(verified: VerifiedComponent) -> None:
    content = verified.content
    for signature in verified.signatures:
        issuer = f", certificate of {signature.issuer}" if signature.issuer else ""
        print_line(
            f"verified  signature {signature.name} "
            f"({signature.algorithm}, {signature.digest.normalisation_algorithm}{issuer})"
        )
    print_line(f"verified  {format_count(len(content.resources), 'resource')} against signed digests")
    if len(content.components) > 1:
        print_line(f"verified  {format_count(len(content.components) - 1, 'referenced component')}")
    if content.skipped:
        print_line(f"skipped   {format_count(len(content.skipped), 'image')} (--skip-images)")
    print_line(f"digest    {verified.component.location}@{verified.component.digest}")


def print_image(verified: VerifiedImage) -> None:
    print_line(f"verified  {format_count(verified.signatures, 'signature')} ({verified.form})")
    print_line(f"digest    {verified.repository}@{verified.digest}")
