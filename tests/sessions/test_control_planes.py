"""The share of one runtime in the listing of a control plane."""

from __future__ import annotations

from typing import Any

import pytest

from kymatui.sessions.control_plane.shared_feeds import index_objects
from kymatui.sessions.feeds.feeds import KYMA_KINDS

WHOLE = {"metadata": {"namespace": "kcp-system", "name": "a", "labels": {"operator.kyma-project.io/kyma-name": "a"}}}


@pytest.mark.parametrize("feed", [kind.feed for kind in KYMA_KINDS])
@pytest.mark.parametrize("odd", [[], [5], 0.5, "text", True, {"labels": [5]}, {"namespace": {}, "labels": {"a": []}}])
def test_objects_with_odd_metadata_belong_to_no_runtime_and_hide_no_others(feed: str, odd: Any) -> None:
    alone = index_objects(feed, [WHOLE])
    both = index_objects(feed, [{"metadata": odd}, WHOLE])
    assert [both[key] for key in alone] == list(alone.values())
    assert sum(map(len, both.values())) == 2
