"""The catalog for a command: once, or again whenever it changes."""

from __future__ import annotations

import argparse
import threading
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from functools import partial
from typing import TYPE_CHECKING

from kymatui.actions.unknown_names import unknown_module
from kymatui.adapters.files.journal_path import journals_folder
from kymatui.cli.cluster_options import add_cluster_options, add_option, add_remote_options
from kymatui.cli.options.listing import add_list_output, add_list_timeout
from kymatui.cli.options.unknown_names import require_namespace
from kymatui.cli.output.listing import ListPrinter
from kymatui.cli.output.printing import print_message
from kymatui.domain.kubernetes.terminal_text import sanitize
from kymatui.domain.snapshot.missing_lists import are_settled, is_awaited
from kymatui.domain.snapshot.snapshots import Feed, Snapshot
from kymatui.engine.cluster.logins import WaitLimit
from kymatui.errors import KymatuiError, ServerError, UnreachableError

if TYPE_CHECKING:
    from kymatui.actions.session import Session
    from kymatui.domain.catalog.rows import Catalog, ModuleRow
    from kymatui.domain.kyma.problems import Problem

_PAUSE = 0.2  # a burst of changes is printed once
_LOOK = 0.5  # seconds until a list is looked at again


def configure_reading(parser: argparse.ArgumentParser) -> None:
    """Add how a list is printed, `--verbose`, `--timeout`, the cluster options and those of two clusters."""
    add_list_output(parser)
    add_option(parser, "--verbose -v", "name each kind that you may not list, and why")
    configure_listing(parser)


def configure_listing(parser: argparse.ArgumentParser) -> None:
    """Add `--timeout`, the cluster options and those of two clusters."""
    add_list_timeout(parser)
    add_cluster_options(parser)
    add_remote_options(parser, remote="runtime of the control plane to read: Kyma name, shoot or runtime ID")


def follow(args: argparse.Namespace, answer: Callable[[Catalog], tuple[str, int]]) -> int:
    """Print what `answer` makes of the catalog and returns its exit status; with --watch whenever the text changes."""
    printer, status = ListPrinter(args), 0
    with closing(watch_catalogs(args)) as catalogs:
        for catalog in catalogs:
            text, status = answer(catalog)
            printer.put(text)
            note_missing_lists(printer, catalog, verbose=args.verbose)
    return status


def missing_list_problems(catalog: Catalog, *, verbose: bool) -> tuple[Sequence[Problem], Sequence[Problem]]:
    """Return the problems of lists that did not come, as one unless `verbose`, and the others without a module."""
    if not verbose:
        return catalog.problems_of_no_module
    lists, others = catalog.problems_by_list
    return tuple(lists.values()), others


def note_missing_lists(printer: ListPrinter, catalog: Catalog, *, verbose: bool) -> None:
    """Say once which lists did not come and what is unknown without them; for scripts too, on standard error."""
    lists, others = missing_list_problems(catalog, verbose=verbose)
    problems = (*lists, *(problem for problem in others if problem.ref is None))
    printer.note(*(sanitize(problem.text) for problem in problems if problem.counts))


def watch_catalogs(args: argparse.Namespace) -> Generator[Catalog]:
    """Yield the catalog when all of it is listed, and with --watch again, whenever something changed; to be closed.

    What could not be listed in time is said on standard error: a part is never shown as the whole.
    """
    with closing(watch_sessions(args)) as sessions:
        for session in sessions:
            yield catalog_of(session, session.snapshot())


def catalog_of(session: Session, snapshot: Snapshot) -> Catalog:
    """Return the catalog with the jobs that were interrupted on this machine; most machines have no journals."""
    from kymatui.domain.catalog.catalog import build_catalog

    catalog = build_catalog(snapshot, time.time())
    if not journals_folder().is_dir():
        return catalog
    from kymatui.actions.jobs import job_cluster
    from kymatui.adapters.files.job_journals import with_interrupted

    return with_interrupted(catalog, partial(job_cluster, session), session.kyma[1] if session.kyma is not None else "")


def watch_sessions(args: argparse.Namespace) -> Generator[Session]:
    """Yield the session that the words name, as often as there is something new in it; to be closed."""
    changed = threading.Event()
    with listed_session(args, changed, once=not args.watch) as session:
        while True:
            yield session
            if not args.watch:
                return
            wait_for_change(changed)


def wait_for_change(changed: threading.Event) -> None:
    """Return after the next change; what changes within a moment is one change."""
    changed.wait()
    time.sleep(_PAUSE)
    changed.clear()


@contextmanager
def listed_session(
    args: argparse.Namespace, changed: threading.Event, *, once: bool, partial: bool = False
) -> Iterator[Session]:
    """Open the chosen session and wait until it is listed; `changed` is set whenever something is new in it.

    With `partial` a runtime that cannot be reached is no error: its control plane is listed.
    """
    from kymatui.cli.session_arguments import is_remote, open_chosen

    with closing(open_chosen(args, once=once)) as session:
        session.start(changed.set)
        is_complete = _wait_listed(session, changed, args.timeout, partial=partial)
        _require_kyma(session)
        if not is_remote(args):  # there it is the namespace of the control plane's Kymas
            require_namespace(session.cluster, args)
        if not is_complete:
            _confess(session.feeds, args.timeout)
        yield session


def _wait_listed(session: Session, changed: threading.Event, timeout: float, *, partial: bool) -> bool:
    try:
        return session.wait_complete(timeout)
    except KymatuiError:
        if not partial or not session.target.has_control_plane:
            raise
    limit = WaitLimit(timeout)
    while (pair := session.pair()) is not None:
        changed.clear()
        if are_settled(pair.control.feeds, time.time()):
            return True
        if (seconds := limit.remaining) <= 0:
            break
        changed.wait(min(seconds, _LOOK))
    return False


def _require_kyma(session: Session) -> None:
    """Raise where nothing can be shown. Where lists failed the server is asked once more, for the reason in full:
    what a server serves is known from before, so that a login that has ended shows in the lists first."""
    try:
        session.require_kyma()
    except ServerError:
        session.cluster.version()
        raise


def _confess(feeds: Mapping[str, Feed], timeout: float) -> None:
    """Say what is missing in rows that are shown all the same; without any list there is nothing to show."""
    now = time.time()
    waiting = sorted(name for name, feed in feeds.items() if is_awaited(feed, now))
    if len(waiting) == len(feeds):
        raise UnreachableError(f"the cluster listed nothing within {timeout:g} s", hint="use a longer --timeout")
    if waiting:  # else the last one came meanwhile
        print_message(f"not listed within {timeout:g} s: {', '.join(waiting)}")


def row_of(catalog: Catalog, name: str) -> ModuleRow:
    """Return the row of a module; an unknown name gets a suggestion."""
    row = catalog.row(name)
    if row is None:
        raise unknown_module(catalog, name)
    return row
