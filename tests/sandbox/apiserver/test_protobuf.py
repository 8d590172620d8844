"""Bodies in Kubernetes' protobuf."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kymatui.sandbox.apiserver.encoding.protobuf_decoding import MAGIC, ProtobufError, decode_protobuf


def part(number: int, data: bytes) -> bytes:
    """A field of bytes, a message or a string."""
    return bytes([number << 3 | 2]) + bytes([len(data)]) + data


def body(api_version: str, kind: str, raw: bytes) -> bytes:
    type_meta = part(1, api_version.encode()) + part(2, kind.encode())
    return MAGIC + part(1, type_meta) + part(2, raw)


def test_an_object_with_maps_lists_and_numbers() -> None:
    labels = part(11, part(1, b"app") + part(2, b"web"))
    metadata = part(1, b"settings") + labels + part(14, b"a.b/c") + bytes([7 << 3, 5])
    raw = part(1, metadata) + part(2, part(1, b"colour") + part(2, b"red"))
    assert decode_protobuf(body("v1", "ConfigMap", raw)) == {
        "kind": "ConfigMap",
        "apiVersion": "v1",
        "metadata": {"name": "settings", "labels": {"app": "web"}, "finalizers": ["a.b/c"], "generation": 5},
        "data": {"colour": "red"},
    }


def test_bytes_are_base64_and_an_empty_time_is_none() -> None:
    raw = part(1, part(8, b"")) + part(2, part(1, b"key") + part(2, b"\x00\x01"))
    assert decode_protobuf(body("v1", "Secret", raw)) == {
        "kind": "Secret",
        "apiVersion": "v1",
        "metadata": {},
        "data": {"key": "AAE="},
    }


@pytest.mark.parametrize("data", [b"", b"{}", MAGIC + b"\xff", body("v1", "Nope", b"")])
def test_what_is_no_object(data: bytes) -> None:
    with pytest.raises(ProtobufError):
        decode_protobuf(data)


@given(st.binary(max_size=80))
def test_garbage_is_refused_or_read_but_never_fails_otherwise(raw: bytes) -> None:
    with contextlib.suppress(ProtobufError):
        decode_protobuf(body("v1", "Pod", raw))
