"""`kymatui bundle sign`: adds a signature to a component, or with --cosign to an image."""

from __future__ import annotations

import argparse
import getpass
import os
import re
import sys
from pathlib import Path
from typing import Final

from kymatui.actions.modules.signatures import read_signer_file
from kymatui.cli.cluster_options import add_fetching, add_option, fetch_options
from kymatui.cli.options.registry_options import add_mapping, image_location, located_component
from kymatui.cli.output.printing import print_line
from kymatui.domain.kubernetes.terminal_text import format_count
from kymatui.errors import ConfigurationError, UsageError
from kymatui.ocm import ALGORITHMS
from kymatui.ocm.pem import PrivateKey, read_private_key
from kymatui.ocm.signing import HASH_ALGORITHMS, SIGNATURE_ALGORITHMS
from kymatui.publishing.image_signatures import SignatureForm, sign_image
from kymatui.publishing.sign import SignRequest, sign_component
from kymatui.sessions.registries import open_registries


def configure(parser: argparse.ArgumentParser) -> None:
    add_option(parser, "reference REFERENCE", "HOST[:PORT][/PATH]//COMPONENT:VERSION; an image with --cosign")
    add_private_key(parser)
    add_option(parser, "--signature NAME", "name of the new signature", default="")
    add_option(
        parser,
        "--algorithm",
        f"signature algorithm (default: {SIGNATURE_ALGORITHMS[0]})",
        choices=SIGNATURE_ALGORITHMS,
        default=SIGNATURE_ALGORITHMS[0],
    )
    add_option(parser, "--hash", "default: SHA-256", choices=HASH_ALGORITHMS, default=HASH_ALGORITHMS[0])
    add_option(
        parser,
        "--normalisation",
        "normal form of the descriptor (default: jsonNormalisation/v3)",
        choices=tuple(ALGORITHMS),
        default="jsonNormalisation/v3",
    )
    add_option(parser, "--certificate FILE", "PEM certificates of the key, to store with the signature", default="")
    add_option(parser, "--ca-cert FILE", "PEM root certificates that --certificate must chain to", default="")
    add_option(parser, "--issuer NAME", "required name in --certificate", default="")
    add_option(parser, "--skip-images", "do not fetch images to compare their digests")
    add_option(parser, "--overwrite", "replace a signature of the same name")
    add_option(parser, "--cosign", "sign an image as cosign does, with a bundle")
    add_option(parser, "--legacy", "with --cosign: store the signature under sha256-….sig")
    add_mapping(parser)
    add_fetching(parser)


def run(args: argparse.Namespace) -> int:
    if args.cosign:
        return _sign_image(args)
    if args.legacy:
        raise UsageError("--legacy is an option of --cosign", hint="add --cosign")
    if not args.signature:
        raise UsageError("a component's signature needs a name", hint="use --signature NAME")
    location = located_component(args.reference, args.mapping)
    request = SignRequest(
        location,
        args.signature,
        args.algorithm,
        args.hash,
        args.normalisation,
        certificates=read_signer_file(args.certificate, "--certificate") if args.certificate else b"",
        roots=read_signer_file(args.ca_cert, "--ca-cert") if args.ca_cert else b"",
        issuer=args.issuer,
        skip_images=args.skip_images,
        overwrite=args.overwrite,
    )
    key = private_key(args.private_key)
    signed = sign_component(open_registries(fetch_options(args)), request, key)
    signature = signed.signature
    outcome = "unchanged" if signed.digest == signed.former else "signed"
    print_line(
        f"{outcome:<10}{signed.location} as {signature.name} "
        f"({signature.algorithm}, {signature.digest.normalisation_algorithm})"
    )
    print_line(f"verified  {format_count(len(signed.content.resources), 'resource')} before signing")
    if signed.content.skipped:
        print_line(f"skipped   {format_count(len(signed.content.skipped), 'image')} (--skip-images)")
    print_line(f"digest    {signed.digest}")
    return 0


def _sign_image(args: argparse.Namespace) -> int:
    if args.signature or args.certificate:
        raise UsageError("--cosign signs with a key only", hint="remove --signature and --certificate")
    image = image_location(args.reference, args.mapping)
    key = private_key(args.private_key)
    form = SignatureForm.LEGACY if args.legacy else SignatureForm.BUNDLE
    signed = sign_image(open_registries(fetch_options(args)), image, key, form=form)
    print_line(f"{'signed' if signed.is_new else 'unchanged':<10}{signed.repository}@{signed.digest} ({signed.form})")
    print_line(f"digest    {signed.signature}")
    return 0


# Private keys for signing: from a file, a variable of the environment, or standard input; never from an argument.


PASS_VARIABLE: Final = "KYMATUI_KEY_PASSWORD"  # noqa: S105 (the name of a variable)
LARGEST_KEY: Final = 64 * 1024  # bytes; a larger file is no key, and standard input may have no end

_VARIABLE: Final = re.compile(r"env://([A-Za-z_][A-Za-z0-9_]*)")


def add_private_key(parser: argparse.ArgumentParser) -> None:
    add_option(
        parser,
        "--private-key FILE",
        f"PEM file, env://VARIABLE, or - for standard input; {PASS_VARIABLE} has its password",
        required=True,
    )


def private_key(source: str) -> PrivateKey:
    """Return the key. Raises UsageError, ConfigurationError and PrivateKeyError; none of them names its content."""
    text = _text(source)
    if len(text) > LARGEST_KEY:
        raise ConfigurationError(f"--private-key is larger than {LARGEST_KEY} bytes")
    return read_private_key(text, lambda: _password(source))


def _text(source: str) -> bytes:
    if "PRIVATE KEY" in source or "\n" in source:
        raise UsageError("--private-key must not be the key itself", hint="use a file, env://VARIABLE, or - for stdin")
    if source == "-":
        return sys.stdin.buffer.read(LARGEST_KEY + 1)
    if source.startswith("env://"):
        match = _VARIABLE.fullmatch(source)
        value = os.environ.get(match[1], "") if match else ""
        if not value:
            raise UsageError(f"--private-key: {source} is not set", hint="write env://NAME of a variable with the key")
        return value.encode("utf-8", "surrogateescape")
    try:
        with Path(source).open("rb") as file:
            return file.read(LARGEST_KEY + 1)
    except OSError as error:
        raise ConfigurationError(f"--private-key: {source} cannot be read: {error.strerror or error}") from error


def _password(source: str) -> bytes:
    password = os.environ.get(PASS_VARIABLE)
    if password is not None:
        return password.encode("utf-8", "surrogateescape")
    if source == "-" or not sys.stdin.isatty():
        raise UsageError(
            "the private key is encrypted, and there is no terminal to ask for its password",
            hint=f"set {PASS_VARIABLE}",
        )
    return getpass.getpass(f"Password of {source}: ").encode()
