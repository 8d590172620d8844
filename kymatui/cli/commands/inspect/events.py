"""`kymatui events NAME`: the events of a module's objects and of the Pods that its workloads own, the newest first."""

from __future__ import annotations

import argparse
import time
from contextlib import closing
from typing import TYPE_CHECKING, Any

from kymatui.cli.cluster_options import add_option
from kymatui.cli.options.reading import configure_reading, row_of, watch_sessions
from kymatui.cli.output.listing import Listing, ListPrinter, is_table, render
from kymatui.cli.output.printing import print_message
from kymatui.domain.catalog.catalog import build_catalog
from kymatui.domain.catalog.catalog_json import unknown_json
from kymatui.domain.catalog.module_events import (
    Event,
    EventsAvailability,
    event_objects,
    events_about,
    events_availability,
    module_objects,
    unlisted_events,
)
from kymatui.domain.catalog.rows import ModuleRow
from kymatui.domain.snapshot.object_index import index_objects
from kymatui.domain.snapshot.snapshots import ReadCache, Snapshot
from kymatui.errors import ForbiddenError, ServerError, UnknownNameError, UnreachableError
from kymatui.lists.columns import row_document
from kymatui.lists.module import EVENT_COLUMNS, event_subject

if TYPE_CHECKING:
    from kymatui.actions.session import Session


def configure(parser: argparse.ArgumentParser) -> None:
    add_option(parser, "name NAME", "name of the module")
    add_option(
        parser,
        "--types TYPE",
        "only events of this type: Warning, Normal, or both separated by a comma (default: both)",
        type=_types,
        default=frozenset(),
    )
    configure_reading(parser)


def _types(text: str) -> frozenset[str]:
    known = {"warning": "Warning", "normal": "Normal"}
    names = [name.strip().lower() for name in text.split(",")]
    unknown = [name for name in names if name not in known]
    if unknown:
        raise UnknownNameError.near("event type", unknown[0], known.values(), hint="valid: Warning, Normal")
    return frozenset(known[name] for name in names)


def run(args: argparse.Namespace) -> int:
    """Print the events, and with --watch again whenever they change.

    Raises ForbiddenError where events may not be listed, UnreachableError where they were not listed in time.
    """
    printer = ListPrinter(args)
    with closing(watch_sessions(args)) as sessions:
        for session in sessions:
            row, snapshot = _followed(session, args)
            printer.put(_text(row, snapshot, args))
    return 0


def _followed(session: Session, args: argparse.Namespace) -> tuple[ModuleRow, Snapshot]:
    """Return the module's row and a snapshot with its events, its ReplicaSets and its Pods listed."""
    row = row_of(build_catalog(session.snapshot(), time.time()), args.name)
    objects = module_objects(row)
    session.follow_events(objects)
    session.follow_owned(objects)
    complete = session.wait_complete(args.timeout)
    snapshot = session.snapshot()
    match events_availability(row, snapshot):
        case EventsAvailability.FORBIDDEN:
            raise ForbiddenError(
                f"you may not list events in the namespaces of {row.name}",
                hint="ask for the right to list events (core/v1)",
                status=403,
            )
        case EventsAvailability.FAILED:
            raise ServerError(f"cannot list events of {row.name}", hint="`kymatui catalog` prints the reason")
        case EventsAvailability.LOADING if not complete:
            raise UnreachableError(
                f"events of {row.name} were not listed within {args.timeout:g} s", hint="use a longer --timeout"
            )
    return row, snapshot


def _text(row: ModuleRow, snapshot: Snapshot, args: argparse.Namespace) -> str:
    why = unlisted_events(row, snapshot)
    objects = event_objects(row, index_objects(snapshot, ReadCache()))
    events = [event for event, _ in events_about(snapshot, objects) if not args.types or event.type in args.types]
    if why is not None and is_table(args.output):
        print_message(f"{row.name} may have more events: {why}")
    listing: Listing[Event] = Listing(
        columns=EVENT_COLUMNS,
        entries=events,
        document=lambda listed: {
            "cluster": snapshot.cluster,
            "module": row.name,
            "events": [event_json(event) for event in listed],
            "unknown": {} if why is None else {"events": unknown_json(why)},
        },
        item=event_json,
        name=event_subject,
        empty=f"no events of {row.name} (Kubernetes keeps events for one hour by default)",
    )
    return render(listing, args)


def event_json(event: Event) -> dict[str, Any]:
    """Return an event's JSON; `lastSeen` is null where the server does not say when."""
    return row_document(EVENT_COLUMNS, event)
