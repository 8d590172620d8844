"""Short names for templates: FNV-1a over canonical JSON, written in the alphabet of k8s.io/apimachinery's rand.

The letters are those real names use (no vowels, nothing that looks alike), so a hash reads like a real one; its value
is not what Go's dump of the same struct would give, which no client may rely on.
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
    """The pod-template-hash of a pod template; another one for each collision."""
    data = json.dumps(template, sort_keys=True, separators=(",", ":")).encode()
    if collisions:
        data += str(collisions).encode()
    return "".join(_LETTERS[ord(digit) % len(_LETTERS)] for digit in str(fnv32a(data)))
