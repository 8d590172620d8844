"""`kymatui checks NAME [--explain] [--mode klm|strict]`: how a module's state comes about, rule by rule."""

from __future__ import annotations

import argparse
from typing import Any

from kymatui.cli.cluster_options import add_option
from kymatui.cli.options.reading import configure_reading, follow, row_of
from kymatui.cli.output.listing import Listing, is_table, name_lines, render, render_document
from kymatui.domain.catalog.rows import Catalog, ModuleRow
from kymatui.domain.modules.state_checks import Evaluation, lint_rules
from kymatui.domain.snapshot.missing_lists import RowFact
from kymatui.lists.columns import row_document
from kymatui.lists.module import RULE_COLUMNS, RuleEntry


def configure(parser: argparse.ArgumentParser) -> None:
    add_option(parser, "name NAME", "name of the module")
    add_option(parser, "--explain", "also print how the rules combine, and problems of the rules")
    add_option(
        parser,
        "--mode",
        "klm: as lifecycle-manager evaluates the rules; strict: as documented (default: klm)",
        choices=("klm", "strict"),
        default="klm",
    )
    configure_reading(parser)


def run(args: argparse.Namespace) -> int:
    return follow(args, lambda catalog: (_text(catalog, args), 0))


def _text(catalog: Catalog, args: argparse.Namespace) -> str:
    from kymatui.domain.catalog.catalog_json import unknown_json

    row = row_of(catalog, args.name)
    evaluations = _evaluations(row, args.mode)
    documents = [checks_json(name, evaluation) for name, evaluation in evaluations]
    if args.output == "name":
        return name_lines(checks_document["resource"] for checks_document in documents)
    if not is_table(args.output):
        why = row.unknown.get(RowFact.CHECKS)
        resources = {"resources": documents if why is None else None, "lint": _lint(row)}
        unknown = {} if why is None else {"resources": unknown_json(why)}
        return render_document({"module": row.name, "mode": args.mode, **resources, "unknown": unknown}, args.output)
    parts = []
    for (name, evaluation), entry in zip(evaluations, documents, strict=True):
        head = f"{name}: {evaluation.state}, decided by {evaluation.source}: {evaluation.explanation}"
        drawn = render(_rules(evaluation), args) if evaluation.rules else ""
        parts.append("\n".join(filter(None, ("" if args.no_headers else head, drawn))))
        if args.explain:
            parts += [f"{group}: {value}" for group, value in entry["groups"].items()]
            parts += [entry["message"]] if entry["message"] else []
    if args.explain:
        parts += _lint(row)
    why = row.unknown.get(RowFact.CHECKS)
    if why is not None:
        parts.append(f"{row.name}: module CRs {why}")
    return "\n".join(parts) or f"{row.name}: no module CR to check"


def _rules(evaluation: Evaluation) -> Listing[RuleEntry]:
    return Listing(
        columns=RULE_COLUMNS,
        entries=[RuleEntry(number, outcome, evaluation) for number, outcome in enumerate(evaluation.rules, 1)],
        document=lambda _: {},
        item=lambda entry: row_document(RULE_COLUMNS, entry),
        name=lambda entry: entry.outcome.rule.path,
    )


def _evaluations(row: ModuleRow, mode: str) -> list[tuple[str, Evaluation]]:
    if row.checked:
        return [
            (str(resource.resource), resource.klm if mode == "klm" else resource.strict) for resource in row.checked
        ]
    return [(row.name, row.evaluation)] if row.evaluation is not None else []


def _lint(row: ModuleRow) -> list[str]:
    template = row.resolution.template
    return [str(finding) for finding in lint_rules(template.rules)] if template is not None else []


def checks_json(resource: str, evaluation: Evaluation) -> dict[str, Any]:
    """Return the JSON of one resource: its state, the source and reason, and each rule with the value it found."""
    return {
        "resource": resource,
        "state": evaluation.state.value,
        "source": evaluation.source.value,
        "decision": evaluation.decision.value,
        "message": evaluation.message,
        "groups": {group.state: _value(group.value) for group in evaluation.groups},
        "rules": [row_document(RULE_COLUMNS, RuleEntry(0, outcome, evaluation)) for outcome in evaluation.rules],
    }


def _value(value: bool | None) -> str:
    return "not evaluated" if value is None else str(value).lower()
