"""Lists as commands print them: every output format, sorted, with or without headers."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

from msgspec import Struct

from kymatui.cli.output.printing import document, markdown, print_message, print_text, table
from kymatui.domain.kubernetes.jsonpath import JsonPathError, find_values, render_template
from kymatui.errors import UnknownNameError, UsageError
from kymatui.lists.columns import ListColumn, in_order, natural_key, with_age

if TYPE_CHECKING:
    from kymatui.domain.catalog.rows import Catalog

JSONPATH = "jsonpath="
NO_MODULES: Final = "No modules: the cluster has no ModuleTemplates or ModuleReleaseMetas."
T = TypeVar("T")


class Listing(Struct, Generic[T], frozen=True, kw_only=True):
    """What a command lists.

    columns   the columns of the list; screens have the same
    rows      the rows of an entry in the table; most have one, the entry itself
    document  the JSON of these entries with what belongs to them
    name      what `-o name` prints of an entry: the name as other commands take it
    item      the entry's JSON, for `--sort-by .path`; None if entries have none
    below     what follows the table, for people
    empty     what is printed instead of a table without rows
    """

    columns: Sequence[ListColumn[Any]]
    entries: Sequence[T]
    document: Callable[[Sequence[T]], Mapping[str, Any]]
    name: Callable[[T], str]
    item: Callable[[T], Any] | None = None
    rows: Callable[[T], Sequence[Any]] = lambda entry: (entry,)
    below: Sequence[str] = ()
    empty: str = ""


class ListPrinter:
    """Print a list, and with `--watch` the list again whenever it is another; each note once."""

    def __init__(self, args: argparse.Namespace) -> None:
        self._args, self._last, self._noted = args, "", set[str]()

    def show(self, listing: Listing[Any]) -> None:
        self.put(render(listing, self._args))

    def put(self, text: str) -> None:
        """Print what differs from the last text; nothing for a script that gets no name or row."""
        if text and text != self._last:
            is_next = self._args.output == "yaml" and bool(self._last)
            print_text(f"---\n{text}" if is_next else text)
        self._last = text

    def note(self, *notes: str) -> None:
        """Print on standard error what the list does not say."""
        for note in notes:
            if note not in self._noted:
                self._noted.add(note)
                print_message(note)


def is_table(form: str) -> bool:
    """Return whether an output format is for people, so that notes may stand beside it."""
    return form in ("table", "wide", "md")


def render(listing: Listing[T], args: argparse.Namespace) -> str:
    """Return the list in the format of `-o`, by `--sort-by`. Raise UsageError for what neither has."""
    form, entries = args.output, sorted_entries(listing, args.sort_by)
    if form == "name":
        return name_lines(map(listing.name, entries))
    if not is_table(form):
        return render_document(listing.document(entries), form, one_line=getattr(args, "watch", False))
    bare = args.no_headers and form != "md"
    if not entries and listing.empty:
        return "" if bare else listing.empty
    drawn = draw(listing, [line for entry in entries for line in lines_of(listing, entry)], form, headers=not bare)
    return drawn if bare else "\n\n".join([drawn, *listing.below])


def no_modules(catalog: Catalog) -> str:
    """Return what is printed in place of an empty table of modules."""
    why = catalog.modules_unknown
    return NO_MODULES if why is None else f"Modules: {why}"


def name_lines(names: Iterable[str]) -> str:
    """Return each name once, one a line and without blanks: `Keda kyma-system/default` is Keda/kyma-system/default."""
    return "\n".join(dict.fromkeys("/".join(name.split()) for name in names if name))


def render_document(value: Mapping[str, Any], form: str, *, one_line: bool = False) -> str:
    """Return JSON, YAML or what a JSONPath template finds. Raise UsageError for a malformed template."""
    if not form.startswith(JSONPATH):
        return document(value, form, one_line=one_line)
    try:
        return render_template(form.removeprefix(JSONPATH), value)
    except JsonPathError as error:
        raise UsageError(f"invalid JSONPath: {error}", hint="example: -o jsonpath='{.modules[*].name}'") from error


def lines_of(listing: Listing[T], entry: T) -> list[list[str]]:
    """Return the lines of an entry in the table, with the texts of all columns."""
    now = time.time()
    return [[with_age(column.cell(row), now).plain for column in listing.columns] for row in listing.rows(entry)]


def draw(listing: Listing[Any], rows: Sequence[Sequence[str]], form: str, *, headers: bool = True) -> str:
    """Return lines of the listing as a table; `-o wide` has more columns, and no line is folded."""
    is_wide = form in ("wide", "md")
    at = [index for index, column in enumerate(listing.columns) if is_wide or not column.wide]
    columns, cells = [listing.columns[index] for index in at], [[row[index] for index in at] for row in rows]
    header = [column.title for column in columns]
    if form == "md":
        return markdown(header, cells)
    optional = sorted((column for column in columns if column.priority), key=lambda column: -column.priority)
    spare = () if is_wide else [column.title for column in optional]
    return table(header, cells, spare=spare, headers=headers, folds=not is_wide)


# the order


def sorted_entries(listing: Listing[T], by: str) -> list[T]:
    """Return the entries by a column as screens sort them, or by a JSONPath in their JSON; without a value last."""
    if not by:
        return list(listing.entries)
    if listing.item is not None and by[0] in ".{":
        keys = [_json_key(by, listing.item(entry)) for entry in listing.entries]
        order = sorted(range(len(keys)), key=keys.__getitem__)
        return [listing.entries[place] for place in order]
    column = _column(listing.columns, by)
    return in_order(listing.entries, lambda entry: column.cell(listing.rows(entry)[0]), descending=column.falls)


def _column(columns: Sequence[ListColumn[Any]], name: str) -> ListColumn[Any]:
    """Return the column of a title, or of the name that the configuration has for it."""
    for column in columns:
        if column.is_named(name):
            return column
    known = [column.title.lower() for column in columns]
    raise UnknownNameError.near("column", name, known, hint=f"columns: {', '.join(known)}")


def _json_key(path: str, item: Any) -> tuple[Any, ...]:
    try:
        values = find_values(path, item)
    except JsonPathError as error:
        raise UsageError(f"invalid --sort-by: {error}", hint="example: --sort-by .state") from error
    return _key(values[0] if values else None)


def _key(value: Any) -> tuple[Any, ...]:
    """Return a key by which numbers come by size, also within a text (1.9 before 1.10), and nothing comes last."""
    if value is None or value == "":
        return (2,)
    return (0, value) if isinstance(value, int | float) else (1, natural_key(str(value)))
