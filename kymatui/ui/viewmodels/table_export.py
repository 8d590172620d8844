"""Export of a table as CSV, JSON or Markdown."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence

from kymatui.lists.columns import Column
from kymatui.ui.viewmodels.row_list import EMPTY, Row

FORMATS = ("csv", "json", "md", "tsv")


def export_table(columns: Sequence[Column], rows: Sequence[Row], form: str) -> str:
    """Return all columns and all displayed rows, whether they fit the screen or not."""
    body = [[row.cells.get(column.id, EMPTY).text for column in columns] for row in rows]
    if form == "json":
        names = [column.id for column in columns]
        return json.dumps([dict(zip(names, line, strict=True)) for line in body], indent=2, ensure_ascii=False) + "\n"
    head = [column.title for column in columns]
    if form == "md":
        lines = [head, ["---"] * len(head), *body]
        return "".join(f"| {' | '.join(_escaped(cell) for cell in line)} |\n" for line in lines)
    out = io.StringIO()
    csv.writer(out, delimiter="\t" if form == "tsv" else ",", lineterminator="\n").writerows([head, *body])
    return out.getvalue()


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("|", "\\|")
