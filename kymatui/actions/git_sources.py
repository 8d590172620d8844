"""Changes of objects that come from Git: refused, unless a person overrides it, who is told for how long."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from kymatui.domain.gitops import KINDS, git_warnings, lasting
from kymatui.domain.kubernetes.refs import ObjectRef
from kymatui.errors import KymatuiError, RefusedError

if TYPE_CHECKING:
    from kymatui.domain.gitops import Changed, GitSource
    from kymatui.engine.cluster.ports import Cluster, Object


def require_override(changes: Changed, cluster: Cluster | None) -> RefusedError:
    """Return the refusal of changes, which says how to make them here all the same, and for how long."""
    (until, *more) = dict.fromkeys(_duration(change.source, cluster) for change in changes)
    hint = f"--override-gitops makes it here, {until}{', or longer' if more else ''}"
    return RefusedError("; ".join(git_warnings(changes)), hint=hint, unchanged=True)


def duration_lines(changes: Changed, cluster: Cluster | None) -> tuple[str, ...]:
    """Return for how long changes last beside each source; ask `cluster` for the sources."""
    sources = dict.fromkeys(change.source for change in changes)
    return tuple(f"this lasts {_duration(source, cluster)} ({source})" for source in sources)


def _duration(source: GitSource, cluster: Cluster | None) -> str:
    return lasting(source, _read(source, cluster) if cluster is not None else None)


def _read(source: GitSource, cluster: Cluster) -> Object | None:
    group, kind = KINDS[source.tool]
    try:
        served = cluster.kinds(group, kind) if source.namespace else ()
        return next(iter(_found(cluster, [ObjectRef(one.gvk, source.namespace, source.name) for one in served])), None)
    except KymatuiError:  # it is on another cluster, or may not be read: for how long is then unknown
        return None


def _found(cluster: Cluster, refs: Iterable[ObjectRef]) -> Iterable[Object]:
    return filter(None, map(cluster.get, refs))
