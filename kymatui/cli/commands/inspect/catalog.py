"""`kymatui catalog`: the rows of the first screen, without a screen."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import closing
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from kymatui.cli.options.fetching import add_component_registry, add_fetching
from kymatui.cli.options.reading import catalog_of, configure_reading, watch_catalogs, watch_sessions
from kymatui.cli.output.listing import Listing, ListPrinter, draw, is_table, no_modules, render, sorted_entries
from kymatui.cli.output.printing import document, print_line, print_message, print_text
from kymatui.cli.session_arguments import is_remote
from kymatui.domain.catalog.catalog_json import catalog_to_json, reports_json, row_json
from kymatui.domain.catalog.catalog_schema import catalog_json_schema
from kymatui.domain.kubernetes.terminal_text import format_count, sanitize
from kymatui.domain.kyma.manifests import Manifest, read_manifest
from kymatui.domain.snapshot.missing_lists import RowFact
from kymatui.domain.versions.messages import drift_words
from kymatui.errors import UsageError

if TYPE_CHECKING:
    from kymatui.domain.catalog.rows import Catalog, ModuleRow
    from kymatui.domain.modules.module_signature import ModuleSignature


def _drift(row: ModuleRow) -> str:
    return row.text(RowFact.DRIFT, drift_words(row.drift))


def _tags(row: ModuleRow) -> str:
    tags = (("managed", row.managed), ("mandatory", row.mandatory), ("beta", row.beta), ("internal", row.internal))
    known = [name for name, holds in tags if holds]
    return ",".join(
        [*known, *(f"{f}={row.unknown[f].gap}" for f in (RowFact.MANAGED, RowFact.MANDATORY) if f in row.unknown)]
    )


_COLUMNS: tuple[tuple[str, Callable[[ModuleRow], str]], ...] = (
    ("NAME", lambda row: row.name),
    ("SOURCE", lambda row: row.source_kind),
    ("CHANNEL", lambda row: row.text(RowFact.CHANNEL, row.channel)),
    ("INSTALLED", lambda row: row.installed_words),
    ("DESIRED", lambda row: row.text(RowFact.DESIRED, row.desired)),
    ("NEWEST", lambda row: row.text(RowFact.NEWEST, row.newest)),
    ("DRIFT", _drift),
    ("STATE", lambda row: row.state_words),
    ("PRESENCE", lambda row: row.text(RowFact.STATE, row.presence.value)),
    ("DECIDED BY", lambda row: row.state_source.value),
    ("TAGS", _tags),
    ("REASON", lambda row: row.reason.text),
    ("CHANNELS", lambda row: ", ".join(f"{name}={version}" for name, version in row.channels.items())),
    ("BY", lambda row: row.installed_by),
    ("FROM", lambda row: ", ".join(row.sources) or (row.installation.address if row.installation is not None else "")),
)
_WIDE = ("PRESENCE", "DECIDED BY", "TAGS", "REASON", "CHANNELS", "BY", "FROM")


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--schema", action="store_true", help="print the JSON Schema of `-o json` and exit")
    parser.add_argument(
        "--installed-by",
        metavar="NAME",
        default="",
        help="only what NAME installed, such as kymatui, helm or flux, with its Helm releases; all lists everything",
    )
    group = parser.add_argument_group("signatures")
    group.add_argument(
        "--signed", action="store_true", help="add whether components are signed; reads descriptors from registries"
    )
    group.add_argument(
        "--public-key", default="", metavar="FILE", help="PEM key that verifies them (default: option `public_key`)"
    )
    add_component_registry(group, "with --signed")
    add_fetching(group)
    configure_reading(parser)


def run(args: argparse.Namespace) -> int:
    if args.schema:
        print_text(document(catalog_json_schema(), "yaml" if args.output == "yaml" else "json"))
        return 0
    if args.signed and args.installed_by:
        raise UsageError("--signed and --installed-by exclude each other", hint="only modules have signatures")
    if args.signed and is_remote(args):
        raise UsageError("--signed reads one cluster", hint="run it on the control plane, without --remote")
    if is_remote(args):
        return show(args)
    printer = _Printer(args)
    with closing(_watch(args)) as catalogs:
        for catalog, signatures in catalogs:
            printer.show(catalog, signatures)
    return 0


def _watch(args: argparse.Namespace) -> Generator[tuple[Catalog, Mapping[str, ModuleSignature] | None]]:
    """Yield the catalog, with --signed what is known of each module's signatures."""
    if args.signed:
        from kymatui.cli.options.catalog_signatures import watch_signed_catalogs  # 40 ms for keys and certificates

        yield from watch_signed_catalogs(args)
        return
    with closing(watch_catalogs(args)) as catalogs:
        for catalog in catalogs:
            yield (catalog.installed_by(args.installed_by) if args.installed_by else catalog), None


def _cells(row: ModuleRow) -> list[str]:
    return [read(row) for _, read in _COLUMNS]


def catalog_listing(catalog: Catalog, signatures: Mapping[str, ModuleSignature] | None = None) -> Listing[ModuleRow]:
    """Return the rows of a catalog; with `signatures` also whether each module is signed."""

    def cells(row: ModuleRow) -> list[str]:
        return [*_cells(row), *([signatures[row.name].status.value] if signatures is not None else [])]

    def item(row: ModuleRow) -> dict[str, Any]:
        signed = {"signature": signatures[row.name].to_json()} if signatures is not None else {}
        return {**row_json(row), **signed}

    def whole(rows: Sequence[ModuleRow]) -> dict[str, Any]:
        body = catalog_to_json(replace(catalog, rows=tuple(rows)))
        return body if signatures is None else {**body, "modules": [item(row) for row in rows]}

    return Listing(
        header=[*(title for title, _ in _COLUMNS), *(["SIGNED"] if signatures is not None else [])],
        wide=_WIDE,
        spare=("NEWEST", "SOURCE"),
        entries=catalog.rows,
        lines=lambda row: (cells(row),),
        document=whole,
        item=item,
        name=lambda row: row.name,
    )


class _Printer:
    """Prints a catalog, and then only what is other than before."""

    def __init__(self, args: argparse.Namespace) -> None:
        self._args, self._printer = args, ListPrinter(args)
        self._shown: dict[str, list[str]] = {}
        self._is_first = True
        self._said: set[str] = set()

    def show(self, catalog: Catalog, signatures: Mapping[str, ModuleSignature] | None) -> None:
        listing = catalog_listing(catalog, signatures)
        if is_table(self._args.output):
            self._rows(catalog, listing)
            self._releases(catalog)
            self._problems(catalog)
            self._unknown(signatures or {})
        else:
            self._printer.show(listing)

    def _rows(self, catalog: Catalog, listing: Listing[ModuleRow]) -> None:
        form = self._args.output
        rows = {row.name: list(listing.lines(row)[0]) for row in sorted_entries(listing, self._args.sort_by)}
        fresh = [row for name, row in rows.items() if self._shown.get(name) != row]
        gone = [[name, *["(deleted)"] * (len(listing.header) - 1)] for name in self._shown if name not in rows]
        is_first, self._shown, self._is_first = self._is_first, rows, False
        if not rows and is_first:
            print_text(no_modules(catalog), sys.stderr)
        elif fresh or gone:
            printed = list(rows.values()) if form == "md" else fresh + gone
            print_text(draw(listing, printed, form, headers=not self._args.no_headers))

    def _releases(self, catalog: Catalog) -> None:
        """Say how many Helm releases are not in the table."""
        if catalog.releases and not self._args.installed_by and not self._args.no_headers:
            count = format_count(len(catalog.releases), "Helm release")
            text = f"{count} of other tools not listed; --installed-by all lists them"
            if text not in self._said:
                self._said.add(text)
                print_line(text, sys.stderr)

    def _unknown(self, signatures: Mapping[str, ModuleSignature]) -> None:
        """Say why signatures are invalid or unknown, each reason once."""
        reasons: dict[str, list[str]] = {}
        for name, signature in signatures.items():
            if signature.why:
                reasons.setdefault(f"{signature.status}: {signature.why}", []).append(name)
        for why, names in reasons.items():
            more = f" and {len(names) - 3} more" if len(names) > 3 else ""
            text = sanitize(f"signature of {', '.join(names[:3])}{more} {why}")
            if text not in self._said:
                self._said.add(text)
                print_line(text, sys.stderr)

    def _problems(self, catalog: Catalog) -> None:
        """Print the problems that are in no row; a row has its own reason."""
        lists, others = catalog.problems_of_no_module
        for text in (sanitize(problem.message) for problem in lists):
            if text not in self._said:
                self._said.add(text)
                print_message(text)
        for text in (f"{problem.severity.value}: {sanitize(problem.message)}" for problem in others):
            if text not in self._said:
                self._said.add(text)
                print_line(text, sys.stderr)


# `kymatui catalog --remote RUNTIME`: each module with its Manifest on the control plane, and who says what of it.


if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kymatui.domain.catalog.rows import Catalog, ModuleRow
    from kymatui.domain.kubernetes.refs import ObjectRef

    Manifests = Mapping[ObjectRef, Manifest]

_HEADER = ("NAME", "CHANNEL", "INSTALLED", "DESIRED", "DRIFT", "STATE", "KYMA", "MANIFEST", "MODULE CR", "MANAGER")
_RUNTIME_WIDE = ("TAGS", "REASON", "MANIFEST NAME", "MANIFEST CONDITIONS")


def show(args: argparse.Namespace) -> int:
    """Print it, and with --watch again whenever it is another."""
    last = ""
    with closing(watch_sessions(args)) as sessions:
        for session in sessions:
            snapshot = session.snapshot()
            catalog = catalog_of(session, snapshot)
            catalog = catalog.installed_by(args.installed_by) if args.installed_by else catalog
            read = (read_manifest(raw) for raw in snapshot.manifests)
            text = _text(catalog, {manifest.ref: manifest for manifest in read if isinstance(manifest, Manifest)}, args)
            if text != last:
                if text and (catalog.rows or not is_table(args.output)):
                    print_text(text)
                elif not catalog.rows:
                    print_text(no_modules(catalog), sys.stderr)
                _print_problems(catalog)
                last = text
    return 0


def _print_problems(catalog: Catalog) -> None:
    lists, others = catalog.problems_of_no_module
    for problem in lists:
        print_message(problem.message)
    for problem in others:
        print_line(f"{problem.severity.value}: {problem.message}", sys.stderr)


def _text(found: Catalog, manifests: Manifests, args: argparse.Namespace) -> str:
    listing: Listing[ModuleRow] = Listing(
        header=(*_HEADER, *_RUNTIME_WIDE),
        wide=_RUNTIME_WIDE,
        entries=found.rows,
        lines=lambda row: (_row(row, manifests.get(row.manifest) if row.manifest else None),),
        document=lambda rows: as_json(replace(found, rows=tuple(rows)), manifests),
        item=row_json,
        name=lambda row: row.name,
    )
    return render(listing, args)


def _row(row: ModuleRow, manifest: Manifest | None) -> Sequence[str]:
    reports = row.reports
    tags = (("mandatory", row.mandatory), ("beta", row.beta), ("internal", row.internal))
    return (
        row.name,
        row.text(RowFact.CHANNEL, row.channel),
        row.installed_words,
        row.text(RowFact.DESIRED, row.desired),
        row.text(RowFact.DRIFT, drift_words(row.drift)),
        row.state_words,
        reports.kyma,
        row.text(RowFact.MANIFEST, reports.manifest),
        row.text(RowFact.CHECKS, reports.resource),
        reports.manager,
        ",".join(name for name, holds in tags if holds),
        row.reason.text,
        f"{manifest.meta.namespace}/{manifest.meta.name}" if manifest is not None else "",
        ", ".join(f"{one.type}={one.status}" for one in manifest.conditions) if manifest is not None else "",
    )


def as_json(found: Catalog, manifests: Manifests) -> dict[str, Any]:
    """Return the JSON of `kymatui catalog`; each module has `reports` and `manifest` besides."""
    document_of = catalog_to_json(found)
    for row, entry in zip(found.rows, document_of["modules"], strict=True):
        manifest = manifests.get(row.manifest) if row.manifest else None
        entry["reports"] = reports_json(row.reports)
        entry["manifest"] = _manifest(manifest) if manifest is not None else None
    return document_of


def _manifest(manifest: Manifest) -> dict[str, Any]:
    return {
        "name": manifest.meta.name,
        "namespace": manifest.meta.namespace,
        "version": manifest.version or None,
        "state": manifest.state or None,
        "deleting": manifest.meta.deleting,
        "operation": manifest.operation or None,
        "conditions": [
            {
                "type": condition.type,
                "status": condition.status,
                "reason": condition.reason,
                "message": condition.message,
            }
            for condition in manifest.conditions
        ],
    }
