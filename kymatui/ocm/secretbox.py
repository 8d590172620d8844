"""NaCl's secretbox (XSalsa20 and Poly1305), opened only: cosign encrypts its private keys with it.

Sources: D. J. Bernstein, "Salsa20 specification" and "Extending the Salsa20 nonce".
"""

from __future__ import annotations

import struct
from typing import Final

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.poly1305 import Poly1305

KEY_SIZE: Final = 32  # bytes of a key of XSalsa20
NONCE_SIZE: Final = 24  # bytes of a nonce of XSalsa20
TAG_SIZE: Final = 16  # bytes of a tag of Poly1305, which comes before the content

_WORDS: Final = struct.Struct("<16I")
_SIGMA: Final = struct.unpack("<4I", b"expand 32-byte k")
_QUARTERS: Final = (  # of a double round: the columns, then the rows
    (0, 4, 8, 12),
    (5, 9, 13, 1),
    (10, 14, 2, 6),
    (15, 3, 7, 11),
    (0, 1, 2, 3),
    (5, 6, 7, 4),
    (10, 11, 8, 9),
    (15, 12, 13, 14),
)


class SecretBoxError(ValueError):
    """The key is wrong or the content was changed."""


def open_secretbox(key: bytes, nonce: bytes, box: bytes) -> bytes:
    """Return the decrypted content. Raises SecretBoxError, also for a key or nonce of another size."""
    if len(key) != KEY_SIZE or len(nonce) != NONCE_SIZE or len(box) < TAG_SIZE:
        raise SecretBoxError("a key, nonce or content has the wrong size")
    stream = _xsalsa20(key, nonce, KEY_SIZE + len(box) - TAG_SIZE)
    tag, content = box[:TAG_SIZE], box[TAG_SIZE:]
    try:
        Poly1305.verify_tag(stream[:KEY_SIZE], content, tag)
    except InvalidSignature:
        raise SecretBoxError("the content cannot be decrypted with this key") from None
    return bytes(one ^ other for one, other in zip(content, stream[KEY_SIZE:], strict=True))


def _xsalsa20(key: bytes, nonce: bytes, length: int) -> bytes:
    """Return the first bytes of the key stream."""
    derived = _hsalsa20(key, nonce[:16])
    blocks = ((length - 1) // 64 + 1) if length else 0
    return b"".join(_block(derived, nonce[16:], counter) for counter in range(blocks))[:length]


def _state(key: bytes, middle: bytes) -> list[int]:
    first, second, between = (struct.unpack("<4I", part) for part in (key[:16], key[16:], middle))
    return [_SIGMA[0], *first, _SIGMA[1], *between, _SIGMA[2], *second, _SIGMA[3]]


def _rounds(state: list[int]) -> list[int]:
    x = list(state)
    for _ in range(10):
        for a, b, c, d in _QUARTERS:
            x[b] ^= _rotated(x[a] + x[d], 7)
            x[c] ^= _rotated(x[b] + x[a], 9)
            x[d] ^= _rotated(x[c] + x[b], 13)
            x[a] ^= _rotated(x[d] + x[c], 18)
    return x


def _rotated(value: int, bits: int) -> int:
    value &= 0xFFFFFFFF
    return (value << bits | value >> (32 - bits)) & 0xFFFFFFFF


def _hsalsa20(key: bytes, nonce: bytes) -> bytes:
    x = _rounds(_state(key, nonce))
    return struct.pack("<8I", *(x[at] for at in (0, 5, 10, 15, 6, 7, 8, 9)))


def _block(key: bytes, nonce: bytes, counter: int) -> bytes:
    state = _state(key, nonce + struct.pack("<Q", counter))
    return _WORDS.pack(*((one + other) & 0xFFFFFFFF for one, other in zip(state, _rounds(state), strict=True)))
