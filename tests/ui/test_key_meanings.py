"""A key means one thing: the same in all tables, the same in all texts, the same in all dialogs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

import pytest

from tests.reference_screens import CLUSTER, CONTROL_PLANE, DIALOGS, SAME_MEANING, TABS, KeyPlace, key_places, meaning

# `y` and `n` answer a question in every terminal; in a plan `n` is the next change, as in every text.
ANSWERS = {"n": {"confirm.no", "plan.next"}}


def conflicts(place: KeyPlace) -> Iterator[str]:
    found: dict[str, set[str]] = defaultdict(set)
    for key, binding_id in key_places(place):
        found[key].add(meaning(key, binding_id) if binding_id not in ANSWERS.get(key, ()) else "answers")
    for key, meanings in sorted(found.items()):
        if len(meanings) > 1:
            yield f"{key}: {', '.join(sorted(meanings))}"


@pytest.mark.parametrize("place", KeyPlace)
def test_a_key_means_one_thing(place: KeyPlace) -> None:
    assert list(conflicts(place)) == []


def test_every_screen_and_every_name_of_a_meaning_is_looked_at() -> None:
    known = {binding_id for place in KeyPlace for _, binding_id in key_places(place)}
    assert {one for ids in SAME_MEANING.values() for one in ids} <= known
    assert len(known) > 100
    assert len([*CLUSTER, *TABS, *CONTROL_PLANE, *DIALOGS]) > 25
