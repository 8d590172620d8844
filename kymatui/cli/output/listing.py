"""Lists as commands print them: every output format, sorted, with or without headers."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

from msgspec import Struct

from kymatui.cli.output.printing import document, markdown, print_message, print_text, table
from kymatui.domain.kubernetes.durations import parse_age
from kymatui.domain.kubernetes.jsonpath import JsonPathError, find_values, render_template
from kymatui.errors import UnknownNameError, UsageError

if TYPE_CHECKING:
    from kymatui.domain.catalog.rows import Catalog

JSONPATH = "jsonpath="
NO_MODULES: Final = "No modules: the cluster has no ModuleTemplates or ModuleReleaseMetas."
T = TypeVar("T")


class Listing(Struct, Generic[T], frozen=True, kw_only=True):
    """What a command lists.

    lines     the lines of an entry in the table; most have one
    document  the JSON of these entries with what belongs to them
    name      what `-o name` prints of an entry: the name as other commands take it
    item      the entry's JSON, for `--sort-by .path`; None if entries have none
    wide      columns of `-o wide` and Markdown only
    spare     columns that a narrow terminal can do without, in this order
    below     what follows the table, for people
    empty     what is printed instead of a table without rows
    """

    header: Sequence[str]
    entries: Sequence[T]
    lines: Callable[[T], Sequence[Sequence[str]]]
    document: Callable[[Sequence[T]], Mapping[str, Any]]
    name: Callable[[T], str]
    item: Callable[[T], Any] | None = None
    wide: Collection[str] = ()
    spare: Sequence[str] = ()
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
    drawn = draw(listing, [line for entry in entries for line in listing.lines(entry)], form, headers=not bare)
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


def draw(listing: Listing[Any], rows: Sequence[Sequence[str]], form: str, *, headers: bool = True) -> str:
    """Return rows of the listing as a table; `-o wide` has more columns, and no line is folded."""
    is_wide = form in ("wide", "md")
    at = [index for index, title in enumerate(listing.header) if is_wide or title not in listing.wide]
    header, cells = [listing.header[index] for index in at], [[row[index] for index in at] for row in rows]
    if form == "md":
        return markdown(header, cells)
    return table(header, cells, spare=() if is_wide else listing.spare, headers=headers, folds=not is_wide)


# the order


def sorted_entries(listing: Listing[T], by: str) -> list[T]:
    """Return the entries by a column, or by a JSONPath in their JSON; what has no value comes last."""
    if not by:
        return list(listing.entries)
    if listing.item is not None and by[0] in ".{":
        keys = [_json_key(by, listing.item(entry)) for entry in listing.entries]
    else:
        column = _column(listing.header, by)
        cells = [listing.lines(entry)[0][column] for entry in listing.entries]
        ages = [parse_age(cell) for cell in cells]
        are_ages = all(age is not None for age, cell in zip(ages, cells, strict=True) if cell)
        keys = [_key(age if are_ages else cell) for age, cell in zip(ages, cells, strict=True)]
    order = sorted(range(len(keys)), key=keys.__getitem__)
    return [listing.entries[index] for index in order]


def _column(header: Sequence[str], name: str) -> int:
    plain = _plain(name)
    for index, title in enumerate(header):
        if _plain(title) == plain:
            return index
    known = [title.lower() for title in header]
    raise UnknownNameError.near("column", name, known, hint=f"columns: {', '.join(known)}")


def _plain(title: str) -> str:
    return re.sub(r"[\s_-]", "", title.casefold())


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
    if isinstance(value, int | float):
        return (0, value)
    parts = re.split(r"(\d+)", str(value).casefold())
    return (1, [(part.isdigit(), int(part) if part.isdigit() else 0, part) for part in parts if part])
