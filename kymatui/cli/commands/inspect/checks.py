"""`kymatui checks NAME [--explain] [--mode klm|strict]`: how a module's state comes about, rule by rule."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from kymatui.cli.options.reading import configure_reading, follow, row_of
from kymatui.cli.output.printing import document, markdown, table

if TYPE_CHECKING:
    from kymatui.domain.catalog.rows import Catalog, ModuleRow
    from kymatui.domain.modules.state_checks import Evaluation, RuleOutcome

_HEADER = ("#", "PATH", "EXPECTED", "ACTUAL", "RESULT", "MAPS TO")


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", metavar="NAME", help="name of the module")
    parser.add_argument(
        "--explain", action="store_true", help="also print how the rules combine, and problems of the rules"
    )
    parser.add_argument(
        "--mode",
        choices=("klm", "strict"),
        default="klm",
        help="klm: as lifecycle-manager evaluates the rules; strict: as documented (default: klm)",
    )
    configure_reading(parser)


def run(args: argparse.Namespace) -> int:
    return follow(args, lambda catalog: (_text(catalog, args), 0))


def _text(catalog: Catalog, args: argparse.Namespace) -> str:
    from kymatui.domain.catalog.catalog_json import unknown_json
    from kymatui.domain.snapshot.missing_lists import RowFact

    row = row_of(catalog, args.name)
    found = [checks_json(name, evaluation) for name, evaluation in _evaluations(row, args.mode)]
    if args.output in ("json", "yaml"):
        why = row.unknown.get(RowFact.CHECKS)
        resources = {"resources": found if why is None else None, "lint": _lint(row)}
        unknown = {} if why is None else {"resources": unknown_json(why)}
        return document({"module": row.name, "mode": args.mode, **resources, "unknown": unknown}, args.output)
    draw = markdown if args.output == "md" else table
    parts = []
    for one in found:
        head = f"{one['resource']}: {one['state']}, decided by {one['source']} ({one['decision']})"
        lines = [[str(n), *map(_cell, rule.values())] for n, rule in enumerate(one["rules"], 1)]
        parts.append(head + (f"\n{draw(_HEADER, lines)}" if lines else ""))
        if args.explain:
            parts += [f"{group}: {value}" for group, value in one["groups"].items()]
            parts += [one["message"]] if one["message"] else []
    if args.explain:
        parts += _lint(row)
    why = row.unknown.get(RowFact.CHECKS)
    if why is not None:
        parts.append(f"{row.name}: module CRs {why}")
    return "\n".join(parts) or f"{row.name}: no module CR to check"


def _cell(value: object) -> str:
    return "" if value is None else str(value)


def _evaluations(row: ModuleRow, mode: str) -> list[tuple[str, Evaluation]]:
    if row.checked:
        return [(str(one.resource), one.klm if mode == "klm" else one.strict) for one in row.checked]
    return [(row.name, row.evaluation)] if row.evaluation is not None else []


def _lint(row: ModuleRow) -> list[str]:
    from kymatui.domain.modules.state_check_lint import lint_rules

    template = row.resolution.template
    return [str(finding) for finding in lint_rules(template.rules)] if template is not None else []


def checks_json(resource: str, evaluation: Evaluation) -> dict[str, Any]:
    """One resource: the state, who decided it and why, each rule with what was found."""
    return {
        "resource": resource,
        "state": evaluation.state.value,
        "source": evaluation.source.value,
        "decision": evaluation.decision.value,
        "message": evaluation.message,
        "groups": {group.state: _value(group.value) for group in evaluation.groups},
        "rules": [_rule(outcome) for outcome in evaluation.rules],
    }


def _value(value: bool | None) -> str:
    return "not evaluated" if value is None else str(value).lower()


def _rule(outcome: RuleOutcome) -> dict[str, Any]:
    look = outcome.look
    return {
        "path": outcome.rule.path,
        "wanted": outcome.rule.value,
        "found": look.text if look.found else f"({look.kind.value})",
        "result": outcome.result.value,
        "mapsTo": outcome.rule.mapped_state,
    }
