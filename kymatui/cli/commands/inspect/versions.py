"""`kymatui versions NAME [VERSION [TO]]`: the versions of a module, or what differs between two of them."""

from __future__ import annotations

import argparse
import time
from contextlib import closing
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from kymatui.actions.modules.version_content import Affected, VersionReader, VersionReport, compare_contents
from kymatui.cli.cluster_options import add_fetching, add_option, fetch_options
from kymatui.cli.options.reading import configure_reading, note_missing_lists, row_of, watch_sessions
from kymatui.cli.output.listing import Listing, ListPrinter, is_table, render
from kymatui.cli.output.plan_changes import affected_json, change_json
from kymatui.domain.catalog.catalog import build_catalog
from kymatui.domain.catalog.catalog_json import unknown_json
from kymatui.domain.catalog.rows import ModuleRow, OfferMark, newest_first
from kymatui.domain.kyma.module_templates import ModuleTemplate
from kymatui.domain.kyma.versions import same_version
from kymatui.domain.modules.presence import UNFINISHED
from kymatui.domain.snapshot.cluster_index import CATALOG_FEEDS, index_cluster
from kymatui.domain.snapshot.missing_lists import UnknownFact, explain_missing
from kymatui.errors import NotFoundError, PartlyDoneError, UnknownNameError, UsageError
from kymatui.lists.columns import row_document, text_columns
from kymatui.lists.module import VERSION_COLUMNS, OfferEntry
from kymatui.sessions.fetching import LazyFetcher

if TYPE_CHECKING:
    from kymatui.actions.session import Session

_CHANGES: Final = text_columns("SECTION", "CHANGE", "WHAT", "VALUE")


def configure(parser: argparse.ArgumentParser) -> None:
    add_option(parser, "name NAME", "name of the module")
    add_option(
        parser,
        "version VERSION",
        "version to compare with the installed one, or with TO; NAMESPACE/TEMPLATE if several have it",
        nargs="?",
        default="",
    )
    add_option(parser, "to TO", "version that VERSION is compared with", nargs="?", default="")
    configure_reading(parser)
    add_fetching(parser)


def run(args: argparse.Namespace) -> int:
    """Print versions or differences. Exit with 3 if a manifest or affected objects could not be read."""
    printer, status = ListPrinter(args), 0
    reader = VersionReader(LazyFetcher(fetch_options(args)))
    with closing(watch_sessions(args)) as sessions:
        for session in sessions:
            catalog = build_catalog(session.snapshot(), time.time())
            row = row_of(catalog, args.name)
            if not args.version:
                printer.put(render(_offers(row, explain_missing(catalog.feeds, CATALOG_FEEDS[:1])), args))
                note_missing_lists(printer, catalog, verbose=args.verbose)
                continue
            report = _report(session, row, reader, args)
            status = PartlyDoneError.exit_code if report.unread else 0
            printer.put(_text(row, report, args))
            if is_table(args.output):
                printer.note(*_base_note(row, args), *(f"not read: {reason}" for reason in report.unread))
    return status


def _offers(row: ModuleRow, why: UnknownFact | None) -> Listing[OfferEntry]:
    """Return the versions; with `why` the cluster's templates did not come, so that there may be others."""
    return Listing(
        columns=VERSION_COLUMNS,
        entries=[OfferEntry(row, offer) for offer in newest_first(row.offers)],
        document=lambda offers: {
            "module": row.name,
            "installed": row.installed or None,
            "presence": row.presence.value,
            "versions": [row_document(VERSION_COLUMNS, entry) for entry in offers] if offers or why is None else None,
            "unknown": {} if why is None else {"versions": unknown_json(why)},
        },
        item=lambda entry: row_document(VERSION_COLUMNS, entry),
        name=lambda entry: entry.offer.version,
        below=() if row.presence not in UNFINISHED else (row.reason.text,),
        empty=_no_versions(row) if why is None else f"versions of {row.name}: {why}",
    )


def _no_versions(row: ModuleRow) -> str:
    text = f"no template of {row.name} is in a catalog"
    return f"{text}; {row.reason.text}" if row.installation is not None else text


# the comparison


def _report(session: Session, row: ModuleRow, reader: VersionReader, args: argparse.Namespace) -> VersionReport:
    if args.to:
        before, after = _template(session, row, args.version), _template(session, row, args.to)
    else:
        base = row.base_offer
        if base is None:
            raise NotFoundError(f"no template of {row.name} is in a catalog", hint="`kymatui versions` lists versions")
        before, after = _template(session, row, base.template.path), _template(session, row, args.version)
    return compare_contents(reader, lambda: session.cluster, before, after)


def _template(session: Session, row: ModuleRow, text: str) -> ModuleTemplate:
    """Return the template of a version, or of NAMESPACE/TEMPLATE. Raises UnknownNameError and UsageError."""
    named = [offer for offer in row.offers if text == offer.template.path]
    matching = named or [offer for offer in row.offers if same_version(offer.version, text)]
    if not matching:
        known = [offer.version for offer in newest_first(row.offers)]
        hint = f"`kymatui versions {row.name}` lists them"
        raise UnknownNameError.near("version", text, known, where=f"of {row.name}", hint=hint)
    if len(matching) > 1:
        locations = ", ".join(sorted(offer.template.path for offer in matching))
        raise UsageError(f"several templates have {row.name} {text}: {locations}", hint="name one of the templates")
    templates = index_cluster(session.snapshot()).templates
    template = next((offer for offer in templates.offers(row.name) if offer.ref == matching[0].template), None)
    if template is None:
        raise NotFoundError(f"{matching[0].template} no longer exists", hint="run the command again")
    return template


def _base_note(row: ModuleRow, args: argparse.Namespace) -> list[str]:
    """Return that the installed version cannot be compared, where it would have been."""
    base = row.base_offer
    if args.to or base is None or not row.installed or OfferMark.INSTALLED in row.offer_marks(base):
        return []
    return [f"no template of the installed version {row.installed}; compared with {base.version}"]


class _Line(NamedTuple):
    """One difference, or one group of affected objects; `path` is its name."""

    cells: tuple[str, str, str, str]
    path: str
    document: dict[str, Any]


def _text(row: ModuleRow, report: VersionReport, args: argparse.Namespace) -> str:
    comparison = report.templates
    listing = Listing(
        columns=_CHANGES,
        entries=_lines(report),
        rows=lambda line: (line.cells,),
        document=lambda _: _json(row, report),
        item=lambda line: line.document,
        name=lambda line: line.path,
        below=tuple(_notes(report)),
        empty=f"{row.name} {comparison.before} and {comparison.after} do not differ",
    )
    return render(listing, args)


def _lines(report: VersionReport) -> list[_Line]:
    lines = [
        _Line(
            (str(name), str(change.kind), change.path, change.values),
            change.path,
            {"section": str(name), **change_json(change)},
        )
        for name, changes in report.sections.items()
        for change in changes
    ]
    return [*lines, *(_affected_line(affected) for affected in report.affected)]


def _affected_line(affected: Affected) -> _Line:
    what = f"{affected.crd} {affected.what}".rstrip()
    return _Line(("affected", affected.label, what, affected.message), what, affected_json(affected))


def _notes(report: VersionReport) -> list[str]:
    comparison = report.templates
    far = f" ({comparison.distance})" if comparison.distance else ""
    notes = [f"{comparison.before} → {comparison.after}{far}"]
    return (
        [*notes, "a downgrade, which is refused where the Kyma requests the module"] if comparison.downgrade else notes
    )


def _json(row: ModuleRow, report: VersionReport) -> dict[str, Any]:
    comparison = report.templates
    return {
        "module": row.name,
        "installed": row.installed or None,
        "from": {"version": comparison.before, "manifest": report.locations[0] or None},
        "to": {"version": comparison.after, "manifest": report.locations[1] or None},
        "distance": comparison.distance.key if comparison.distance else None,
        "downgrade": comparison.downgrade,
        "differences": {
            str(name): [change_json(change) for change in changes] for name, changes in report.sections.items()
        },
        "affected": [affected_json(affected) for affected in report.affected],
        "unread": list(report.unread),
    }
