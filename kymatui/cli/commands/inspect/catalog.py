"""`kymatui catalog`: the rows of the first screen, without a screen."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from contextlib import closing
from typing import TYPE_CHECKING

from kymatui.cli.options.reading import configure_reading, watch_catalogs
from kymatui.cli.output.empty_catalog import no_modules
from kymatui.cli.output.printing import document, markdown, say, table
from kymatui.cli.session_arguments import is_remote
from kymatui.domain.kubernetes.terminal_text import sanitize
from kymatui.domain.snapshot.missing_lists import RowFact

if TYPE_CHECKING:
    from kymatui.domain.catalog.rows import Catalog, ModuleRow


def _drift(row: ModuleRow) -> str:
    from kymatui.domain.versions.messages import drift_words

    return row.text(RowFact.DRIFT, drift_words(row.drift))


def _tags(row: ModuleRow) -> str:
    tags = (("managed", row.managed), ("mandatory", row.mandatory), ("beta", row.beta), ("internal", row.internal))
    known = [name for name, holds in tags if holds]
    return ",".join(
        [*known, *(f"{f}={row.unknown[f].gap}" for f in (RowFact.MANAGED, RowFact.MANDATORY) if f in row.unknown)]
    )


_COLUMNS: tuple[tuple[str, Callable[[ModuleRow], str]], ...] = (
    ("NAME", lambda row: row.name),
    ("SOURCE", lambda row: row.origin.value),
    ("CHANNEL", lambda row: row.text(RowFact.CHANNEL, row.channel)),
    ("INSTALLED", lambda row: row.installed_words),
    ("DESIRED", lambda row: row.text(RowFact.DESIRED, row.desired)),
    ("NEWEST", lambda row: row.text(RowFact.NEWEST, row.newest)),
    ("DRIFT", _drift),
    ("STATE", lambda row: row.text(RowFact.STATE, row.state.value)),
)
_WIDE: tuple[tuple[str, Callable[[ModuleRow], str]], ...] = (
    *_COLUMNS,
    ("PRESENCE", lambda row: row.text(RowFact.STATE, row.presence.value)),
    ("DECIDED BY", lambda row: row.state_source.value),
    ("TAGS", _tags),
    ("FROM", lambda row: ", ".join(row.sources)),
    ("CHANNELS", lambda row: ", ".join(f"{name}={version}" for name, version in row.channels.items())),
    ("REASON", lambda row: row.reason.text),
)


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--schema", action="store_true", help="print the JSON Schema of `-o json` and exit")
    configure_reading(parser)


def run(args: argparse.Namespace) -> int:
    if args.schema:
        from kymatui.domain.catalog.catalog_schema import catalog_json_schema

        say(document(catalog_json_schema(), "yaml" if args.output == "yaml" else "json"))
        return 0
    if is_remote(args):
        from kymatui.cli.commands.inspect.runtime_catalog import show

        return show(args)
    printer = _Printer(args.output, watching=args.watch)
    with closing(watch_catalogs(args)) as seen:
        for catalog in seen:
            printer.show(catalog)
    return 0


class _Printer:
    """Prints a catalog, and then only what is other than before."""

    def __init__(self, form: str, *, watching: bool) -> None:
        self._form = form
        self._watching = watching
        self._shown: dict[str, list[str]] = {}
        self._last = ""
        self._said: set[str] = set()

    def show(self, catalog: Catalog) -> None:
        if self._form in ("json", "yaml"):
            self._document(catalog)
        else:
            self._rows(catalog)
            self._problems(catalog)

    def _document(self, catalog: Catalog) -> None:
        from kymatui.domain.catalog.catalog_json import catalog_to_json

        text = document(catalog_to_json(catalog), self._form, one_line=self._watching)
        if text != self._last:
            separated = self._form == "yaml" and bool(self._last)
            self._last = text
            say("---\n" + text if separated else text)

    def _rows(self, catalog: Catalog) -> None:
        columns = _COLUMNS if self._form == "table" else _WIDE
        header = [name for name, _ in columns]
        rows = {row.name: [read(row) for _, read in columns] for row in catalog.rows}
        first = not self._last
        fresh = [row for name, row in rows.items() if self._shown.get(name) != row]
        gone = [[name, *["(deleted)"] * (len(header) - 1)] for name in self._shown if name not in rows]
        self._shown, self._last = rows, "shown"
        if not rows and first:
            say(no_modules(catalog), sys.stderr)
        elif self._form == "md" and (fresh or gone):
            say(markdown(header, list(rows.values())))
        elif fresh or gone:
            say(table(header, fresh + gone, spare=("NEWEST", "SOURCE") if self._form == "table" else ()))

    def _problems(self, catalog: Catalog) -> None:
        """What is wrong besides the rows; a row's own reason stands in its row."""
        for problem in catalog.problems:
            text = f"{problem.severity.value}: {sanitize(problem.message)}"
            if not problem.module and text not in self._said:
                self._said.add(text)
                say(text, sys.stderr)
