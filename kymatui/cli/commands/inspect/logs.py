"""`kymatui logs NAME`: the logs of a module's manager, or of every Pod of the module, in the order of their times."""

from __future__ import annotations

import argparse
import math
import sys
import threading
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Final

from kymatui.actions.logs import MOST_STREAMS, LogFeed, LogState, LogStatus, read_logs
from kymatui.cli.cluster_options import add_option, add_options, read_duration
from kymatui.cli.options.reading import configure_listing, listed_session, row_of
from kymatui.cli.options.unknown_names import no_manager
from kymatui.cli.output.printing import print_line, print_message, print_text
from kymatui.domain.catalog.catalog import build_catalog
from kymatui.domain.catalog.module_events import module_objects
from kymatui.domain.catalog.rows import Catalog, ModuleRow
from kymatui.domain.kubernetes.refs import ObjectRef
from kymatui.domain.kubernetes.terminal_text import format_count
from kymatui.domain.logs.log_lines import PodLogLine, format_line
from kymatui.domain.logs.log_query import LogOptions
from kymatui.domain.logs.log_sources import LogSource, ModuleLogs, choose_sources, find_logs, log_roots
from kymatui.domain.rights import role_hint
from kymatui.domain.snapshot.missing_lists import ListGap, UnknownFact
from kymatui.domain.snapshot.object_index import ObjectIndex, index_objects
from kymatui.domain.snapshot.snapshots import ReadCache
from kymatui.errors import (
    ForbiddenError,
    KymatuiError,
    NotFoundError,
    PartlyDoneError,
    ServerError,
    UnknownNameError,
    UnreachableError,
    UsageError,
)

if TYPE_CHECKING:
    from kymatui.actions.session import Session

_AT_A_TIME: Final = 1000  # lines that are printed together
_WAITING: Final = 10_000  # lines that wait for a slow terminal; the containers' threads wait then, too
_PAUSE: Final = 0.2  # seconds in which followed lines are put in order


def configure(parser: argparse.ArgumentParser) -> None:
    add_option(parser, "name NAME", "name of the module")
    options = {
        "-f --follow": "print new lines until interrupted",
        "-p --previous": "print the previous instance of each container, before its last restart",
        "-c --container NAME": "container to read (default: the default container of each Pod)",
        "--all-containers": "every container of each Pod",
        "--pod NAME": "only this Pod",
        "--all": "every Pod of the module, not only those of its manager",
    }
    add_options(parser, options)
    add_option(parser, "--since DURATION", "only lines newer than this, such as 5m (default: all)", type=read_duration)
    add_option(parser, "--tail N", "only the last N lines of each container (default: all lines)", type=int)
    add_option(parser, "--timestamps", "print the time of each line")
    configure_listing(parser)


def run(args: argparse.Namespace) -> int:
    """Print the logs. Exit with 3 where only some of them could be read."""
    if args.follow and args.previous:
        raise UsageError("--follow and --previous exclude each other", hint="a previous instance writes no new lines")
    if args.container and args.all_containers:
        raise UsageError("--container and --all-containers exclude each other", hint="choose one of them")
    if args.tail is not None and args.tail < 0:
        raise UsageError("--tail must not be negative", hint="0 prints no old lines")
    changed = threading.Event()
    with listed_session(args, changed, once=not args.follow) as session:
        logs = _ChosenLogs(session, args)
        sources = logs.sources()
        if args.follow:
            return _follow(session, args, logs, changed, sources)
        return _print(session, args, sources)


class _ChosenLogs:
    """The containers that a command line names, as the session knows them at present."""

    def __init__(self, session: Session, args: argparse.Namespace) -> None:
        self._session = session
        self._args = args
        self._roots: tuple[ObjectRef, ...] = ()
        catalog = self._catalog()
        row = row_of(catalog, args.name)
        if not self._follow(row):
            others = f"`kymatui logs {row.name} --all` reads every Pod of the module" if module_objects(row) else ""
            raise no_manager(row, catalog.cluster, others)
        session.wait_complete(args.timeout)

    def _catalog(self) -> Catalog:
        snapshot = self._session.snapshot()
        return build_catalog(snapshot, snapshot.taken_at)

    def _follow(self, row: ModuleRow) -> bool:
        """Follow the objects whose Pods are read; the last ones, and return False, while the module has none."""
        roots = log_roots(row, self._locations(), all_objects=self._args.all)
        if roots and roots != self._roots:
            self._roots = roots
            self._session.follow_owned(roots)
        return bool(roots)

    def _locations(self) -> ObjectIndex:
        return index_objects(self._session.snapshot(), ReadCache())

    def sources(self) -> Sequence[LogSource]:
        """Return the containers to read. Raise an error if there are none."""
        logs = self._found()
        chosen = self._choose(logs)
        if not chosen:
            raise self._nothing(logs)
        return chosen

    def refreshed(self) -> Sequence[LogSource]:
        """Return the containers to read now, which may be none for a moment."""
        row = self._catalog().row(self._args.name)
        if row is not None:
            self._follow(row)
        return self._choose(self._found())

    def _found(self) -> ModuleLogs:
        return find_logs(self._roots, self._session.snapshot(), self._locations())

    def _choose(self, logs: ModuleLogs) -> Sequence[LogSource]:
        pod = self._args.pod
        containers = [container for container in logs.containers if not pod or container.source.pod == pod]
        return choose_sources(containers, self._args.container or "", all_containers=self._args.all_containers)

    def _nothing(self, logs: ModuleLogs) -> KymatuiError:
        """Return why no container is chosen: a wrong name, a missing list, or no Pods."""
        args, name = self._args, self._args.name
        pods = sorted({container.source.pod for container in logs.containers} | {ref.name for ref in logs.waiting})
        if logs.gap is not None and not pods:
            return _unlisted(logs.gap, name, args.timeout)
        if args.pod and args.pod not in pods:
            hint = f"Pods: {', '.join(pods)}" if pods else "it has no Pods"
            return UnknownNameError.near("Pod", args.pod, pods, where=f"of {name}", hint=hint)
        if args.container and logs.containers:
            known = sorted({container.source.container for container in logs.containers})
            hint = f"containers: {', '.join(known)}"
            return UnknownNameError.near("container", args.container, known, where=f"of {name}", hint=hint)
        if logs.waiting:
            waiting = ", ".join(ref.name for ref in logs.waiting)
            hint = f"`kymatui events {name}` prints why they do not start"
            return NotFoundError(f"no container of {name} has started: {waiting}", hint=hint)
        whose = name if args.all else f"the manager of {name}"
        return NotFoundError(f"{whose} has no Pods", hint=f"`kymatui events {name}` prints why")


def _unlisted(gap: UnknownFact, name: str, timeout: float) -> KymatuiError:
    if gap.gap is ListGap.FORBIDDEN:
        hint = role_hint("logs", name)
        return ForbiddenError(f"cannot find the Pods of {name}: {gap}", hint=hint, status=403)
    if gap.gap is ListGap.LOADING:
        return UnreachableError(
            f"the Pods of {name} were not listed within {timeout:g} s", hint="use a longer --timeout"
        )
    return ServerError(f"cannot find the Pods of {name}: {gap}", hint="try again later")


def _require_few(sources: Sequence[LogSource]) -> None:
    if len(sources) > MOST_STREAMS:
        raise UsageError(
            f"{len(sources)} containers are too many; {MOST_STREAMS} can be read at the same time",
            hint="name a Pod with --pod, or a container with -c",
        )


# to the end


def _print(session: Session, args: argparse.Namespace, sources: Sequence[LogSource]) -> int:
    _require_few(sources)
    failures: dict[LogSource, KymatuiError] = {}
    lines = read_logs(session.cluster, sources, _options(args), failures)
    while batch := list(islice(lines, _AT_A_TIME)):
        _print_lines(batch, args, prefix=len(sources) > 1)
    if len(failures) == len(sources):
        raise next(iter(failures.values()))
    for source, error in failures.items():
        print_message(f"{source}: {error}")
    if failures:
        raise PartlyDoneError(
            f"{len(failures)} of {format_count(len(sources), 'container')} could not be read",
            hint="the messages above name them",
        )
    return 0


def _options(args: argparse.Namespace) -> LogOptions:
    since = None if args.since is None else max(math.ceil(args.since), 1)
    return LogOptions(follow=args.follow, previous=args.previous, tail=args.tail, since=since)


def _print_lines(lines: Iterable[PodLogLine], args: argparse.Namespace, *, prefix: bool) -> None:
    print_text("\n".join(format_line(line, prefix=prefix, timestamps=args.timestamps) for line in lines))


# until interrupted


class _Inbox:
    """Lines and messages from the threads of the containers, bounded: full, it makes the threads wait."""

    def __init__(self) -> None:
        self._lines: list[PodLogLine] = []
        self._states: dict[LogSource, LogStatus] = {}
        self._messages: list[str] = []
        self._changed = threading.Condition()
        self._closed = False

    def add(self, lines: Sequence[PodLogLine]) -> None:
        with self._changed:
            while len(self._lines) >= _WAITING and not self._closed:
                self._changed.wait()
            self._lines += lines
            self._changed.notify_all()

    def report(self, source: LogSource, status: LogStatus) -> None:
        with self._changed:
            if status.message and self._states.get(source) != status:
                self._messages.append(f"kymatui: {source}: {status.state}: {status.message}")
            if status.message or status.state is LogState.READING:
                self._states[source] = status
            self._changed.notify_all()

    def take(self, seconds: float) -> tuple[list[PodLogLine], list[str]]:
        """Return what came, ordered by time; wait for it at most so many seconds."""
        with self._changed:
            if not self._lines and not self._messages:
                self._changed.wait(seconds)
            lines, messages = self._lines, self._messages
            self._lines, self._messages = [], []
            self._changed.notify_all()
        return sorted(lines, key=lambda line: line.at), messages

    def close(self) -> None:
        with self._changed:
            self._closed = True
            self._changed.notify_all()


def _follow(
    session: Session,
    args: argparse.Namespace,
    logs: _ChosenLogs,
    changed: threading.Event,
    sources: Sequence[LogSource],
) -> int:
    """Print lines until interrupted; Pods that are created meanwhile are read, too."""

    _require_few(sources)
    inbox = _Inbox()
    feed = LogFeed(session.cluster, _options(args), inbox)
    known = set(sources)
    feed.follow(sources)
    try:
        while True:
            lines, messages = inbox.take(_PAUSE)
            if lines:
                _print_lines(lines, args, prefix=len(known) > 1)
            for message in messages:
                print_line(message, sys.stderr)
            if changed.is_set():
                changed.clear()
                now = logs.refreshed()
                known |= set(now)
                feed.follow(now)
    finally:
        inbox.close()
        feed.close()
