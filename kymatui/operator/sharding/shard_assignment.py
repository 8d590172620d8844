"""Which shard an object belongs to, and which replica should have which shard: by rendezvous hashing, without state."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from functools import lru_cache


def _weight(*words: str) -> int:
    """Return the same number in all processes; `hash` differs between them."""
    return int.from_bytes(hashlib.blake2b("\0".join(words).encode(), digest_size=8).digest(), "big")


@lru_cache(maxsize=65_536)
def shard_of(name: str, shards: int) -> int:
    """Return the shard of a name. With one shard more, only the names of the new shard move."""
    return max(range(shards), key=lambda shard: _weight(name, str(shard)))


def assign_shards(shards: int, replicas: Iterable[str]) -> Mapping[int, str]:
    """Return the replica of each shard; the numbers of two replicas' shards differ by 1 at most.

    All replicas that see the same replicas get the same answer. It is empty without replicas.
    """
    names = sorted(set(replicas))
    if not names:
        return {}
    least, more = divmod(shards, len(names))
    loads = dict.fromkeys(names, 0)
    found: dict[int, str] = {}
    pairs = ((_weight(name, f"shard {shard}"), shard, name) for shard in range(shards) for name in names)
    for _, shard, name in sorted(pairs, reverse=True):
        if shard in found or loads[name] > least or (loads[name] == least and not more):
            continue
        more -= loads[name] == least
        loads[name] += 1
        found[shard] = name
    return found
