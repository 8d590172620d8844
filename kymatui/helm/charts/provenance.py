"""Provenance files: verification of a chart's signature and digest.

A `.prov` file is a clear-signed text (OpenPGP) with the chart's `Chart.yaml` and the SHA-256 of the archive. Sequoia
verifies signatures through the optional `pysequoia`; without it, verification fails and is never skipped.
"""

from __future__ import annotations

import hashlib
from typing import Any

from msgspec import Struct

from kymatui.errors import HelmError
from kymatui.helm.yaml.reading import load_yaml

_LARGEST = 1024 * 1024


class Provenance(Struct, frozen=True):
    """A verified provenance; `signers` are certificate fingerprints, `users` their user ids."""

    signers: tuple[str, ...]
    users: tuple[str, ...]
    digest: str
    name: str
    version: str


def verify(archive: bytes, filename: str, provenance: bytes, keyring: bytes) -> Provenance:
    """Verify the signature with a certificate of `keyring` (armored or binary), then the digest.

    `filename` is the archive's name in the provenance. Raise HelmError if anything does not match.
    """
    certificates = _certificates(keyring)
    text, signers = _signed_text(provenance, certificates)
    metadata, files = _parts(text)
    expected = files.get(filename)
    if not isinstance(expected, str):
        raise HelmError(f"provenance does not contain a SHA for a file named {filename!r}")
    digest = f"sha256:{hashlib.sha256(archive).hexdigest()}"
    if expected != digest:
        raise HelmError(f"sha256 sum does not match for {filename}: {expected!r} != {digest!r}")
    users = tuple(str(c.user_ids[0]) for c in certificates if c.fingerprint in signers and c.user_ids)
    return Provenance(signers, users, digest, str(metadata.get("name", "")), str(metadata.get("version", "")))


def _sequoia() -> Any:
    try:
        import pysequoia
    except ImportError:
        raise HelmError(
            "provenance cannot be verified: pysequoia is not installed",
            hint="run `pip install pysequoia` in the environment of kymatui",
        ) from None
    return pysequoia


def _certificates(keyring: bytes) -> list[Any]:
    try:
        return list(_sequoia().Cert.split_bytes(keyring))
    except (RuntimeError, ValueError) as error:
        raise HelmError(f"the keyring cannot be read: {_first_line(error)}") from error


def _signed_text(provenance: bytes, certificates: list[Any]) -> tuple[str, tuple[str, ...]]:
    if len(provenance) > _LARGEST:
        raise HelmError(f"the provenance is longer than {_LARGEST} bytes")
    if not provenance.lstrip().startswith(b"-----BEGIN PGP SIGNED MESSAGE-----"):
        raise HelmError("signature block not found: the provenance is no signed message")
    try:
        message = _sequoia().verify(bytes=provenance, store=lambda ids: certificates)
        return message.bytes.decode(), tuple(signature.certificate for signature in message.valid_sigs)
    except (RuntimeError, ValueError, UnicodeDecodeError) as error:
        raise HelmError(
            f"the signature does not hold: {_first_line(error)}",
            hint="the keyring lacks the signer's certificate, or the provenance was changed",
        ) from error


def _parts(text: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the chart's metadata and the digests of files, separated by a line of three dots."""
    head, dots, tail = text.partition("\n...\n")
    sums = load_yaml(tail) if dots else None
    metadata = load_yaml(head)
    files = sums.get("files") if isinstance(sums, dict) else None
    if not isinstance(metadata, dict) or not isinstance(files, dict):
        raise HelmError("message block must have at least two parts: the chart and the sums of its files")
    return metadata, files


def _first_line(error: BaseException) -> str:
    return str(error).split("\n", 1)[0]
