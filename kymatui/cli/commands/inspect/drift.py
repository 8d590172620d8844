"""`kymatui drift`: modules whose installed version is not the one it should be.

Exit status 2 where a module drifts, 1 where that is not known of every module or of which Kyma.
"""

from __future__ import annotations

import argparse
from typing import Any

from kymatui.cli.cluster_options import add_contexts, uses_contexts
from kymatui.cli.options.reading import catalog_of, configure_reading, follow
from kymatui.cli.output.listing import Listing, no_modules, render
from kymatui.domain.catalog.catalog_json import actor_json, unknown_json
from kymatui.domain.catalog.rows import Catalog, ModuleRow
from kymatui.domain.snapshot.missing_lists import RowFact
from kymatui.domain.versions.messages import drift_words
from kymatui.errors import KymatuiError, RefusedError
from kymatui.lists.catalog import DRIFT_COLUMNS
from kymatui.lists.catalog_cells import CatalogEntry


def configure(parser: argparse.ArgumentParser) -> None:
    configure_reading(parser)
    add_contexts(parser)


def run(args: argparse.Namespace) -> int:
    if uses_contexts(args):
        from kymatui.cli.options.contexts import show_contexts

        return show_contexts(args, lambda session: _answer(catalog_of(session, session.snapshot())))

    def answer(catalog: Catalog) -> tuple[str, int]:
        listing, status = _answer(catalog)
        return render(listing, args), status

    return follow(args, answer)


def _answer(catalog: Catalog) -> tuple[Listing[CatalogEntry], int]:
    """Return the modules that drift, and the exit status."""
    if refusal := catalog.choice_refusal:
        raise KymatuiError(refusal, hint="use --remote RUNTIME, or `kymatui fleet --drifting`")
    rows = [row for row in catalog.rows if row.drift.is_drift]
    unknown = [row for row in catalog.rows if RowFact.DRIFT in row.unknown]
    why = catalog.modules_unknown
    status = RefusedError.exit_code if rows else KymatuiError.exit_code if unknown or why is not None else 0
    listing = Listing(
        columns=DRIFT_COLUMNS,
        entries=[CatalogEntry(row) for row in (*rows, *unknown)],
        document=lambda entries: {
            "cluster": catalog.cluster,
            "drift": [_json(entry.module) for entry in entries if RowFact.DRIFT not in entry.module.unknown],
            "unknownDrift": {row.name: unknown_json(row.unknown[RowFact.DRIFT]) for row in unknown},
            "unknown": {} if why is None else {"modules": unknown_json(why)},
        },
        item=lambda entry: _json(entry.module),
        name=lambda entry: entry.module.name,
        below=() if why is None else (f"modules: {why}",),
        empty="no module drifts" if catalog.rows and why is None else no_modules(catalog),
    )
    return listing, status


def _json(row: ModuleRow) -> dict[str, Any]:
    return {
        "name": row.name,
        "installed": row.installed or None,
        "installedSource": row.version_source.value if row.version_source is not None else None,
        "desired": row.desired or None,
        "drift": row.drift.kind.value,
        "kind": row.drift.kind.earlier_word,  # deprecated: `drift`
        "distance": row.drift.distance.key if row.drift.distance else None,
        "words": drift_words(row.drift),
        "actor": actor_json(row.actor),
        "waitingFor": actor_json(row.actor),  # deprecated: `actor`
    }
