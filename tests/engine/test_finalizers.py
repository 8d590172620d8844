"""What blocks the deletion of an object, in words that agree with the number of finalizers."""

from __future__ import annotations

import pytest

from kymatui.engine.cluster.kind_order import deletion_blocker


@pytest.mark.parametrize(
    ("finalizers", "words"),
    [
        ((), ", terminating"),
        (("foregroundDeletion",), ", terminating"),
        (("a.io/one",), ", blocked by finalizer a.io/one"),
        (("a.io/one", "a.io/two"), ", blocked by finalizers a.io/one, a.io/two"),
    ],
)
def test_finalizers_agree_with_their_number(finalizers: tuple[str, ...], words: str) -> None:
    metadata = {"name": "one", "deletionTimestamp": "2026-01-01T00:00:00Z", "finalizers": [*finalizers]}
    assert deletion_blocker({"metadata": metadata}) == words
    assert deletion_blocker({"metadata": {"name": "one"}}) == ", deletion not started"
