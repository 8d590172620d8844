"""Rendezvous hashing: balanced, the same everywhere, and few move when something comes or goes."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from kymatui.operator.sharding.shard_holder import assign_shards, shard_of

NAMES = st.sets(st.text("abcdefghijklmnopqrstuvwxyz0123456789-", min_size=1, max_size=20), min_size=1, max_size=12)


@given(st.text(max_size=40), st.integers(1, 64))
def test_with_one_shard_more_a_name_stays_or_moves_to_the_new_one(name: str, shards: int) -> None:
    assert shard_of(name, shards + 1) in (shard_of(name, shards), shards)


def test_the_names_of_a_fleet_are_balanced() -> None:
    for shards in (2, 7, 16, 32):
        counts = Counter(shard_of(f"c-{number:07x}", shards) for number in range(5000))
        assert len(counts) == shards
        fair = 5000 / shards
        assert max(counts.values()) < fair + 5 * fair**0.5, "within five standard deviations"


def test_other_processes_come_to_the_same_result() -> None:
    names = [f"kyma-{number}" for number in range(50)]
    code = (
        "from kymatui.operator.sharding.shard_holder import assign_shards, shard_of; "
        "print([shard_of(f'kyma-{n}', 16) for n in range(50)], sorted(assign_shards(16, ['c', 'a', 'b']).items()))"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()
    assert found == f"{[shard_of(one, 16) for one in names]} {sorted(assign_shards(16, ['a', 'b', 'c']).items())}"


@given(st.integers(1, 64), NAMES)
def test_each_replica_has_a_fair_share(shards: int, replicas: set[str]) -> None:
    found = assign_shards(shards, replicas)
    assert set(found) == set(range(shards))
    counts = Counter(found.values())
    loads = [counts[one] for one in replicas]
    assert max(loads) - min(loads) <= 1
    assert set(counts) <= replicas


@given(NAMES, st.text("xyz", min_size=21, max_size=21))
def test_what_moves_when_a_replica_comes_is_little_more_than_its_share(replicas: set[str], new: str) -> None:
    shards = 64
    before, after = assign_shards(shards, replicas), assign_shards(shards, {*replicas, new})
    moved = sum(before[shard] != after[shard] for shard in before)
    share = sum(one == new for one in after.values())
    assert moved >= share
    assert moved <= 3 * share + len(replicas), (moved, share)


def test_without_replicas_nothing_is_assigned() -> None:
    assert assign_shards(4, []) == {}
