"""A signed chart is accepted only from a known signer and only unchanged."""

from __future__ import annotations

import hashlib
from typing import Any

import pytest

from kymatui.errors import HelmError
from kymatui.helm.charts.provenance import verify

sequoia = pytest.importorskip("pysequoia", reason="pysequoia is not installed")

ARCHIVE = b"the bytes of an archive"
FILENAME = "demo-0.1.0.tgz"
TEXT = f"""apiVersion: v2
name: demo
version: 0.1.0

...
files:
  {FILENAME}: sha256:{hashlib.sha256(ARCHIVE).hexdigest()}
"""


@pytest.fixture(scope="module")
def key() -> Any:
    return sequoia.Tsk.generate("Ann <ann@example.org>")


@pytest.fixture(scope="module")
def ring(key: Any) -> bytes:
    return bytes(key.extract_certificate())


def sign(key: Any, text: str = TEXT) -> bytes:
    return bytes(sequoia.sign(key.signer(), text.encode(), mode=sequoia.SignatureMode.CLEAR))


def test_a_signed_archive_names_its_signer(key: Any, ring: bytes) -> None:
    found = verify(ARCHIVE, FILENAME, sign(key), ring)
    assert (found.name, found.version) == ("demo", "0.1.0")
    assert found.users == ("Ann <ann@example.org>",)
    assert len(found.signers) == 1


def test_a_changed_archive_is_refused(key: Any, ring: bytes) -> None:
    with pytest.raises(HelmError, match=r"sha256 sum does not match for demo-0.1.0"):
        verify(ARCHIVE + b"!", FILENAME, sign(key), ring)


def test_a_changed_provenance_is_refused(key: Any, ring: bytes) -> None:
    with pytest.raises(HelmError, match="the signature does not hold"):
        verify(ARCHIVE, FILENAME, sign(key).replace(b"version: 0.1.0", b"version: 0.1.1"), ring)


def test_a_signer_who_is_not_in_the_keyring_is_refused(ring: bytes) -> None:
    stranger = sequoia.Tsk.generate("Eve <eve@example.org>")
    with pytest.raises(HelmError, match="the signature does not hold"):
        verify(ARCHIVE, FILENAME, sign(stranger), ring)


def test_another_file_name_is_refused(key: Any, ring: bytes) -> None:
    with pytest.raises(HelmError, match=r"does not contain a SHA for a file named 'other.tgz'"):
        verify(ARCHIVE, "other.tgz", sign(key), ring)


@pytest.mark.parametrize("text", [b"", b"not signed at all", TEXT.encode()])
def test_an_unsigned_text_is_refused(text: bytes, ring: bytes) -> None:
    with pytest.raises(HelmError, match="signature block not found"):
        verify(ARCHIVE, FILENAME, text, ring)


def test_a_signed_text_that_is_no_provenance_is_refused(key: Any, ring: bytes) -> None:
    with pytest.raises(HelmError, match="at least two parts"):
        verify(ARCHIVE, FILENAME, sign(key, "hello\n"), ring)


def test_a_keyring_that_is_none_is_refused(key: Any) -> None:
    with pytest.raises(HelmError):
        verify(ARCHIVE, FILENAME, sign(key), b"no keys")
