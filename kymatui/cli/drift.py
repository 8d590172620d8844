"""`kymatui drift`: modules whose installed version is not the one it should be; exit status 2 where there are any."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from kymatui.cli.following import configure_reading, follow
from kymatui.cli.printing import document, markdown, table
from kymatui.errors import RefusedError

if TYPE_CHECKING:
    from kymatui.domain.rows import Catalog, Row

_HEADER = ("NAME", "INSTALLED", "DESIRED", "DRIFT", "WAITING FOR")


def configure(parser: argparse.ArgumentParser) -> None:
    configure_reading(parser)


def run(args: argparse.Namespace) -> int:
    return follow(args, lambda catalog: _answer(catalog, args.output))


def _answer(catalog: Catalog, form: str) -> tuple[str, int]:
    from kymatui.domain.wording import drift_words

    rows = [row for row in catalog.rows if row.drift.is_drift]
    status = RefusedError.exit_code if rows else 0
    if form in ("json", "yaml"):
        return document({"cluster": catalog.cluster, "drift": [_json(row) for row in rows]}, form), status
    if not rows:
        return "no module drifts", status
    draw = markdown if form == "md" else table
    lines = [[r.name, r.installed, r.desired, drift_words(r.drift), r.reason.actor.value] for r in rows]
    return draw(_HEADER, lines), status


def _json(row: Row) -> dict[str, Any]:
    from kymatui.domain.wording import drift_words

    return {
        "name": row.name,
        "installed": row.installed or None,
        "desired": row.desired or None,
        "kind": row.drift.kind.value,
        "distance": str(row.drift.distance) if row.drift.distance else None,
        "words": drift_words(row.drift),
        "waitingFor": row.reason.actor.value or None,
    }
