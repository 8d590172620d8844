"""What changes between two versions of a module."""

from __future__ import annotations

from typing import Any

import pytest

from kymatui.domain.versions.version_diff import ChangeKind, ValueChange, compare_versions, field_changes
from tests.domain.builders import a_template, template

OLD = a_template(template("mod", "1.0.0", requiresDowntime=False, associatedResources=[{"kind": "A", "group": "g"}]))
NEW = a_template(
    template("mod", "1.2.0", requiresDowntime=True, associatedResources=[{"kind": "B"}, {"kind": "A", "group": "g"}])
)


def test_two_versions() -> None:
    found = compare_versions(OLD, NEW)
    assert (found.before, found.after, str(found.distance), found.downgrade) == ("1.0.0", "1.2.0", "2 minors", False)
    assert found.template == (
        ValueChange(ChangeKind.ADDED, "associatedResources[B]", None, {"kind": "B"}),
        ValueChange(ChangeKind.CHANGED, "requiresDowntime", False, True),
    )


def test_backwards_is_a_downgrade() -> None:
    assert compare_versions(NEW, OLD).downgrade


@pytest.mark.parametrize(
    ("before", "after", "found"),
    [
        pytest.param({"a": 1}, {"a": 1}, [], id="nothing"),
        pytest.param({"a": 1}, {"a": True}, [("changed", "a")], id="one and true are not the same"),
        pytest.param({"a": {"b": 1}}, {"a": {}}, [("removed", "a.b")], id="a field less"),
        pytest.param({}, {"a": [1]}, [("added", "a")], id="a field more"),
        pytest.param([1, 2], [1, 3], [("changed", "[1]")], id="lists by place"),
        pytest.param(
            [{"name": "x", "v": 1}, {"name": "y"}],
            [{"name": "y"}, {"name": "x", "v": 2}],
            [("changed", "[x].v")],
            id="lists of named things by name",
        ),
        pytest.param("a", {"a": 1}, [("changed", "")], id="another type"),
    ],
)
def test_changes(before: Any, after: Any, found: list[tuple[str, str]]) -> None:
    assert [(change.kind.value, change.path) for change in field_changes(before, after)] == found
