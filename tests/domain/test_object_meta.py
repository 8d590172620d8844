"""What the metadata of an object says of who wrote it, and when."""

from __future__ import annotations

import pytest

from kymatui.domain.kubernetes.object_meta import last_write

AT = "2026-11-30T07:00:00Z"
LATER = "2026-11-30T08:00:00Z"
SECONDS = 1796022000.0


@pytest.mark.parametrize(
    ("entries", "at"),
    [
        ([], None),
        ([{"manager": "b", "time": AT}], None),
        ([{"manager": "a", "time": "yesterday"}], None),
        ([{"manager": "a", "time": AT}, {"manager": "a", "time": LATER, "subresource": "status"}], SECONDS),
        ([{"manager": "a", "time": LATER}, {"manager": "a", "time": AT}, "none", {"manager": 7}], SECONDS + 3600),
    ],
)
def test_a_write_of_a_subresource_is_no_write_of_the_object(entries: list[object], at: float | None) -> None:
    assert last_write({"metadata": {"managedFields": entries}}, "a") == at
