"""`--contexts`: a command on many contexts of the kubeconfig, each read by itself."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from itertools import groupby
from typing import Any, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from kymatui.cli.options.direct_install import LISTED
from kymatui.cli.options.listing import read_again
from kymatui.cli.output.listing import Listing, ListPrinter
from kymatui.cli.output.printing import CAPTURED, document, print_line, print_message, print_text
from kymatui.cli.session_arguments import session_options_of
from kymatui.domain.kubernetes.terminal_text import sanitize, with_subject
from kymatui.errors import KymatuiError, PartlyDoneError, RefusedError, UsageError
from kymatui.helm.yaml.reading import load_exactly
from kymatui.lists.columns import Cell, ListColumn, natural_key
from kymatui.sessions.cluster.catalog_session import CatalogSession
from kymatui.sessions.cluster.session_options import SessionOptions
from kymatui.sessions.context_reader import failed_cluster, read_contexts
from kymatui.sessions.contexts import ContextEntry, list_entries, select_entries

R = TypeVar("R")
_WORK = 300.0
"""Seconds in which a plan or a comparison reads registries and asks a server for its dry run."""


def chosen_contexts(args: argparse.Namespace) -> tuple[SessionOptions, Sequence[ContextEntry], Sequence[ContextEntry]]:
    """Return the options for all contexts, all contexts, and those that the words choose.

    Raise UnknownNameError for a pattern that matches none.
    """
    options, settings = session_options_of(args)
    entries = list_entries(options, settings, {})
    return options, entries, select_entries(entries, args.contexts, settings)


class ContextResults(Struct, frozen=True):
    """What a command made of each context, and what kept the others from being read."""

    results: Mapping[str, Any]
    failures: Mapping[str, tuple[ContextEntry, KymatuiError]]

    def note(self, printer: ListPrinter) -> None:
        """Print why contexts were not read, for scripts too."""
        printer.note(*(sanitize(f"{name} not read: {error}") for name, (_, error) in self.failures.items()))

    @property
    def status(self) -> int:
        """Return the exit status: of what was refused, else 0 if all were read, 3 for a part of them, 1 for none."""
        if refused := [error.exit_code for _, error in self.failures.values() if not is_unread(error)]:
            return RefusedError.exit_code if self.results else min(refused)  # a name that a part has is no typo
        if not self.failures:
            return 0
        return PartlyDoneError.exit_code if self.results else KymatuiError.exit_code

    def document(self, documents: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
        """Return the documents of all contexts, each with its context, and why others have none."""
        listed = [{"context": name, "status": "listed", **document} for name, document in documents.items()]
        failed = [
            {
                "context": entry.name,
                "status": failed_cluster(entry, error).status.value if is_unread(error) else "refused",
                "reason": str(error),
                "hint": error.hint or None,
            }
            for entry, error in self.failures.values()
        ]
        return {"contexts": [*listed, *failed]}


def is_unread(error: KymatuiError) -> bool:
    """Return whether a cluster, or a registry, was not read, and not a request about it refused."""
    return not isinstance(error, RefusedError | UsageError)


def read_each(
    args: argparse.Namespace,
    work: Callable[[ContextEntry, CatalogSession], R],
    *,
    read_only: bool = False,
    needs_kyma: bool = True,
    listed_within: float = 0.0,
    work_seconds: float = 0.0,
) -> ContextResults:
    """Return what `work` makes of each context that can be read within `--timeout`; other contexts cost none of them.

    At a terminal a login may take longer. `listed_within` stands for `--timeout` where that limits something else, and
    `work_seconds` are those of `work` besides.
    """
    options, _, entries = chosen_contexts(args)
    options = replace(options, read_only=options.read_only or read_only)
    waits = sys.stdin is not None and sys.stdin.isatty()
    answers = read_contexts(
        options,
        entries,
        listed_within or args.timeout,
        work,
        waits_for_logins=waits,
        needs_kyma=needs_kyma,
        work_seconds=work_seconds,
    )
    by_name = {entry.name: entry for entry in entries}
    results = {name: answer for name, answer in answers.items() if not isinstance(answer, KymatuiError)}
    failures = {name: (by_name[name], error) for name, error in answers.items() if isinstance(error, KymatuiError)}
    return ContextResults(results, failures)


def print_each(args: argparse.Namespace, answer: Callable[[argparse.Namespace, CatalogSession], int]) -> int:
    """Print what a command about one cluster prints of each context; return the worst exit status."""

    def captured(_: ContextEntry, session: CatalogSession) -> tuple[str, int]:
        texts: list[str] = []
        CAPTURED.set(texts)  # of this thread, which ends with the context
        status = answer(argparse.Namespace(**vars(args)), session)
        return "".join(texts), status

    results = read_each(args, captured, needs_kyma=False, listed_within=LISTED, work_seconds=_WORK)
    if args.output in ("json", "yaml"):
        documents = {name: load_exactly(text) for name, (text, _) in results.results.items()}
        print_text(document(results.document(documents), args.output))
    else:
        for name, (text, _) in results.results.items():
            print_line(f"## Context {name}" if args.output == "md" else f"context {name}")
            print_text("")
            print_text(text)
        for hint, alike in groupby(results.failures.items(), key=lambda failure: failure[1][1].hint):
            print_message("\n".join(f"{name}: {error}" for name, (_, error) in alike), hint)
    own = [status for _, status in results.results.values() if status]
    return max(own, default=0) if own else results.status


class ContextLine(Struct, frozen=True):
    """A line of a context's list."""

    context: str
    entry: Any


def join_listings(listings: Mapping[str, Listing[Any]], results: ContextResults) -> Listing[ContextLine]:
    """Return the lists of all contexts as one list, with the context before each line."""
    columns = next((listing.columns for listing in listings.values()), ())
    lines = [ContextLine(name, entry) for name, listing in listings.items() for entry in listing.entries]

    def document(chosen: Sequence[ContextLine]) -> dict[str, Any]:
        own = {name: [line.entry for line in chosen if line.context == name] for name in listings}
        return results.document({name: listing.document(own[name]) for name, listing in listings.items()})

    def item(line: ContextLine) -> Any:
        read = listings[line.context].item
        return {"context": line.context, **(read(line.entry) if read is not None else {})}

    return Listing(
        columns=[_CONTEXT, *(_of_entry(column) for column in columns)],
        entries=lines,
        document=document,
        item=item,
        rows=lambda line: [ContextLine(line.context, row) for row in listings[line.context].rows(line.entry)],
        below=[with_subject(name, text) for name, listing in listings.items() for text in listing.below],
        name=lambda line: f"{line.context}/{listings[line.context].name(line.entry)}",
        empty="\n".join(dict.fromkeys(listing.empty for listing in listings.values() if listing.empty)),
    )


_CONTEXT: ListColumn[ContextLine] = ListColumn(
    "context", "CONTEXT", cell=lambda line: Cell(sanitize(line.context), order=natural_key(line.context))
)


def _of_entry(column: ListColumn[Any]) -> ListColumn[ContextLine]:
    return replace(column, cell=lambda line: column.cell(line.entry))


def show_contexts(args: argparse.Namespace, listing_of: Callable[[CatalogSession], tuple[Listing[Any], int]]) -> int:
    """Print the joined lists of all contexts, and with --watch again; return the exit status.

    `listing_of` returns a context's list and its own exit status, of which the worst counts: findings before contexts
    that were not read.
    """
    printer, status = ListPrinter(args), 0
    for results in read_again(args, lambda: read_each(args, lambda _, session: listing_of(session)), limited=False):
        listings = {name: listing for name, (listing, _) in results.results.items()}
        if listings or results.failures:
            printer.show(join_listings(listings, results))
        results.note(printer)
        own = [status for _, status in results.results.values() if status]
        status = max(own, default=0) if own else results.status
    return status
