"""What is kept from one snapshot for the next changes nothing but the time."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from kymatui.domain.catalog.catalog import build_catalog
from kymatui.domain.snapshot.snapshots import Feed, FeedState, ReadCache, Snapshot
from tests.domain.builders import NOW, deployment, gvk, kyma, manifest, meta, report, resource, snapshot, template


def test_a_catalog_with_a_memory_is_the_same() -> None:
    memory = ReadCache()
    templates = [template("mod", "1.0.0"), template("mod", "1.1.0")]
    metas, owner = [meta("mod", {"regular": "1.1.0"})], [kyma([{"name": "mod"}], status=[report("mod", "1.0.0")])]
    for tag in ("1.0.0", "1.1.0", "1.1.0"):
        seen = snapshot(kymas=owner, templates=templates, release_metas=metas, workloads=[deployment("mod", tag)])
        assert build_catalog(seen, NOW, None, memory) == build_catalog(seen, NOW)


def snapshots() -> list[Snapshot]:
    """One after the other, each with one thing changed; everything else is the very same object."""
    base: dict[str, Any] = {
        "kymas": [kyma([{"name": "mod"}], status=[report("mod", "1.0.0")])],
        "templates": [template("mod", "1.0.0"), template("mod", "1.1.0"), template("other", "1.0.0")],
        "release_metas": [meta("mod", {"regular": "1.1.0"})],
        "manifests": [manifest("mod", "1.0.0")],
        "workloads": [deployment("mod", "1.0.0"), deployment("noise", "1.0.0")],
        "module_resources": {gvk("mod"): (resource("mod"),)},
    }
    steps: list[dict[str, Any]] = [
        {},
        {"workloads": [deployment("mod", "1.1.0"), base["workloads"][1]]},
        {"workloads": [base["workloads"][0], deployment("noise", "2.0.0")]},
        {"module_resources": {gvk("mod"): (resource("mod", "Error"),)}},
        {"module_resources": {gvk("mod"): ()}},
        {"manifests": [manifest("mod", "1.0.0", "Error")]},
        {"manifests": []},
        {"kymas": [kyma([{"name": "mod", "managed": False}])]},
        {"kymas": []},
        {"kymas": [kyma([{"name": "mod"}, {"name": "other"}], status=[report("mod", "1.0.0")])]},
        {"kymas": [kyma([{"name": "mod"}], status=[report("mod", "1.0.0"), report("other", "1.0.0", "Error")])]},
        {"kymas": [kyma([{"name": "mod", "channel": "fast"}], status=[report("mod", "1.0.0")])]},
        {"kymas": [kyma([{"name": "mod"}], channel="fast", status=[report("mod", "1.0.0")])]},
        {"kymas": [kyma([{"name": "mod"}], labelled={"operator.kyma-project.io/beta": "true"})]},
        {"release_metas": [meta("mod", {"regular": "1.0.0"})]},
        {"templates": base["templates"][:1]},
        {"feeds": {"deployments.apps": Feed(FeedState.FORBIDDEN)}, "workloads": []},
        {"definitions": [{"metadata": {"name": "x"}}]},
    ]
    return [snapshot(**{**base, **step}) for step in steps]


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(0, len(snapshots()) - 1), st.sampled_from([0.0, 60.0, 600.0])), max_size=6))
def test_in_whatever_order_things_change_a_memory_changes_no_row(order: list[tuple[int, float]]) -> None:
    memory, seen = ReadCache(), snapshots()
    for index, later in order:
        assert build_catalog(seen[index], NOW + later, None, memory) == build_catalog(seen[index], NOW + later)


def test_a_row_is_kept_while_nothing_that_it_is_made_from_changes() -> None:
    memory, seen = ReadCache(), snapshots()
    first, second = build_catalog(seen[0], NOW, None, memory), build_catalog(seen[2], NOW + 1, None, memory)
    assert first.row("mod") is second.row("mod"), "a workload of nobody's changed"
    assert build_catalog(seen[1], NOW + 1, None, memory).row("mod") is not first.row("mod")
    assert build_catalog(seen[1], NOW + 60, None, memory).row("mod") is not first.row("mod"), "time passes"


def test_a_row_is_kept_while_only_other_modules_change_in_the_kyma() -> None:
    """Each reason of a menu builds the catalog with another edit of the Kyma."""
    memory, seen = ReadCache(), snapshots()
    first = build_catalog(seen[0], NOW, None, memory)
    asked = kyma([{"name": "mod"}, {"name": "other"}], status=[report("mod", "1.0.0")])
    other = build_catalog(replace(seen[0], kymas=(asked,)), NOW, None, memory)
    assert other.row("mod") is first.row("mod")
    assert other.row("other") is not first.row("other")


def test_only_what_changed_is_made_again() -> None:
    memory, made = ReadCache(), []

    def make() -> int:
        made.append(1)
        return len(made)

    one, other = {"a": 1}, {"a": 1}
    assert memory.recall("x", ([one],), make, "ns") == 1
    assert memory.recall("x", ([one],), make, "ns") == 1
    assert memory.recall("x", ([other],), make, "ns") == 2, "an equal object is not the same"
    assert memory.recall("x", ([other, one],), make, "ns") == 3, "one more"
    assert memory.recall("x", ([other, one],), make, "other ns") == 4, "another namespace"
