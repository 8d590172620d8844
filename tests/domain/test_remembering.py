"""What is kept from one snapshot for the next changes nothing but the time."""

from __future__ import annotations

from kymatui.domain.catalog import Memory, catalog
from tests.domain.builders import NOW, deployment, kyma, meta, report, snapshot, template


def test_a_catalog_with_a_memory_is_the_same() -> None:
    memory = Memory()
    templates = [template("mod", "1.0.0"), template("mod", "1.1.0")]
    metas, owner = [meta("mod", {"regular": "1.1.0"})], [kyma([{"name": "mod"}], status=[report("mod", "1.0.0")])]
    for tag in ("1.0.0", "1.1.0", "1.1.0"):
        seen = snapshot(kymas=owner, templates=templates, release_metas=metas, workloads=[deployment("mod", tag)])
        assert catalog(seen, NOW, None, memory) == catalog(seen, NOW)


def test_only_what_changed_is_made_again() -> None:
    memory, made = Memory(), []

    def make() -> int:
        made.append(1)
        return len(made)

    one, other = {"a": 1}, {"a": 1}
    assert memory.recall("x", ([one],), make, "ns") == 1
    assert memory.recall("x", ([one],), make, "ns") == 1
    assert memory.recall("x", ([other],), make, "ns") == 2, "an equal object is not the same"
    assert memory.recall("x", ([other, one],), make, "ns") == 3, "one more"
    assert memory.recall("x", ([other, one],), make, "other ns") == 4, "another namespace"
