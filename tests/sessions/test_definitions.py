"""Definitions are made once: who compares by identity sees only those that changed."""

from __future__ import annotations

from typing import Any

from kymatui.adapters.kube.objects.api_resource import ApiResource
from kymatui.sessions.cluster.catalog_feeds import CrdMetadata


def item(name: str) -> dict[str, Any]:
    return {"metadata": {"name": name}}


def served(plural: str, kind: str, *, namespaced: bool = True) -> ApiResource:
    return ApiResource("example.org", "v1", kind, plural, namespaced, ("list", "watch"))


ODDS, EVENS = item("odds.example.org"), item("evens.example.org")


def test_what_is_served_is_established_and_has_its_kind() -> None:
    known = {"odds.example.org": served("odds", "Odd", namespaced=False)}
    odd, even = CrdMetadata().of((ODDS, EVENS), known)
    assert odd["spec"] == {"group": "example.org", "names": {"plural": "odds", "kind": "Odd"}, "scope": "Cluster"}
    assert [one["type"] for one in odd["status"]["conditions"]] == ["NamesAccepted", "Established"]
    assert even["spec"]["names"] == {"plural": "evens", "kind": ""}
    assert "status" not in even


def test_nothing_is_made_again_while_nothing_changes() -> None:
    made, items, known = CrdMetadata(), (ODDS, EVENS), {"odds.example.org": served("odds", "Odd")}
    first = made.of(items, known)
    assert made.of(items, known) is first


def test_only_what_changed_is_made_again() -> None:
    made, known = CrdMetadata(), {"odds.example.org": served("odds", "Odd")}
    odd, even = made.of((ODDS, EVENS), known)
    again = made.of((ODDS, item("evens.example.org")), dict(known))
    assert again[0] is odd
    assert again[1] is not even
    now_served = made.of((ODDS, EVENS), {**known, "evens.example.org": served("evens", "Even")})
    assert now_served[1]["spec"]["names"]["kind"] == "Even"


def test_objects_that_make_no_sense_are_passed_on() -> None:
    (found,) = CrdMetadata().of(({"metadata": 5},), {})
    assert found["spec"]["group"] == ""
