"""The sources of objects that come from Git, and for how long a change lasts beside each, as its own object says."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from typing import TYPE_CHECKING

from kymatui.domain.gitops import KINDS, GitChange, GitSource, lasting
from kymatui.domain.kubernetes.refs import ObjectRef
from kymatui.errors import KymatuiError

if TYPE_CHECKING:
    from kymatui.engine.cluster.ports import Cluster, Object


def read_durations(changes: Iterable[GitChange], cluster: Cluster | None) -> dict[GitSource, str]:
    """Return for how long changes last beside each of their sources; ask `cluster` once for each."""
    sources: dict[GitSource, bool] = {}
    for change in changes:
        sources[change.source] = sources.get(change.source, False) or change.release
    return {source: lasting(source, _read(source, cluster), release=release) for source, release in sources.items()}


def duration_line(source: GitSource, duration: str) -> str:
    return f"this lasts {duration} ({source})"


def _read(source: GitSource, cluster: Cluster | None) -> Object | None:
    """Return the object of a source, None where it is on another cluster, or may not be read."""
    group, kind = KINDS[source.tool]
    if cluster is None or not source.namespace:
        return None
    with suppress(KymatuiError):  # for how long is then unknown
        for served in cluster.kinds(group, kind):
            if (body := cluster.get(ObjectRef(served.gvk, source.namespace, source.name))) is not None:
                return body
    return None
