"""Short names of containers in front of their lines, and what the screen says about them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import takewhile

from msgspec import Struct

from kymatui.actions.logs import LogState, LogStatus
from kymatui.domain.kubernetes.refs import ObjectRef
from kymatui.domain.kubernetes.terminal_text import format_count, sanitize
from kymatui.domain.logs.log_query import LogOptions
from kymatui.domain.logs.log_sources import LogSource, ModuleLogs
from kymatui.moments import format_duration

_LONGEST = 30  # cells before each line; the end of a Pod's name is what differs


def source_labels(sources: Sequence[LogSource]) -> dict[LogSource, str]:
    """Return what tells the containers apart: their names, the ends of their Pods' names, or both.

    A single container needs no label.
    """
    if len(sources) < 2:
        return dict.fromkeys(sources, "")
    pods = list(dict.fromkeys(source.pod for source in sources))
    same = "".join(a for a, _ in takewhile(lambda pair: pair[0] == pair[1], zip(min(pods), max(pods), strict=False)))
    start = same.rfind("-") + 1 if len(pods) > 1 else 0
    names = len({source.container for source in sources})
    several, every = names > 1, names == len(sources)
    labels = {}
    for source in sources:
        parts = [source.pod[start:]] if len(pods) > 1 and not every else []
        parts += [source.container] if several else []
        label = sanitize(" ".join(parts))
        labels[source] = label if len(label) <= _LONGEST else f"…{label[1 - _LONGEST :]}"
    return labels


def reading_words(sources: Sequence[LogSource], options: LogOptions) -> str:
    """Return which containers are read, and from when on."""
    pods = len({source.pod for source in sources})
    parts = [f"{format_count(len(sources), 'container')} of {format_count(pods, 'Pod')}"]
    if len(sources) == 1:
        parts = [sanitize(str(sources[0]))]
    if options.previous:
        parts.append("before the last restart")
    elif options.since is not None:
        parts.append(f"last {format_duration(options.since)}")
    elif options.tail is not None:
        parts.append(f"last {options.tail:,} lines" + (" of each" if len(sources) > 1 else ""))
    else:
        parts.append("everything")
    return " · ".join(parts)


_TROUBLES = (LogState.FORBIDDEN, LogState.FAILED, LogState.WAITING, LogState.DELETED)


def trouble_words(states: Mapping[LogSource, LogStatus], sources: Sequence[LogSource]) -> str:
    """Return the worst that is reported of the containers, "" if nothing is."""
    for state in _TROUBLES:
        troubled = [source for source in sources if source in states and states[source].state is state]
        troubled = [source for source in troubled if states[source].message]
        if troubled:
            more = f" (and {len(troubled) - 1} more)" if len(troubled) > 1 else ""
            return sanitize(f"{state}: {troubled[0]}{more}: {states[troubled[0]].message}")
    return ""


class LogCounts(Struct, frozen=True):
    """How many lines are displayed and stored, were dropped, and how many containers are too many."""

    shown: int
    total: int
    dropped: int = 0
    left_out: int = 0


class LogMarks(Struct, frozen=True):
    """What the text displays: whether it follows, its filter, its search, and whether the search found a line."""

    is_following: bool = True
    filter: str = ""
    search: str = ""
    has_match: bool = False


def state_words(
    counts: LogCounts, marks: LogMarks, states: Mapping[LogSource, LogStatus], sources: Sequence[LogSource]
) -> str:
    """Return the line under the log: the worst message first, then what is displayed."""
    parts = [trouble_words(states, sources)]
    if counts.left_out:
        parts.append(f"{format_count(counts.left_out, 'container')} not read; choose fewer (o)")
    parts.append("following" if marks.is_following else "stopped (f follows)")
    parts.append(f"{counts.total:,} lines" if counts.total != 1 else "1 line")
    if counts.dropped:
        parts.append(f"older lines dropped: {counts.dropped:,}")
    if marks.filter:
        parts.append(f"filter {sanitize(marks.filter)}: {counts.shown:,} shown")
    if marks.search:
        parts.append(f"/{sanitize(marks.search)}" + ("" if marks.has_match else ": no match"))
    return " · ".join(part for part in parts if part)


def missing_words(logs: ModuleLogs, module: str, ref: ObjectRef | None, *, has_roots: bool) -> str:
    """Return why there are no containers to read; `has_roots` tells whether any object may have Pods."""
    if logs.waiting:
        names = ", ".join(pod.name for pod in logs.waiting[:3])
        return f"No container has started yet: {names}. The events (e) say why."
    if logs.gap is not None:
        return f"Pods: {logs.gap}"
    if logs.containers:
        return "No Pod has a container of this name; choose another one (o)."
    if ref is not None:
        return f"{ref.kind.kind} {ref.name} has no Pods."
    return f"The manager of {module} has no Pods." if has_roots else f"{module} has no manager here; see all Pods (o)."
