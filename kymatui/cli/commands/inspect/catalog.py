"""`kymatui catalog`: the rows of the first screen, without a screen."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Generator, Mapping, Sequence
from contextlib import closing
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from kymatui.cli.cluster_options import add_component_registry, add_contexts, add_fetching, add_options, uses_contexts
from kymatui.cli.options.reading import (
    catalog_of,
    configure_reading,
    missing_list_problems,
    watch_catalogs,
    watch_sessions,
)
from kymatui.cli.output.listing import (
    Listing,
    ListPrinter,
    draw,
    is_table,
    lines_of,
    no_modules,
    render,
    sorted_entries,
)
from kymatui.cli.output.printing import document, print_line, print_message, print_text
from kymatui.cli.session_arguments import is_remote
from kymatui.domain.catalog.catalog_json import catalog_json_schema, catalog_to_json, reports_json, row_json
from kymatui.domain.catalog.rows import Catalog
from kymatui.domain.kubernetes.refs import ObjectRef
from kymatui.domain.kubernetes.terminal_text import first_of, format_count, sanitize
from kymatui.domain.kyma.manifests import Manifest, read_manifest
from kymatui.domain.modules.state_checks import ModuleSignature
from kymatui.errors import UsageError
from kymatui.lists.catalog import COLUMNS, REMOTE_COLUMNS
from kymatui.lists.catalog_cells import CatalogEntry

if TYPE_CHECKING:
    from kymatui.actions.session import Session

    Manifests = Mapping[ObjectRef, Manifest]


def configure(parser: argparse.ArgumentParser) -> None:
    options = {
        "--schema": "print the JSON Schema of `-o json` and exit",
        "--installed-by NAME": "only what NAME installed, such as kymatui, helm or flux, with its Helm releases; all "
        "lists everything",
    }
    add_options(parser, options, "")
    group = parser.add_argument_group("signatures")
    options = {
        "--signed": "add whether components are signed; reads descriptors from registries",
        "--public-key FILE": "PEM key that verifies them (default: option `public_key`)",
    }
    add_options(group, options, "")
    add_component_registry(group, "with --signed")
    add_fetching(group)
    configure_reading(parser)
    add_contexts(parser)


def run(args: argparse.Namespace) -> int:
    if args.schema:
        print_text(document(catalog_json_schema(), "yaml" if args.output == "yaml" else "json"))
        return 0
    if args.signed and args.installed_by:
        raise UsageError("--signed and --installed-by exclude each other", hint="only modules have signatures")
    if args.signed and is_remote(args):
        raise UsageError("--signed reads one cluster", hint="run it on the control plane, without --remote")
    if args.signed and uses_contexts(args):
        raise UsageError("--signed reads one cluster", hint="choose it with --context")
    if uses_contexts(args):
        from kymatui.cli.options.contexts import show_contexts

        return show_contexts(args, lambda session: (_listing_of(session, args), 0))
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


def _listing_of(session: Session, args: argparse.Namespace) -> Listing[CatalogEntry]:
    catalog = catalog_of(session, session.snapshot())
    return catalog_listing(catalog.installed_by(args.installed_by) if args.installed_by else catalog)


def catalog_listing(catalog: Catalog, signatures: Mapping[str, ModuleSignature] | None = None) -> Listing[CatalogEntry]:
    """Return the rows of a catalog; with `signatures` also whether each module is signed."""

    def item(entry: CatalogEntry) -> dict[str, Any]:
        signed = {"signature": entry.signature.to_json()} if entry.signature is not None else {}
        return {**row_json(entry.module), **signed}

    def document_of(entries: Sequence[CatalogEntry]) -> dict[str, Any]:
        document = catalog_to_json(replace(catalog, rows=tuple(entry.module for entry in entries)))
        return document if signatures is None else {**document, "modules": [item(entry) for entry in entries]}

    return Listing(
        columns=[column for column in COLUMNS if column.id != "signed" or signatures is not None],
        entries=[CatalogEntry(row, signature=signatures[row.name] if signatures else None) for row in catalog.rows],
        document=document_of,
        item=item,
        name=lambda entry: entry.module.name,
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

    def _rows(self, catalog: Catalog, listing: Listing[CatalogEntry]) -> None:
        form = self._args.output
        entries = sorted_entries(listing, self._args.sort_by)
        rows = {entry.module.name: lines_of(listing, entry)[0] for entry in entries}
        fresh = [row for name, row in rows.items() if self._shown.get(name) != row]
        gone = [[name, *["(deleted)"] * (len(listing.columns) - 1)] for name in self._shown if name not in rows]
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
            self._print_once(f"{count} of other tools not listed; --installed-by all lists them")

    def _unknown(self, signatures: Mapping[str, ModuleSignature]) -> None:
        """Say why signatures are invalid or unknown, each reason once."""
        reasons: dict[str, list[str]] = {}
        for name, signature in signatures.items():
            if signature.why:
                reasons.setdefault(f"{signature.status}: {signature.why}", []).append(name)
        for why, names in reasons.items():
            self._print_once(sanitize(f"signature of {first_of(names, 3)} {why}"))

    def _print_once(self, text: str, *, is_message: bool = False) -> None:
        """Print on standard error what was not printed before."""
        if text not in self._said:
            self._said.add(text)
            print_message(text) if is_message else print_line(text, sys.stderr)

    def _problems(self, catalog: Catalog) -> None:
        """Print the problems that are in no row; a row has its own reason."""
        lists, others = missing_list_problems(catalog, verbose=self._args.verbose)
        for problem in lists:
            self._print_once(sanitize(problem.text), is_message=True)
        for problem in others:
            self._print_once(f"{problem.severity.value}: {sanitize(problem.text)}")


# `kymatui catalog --remote RUNTIME`: each module with its Manifest on the control plane, and who says what of it.


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
                _print_problems(catalog, args)
                last = text
    return 0


def _print_problems(catalog: Catalog, args: argparse.Namespace) -> None:
    lists, others = missing_list_problems(catalog, verbose=args.verbose)
    for problem in lists:
        print_message(problem.text)
    for problem in others:
        print_line(f"{problem.severity.value}: {problem.text}", sys.stderr)


def _text(catalog: Catalog, manifests: Manifests, args: argparse.Namespace) -> str:
    entries = [
        CatalogEntry(row, manifest=manifests.get(row.manifest) if row.manifest else None) for row in catalog.rows
    ]
    listing: Listing[CatalogEntry] = Listing(
        columns=REMOTE_COLUMNS,
        entries=entries,
        document=lambda listed: as_json(replace(catalog, rows=tuple(entry.module for entry in listed)), manifests),
        item=lambda entry: row_json(entry.module),
        name=lambda entry: entry.module.name,
    )
    return render(listing, args)


def as_json(catalog: Catalog, manifests: Manifests) -> dict[str, Any]:
    """Return the JSON of `kymatui catalog`; each module has `reports` and `manifest` besides."""
    document_of = catalog_to_json(catalog)
    for row, entry in zip(catalog.rows, document_of["modules"], strict=True):
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
