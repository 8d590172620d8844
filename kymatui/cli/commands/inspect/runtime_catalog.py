"""`kymatui catalog --remote RUNTIME`: each module with its Manifest on the control plane, and who says what of it."""

from __future__ import annotations

import argparse
import sys
from contextlib import closing
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from kymatui.cli.options.reading import catalog_of, watch_sessions
from kymatui.cli.output.listing import Listing, is_table, no_modules, render
from kymatui.cli.output.printing import print_line, print_text
from kymatui.domain.catalog.catalog_json import catalog_to_json, reports_json, row_json
from kymatui.domain.kyma.manifests import Manifest, read_manifest
from kymatui.domain.snapshot.missing_lists import RowFact
from kymatui.domain.versions.messages import drift_words

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kymatui.domain.catalog.rows import Catalog, ModuleRow
    from kymatui.domain.kubernetes.refs import ObjectRef

    Manifests = Mapping[ObjectRef, Manifest]

_HEADER = ("NAME", "CHANNEL", "INSTALLED", "DESIRED", "DRIFT", "STATE", "KYMA", "MANIFEST", "MODULE CR", "MANAGER")
_WIDE = ("TAGS", "REASON", "MANIFEST NAME", "MANIFEST CONDITIONS")


def show(args: argparse.Namespace) -> int:
    """Print it, and with --watch again whenever it is another."""
    last = ""
    with closing(watch_sessions(args)) as seen:
        for session in seen:
            snapshot = session.snapshot()
            found = catalog_of(session, snapshot)
            found = found.installed_by(args.installed_by) if args.installed_by else found
            read = (read_manifest(raw) for raw in snapshot.manifests)
            text = _text(found, {one.ref: one for one in read if isinstance(one, Manifest)}, args)
            if text != last:
                if text and (found.rows or not is_table(args.output)):
                    print_text(text)
                elif not found.rows:
                    print_text(no_modules(found), sys.stderr)
                _print_problems(found)
                last = text
    return 0


def _print_problems(found: Catalog) -> None:
    for problem in found.problems:
        if not problem.module:
            print_line(f"{problem.severity.value}: {problem.message}", sys.stderr)


def _text(found: Catalog, manifests: Manifests, args: argparse.Namespace) -> str:
    listing: Listing[ModuleRow] = Listing(
        header=(*_HEADER, *_WIDE),
        wide=_WIDE,
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
            {"type": one.type, "status": one.status, "reason": one.reason, "message": one.message}
            for one in manifest.conditions
        ],
    }
