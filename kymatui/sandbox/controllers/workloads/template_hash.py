"""Short template hashes: FNV-1a over canonical JSON, in the alphabet of k8s.io/apimachinery's rand.

The alphabet is that of real names (no vowels, no similar letters), so a hash looks real; its value differs from Go's
dump of the same struct, on which no client may rely.
"""

from __future__ import annotations

import json
from typing import Any

_LETTERS = "bcdfghjklmnpqrstvwxz2456789"


def fnv32a(data: bytes) -> int:
    value = 0x811C9DC5
    for byte in data:
        value = ((value ^ byte) * 0x01000193) & 0xFFFFFFFF
    return value


def template_hash(template: Any, collisions: int = 0) -> str:
    """Return the pod-template-hash of a pod template, different for each collision."""
    data = json.dumps(template, sort_keys=True, separators=(",", ":")).encode()
    if collisions:
        data += str(collisions).encode()
    return "".join(_LETTERS[ord(digit) % len(_LETTERS)] for digit in str(fnv32a(data)))
