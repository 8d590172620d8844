"""The documented JSON of a catalog: `kymatui catalog -o json`."""

from __future__ import annotations

from typing import Any

from kymatui.domain.problems import Problem
from kymatui.domain.rows import Catalog, Checked, KymaSummary, Row
from kymatui.domain.statechecks import Evaluation, Mode, RuleOutcome
from kymatui.domain.states import StateSource


def to_json(catalog: Catalog, mode: Mode = Mode.KLM) -> dict[str, Any]:
    """`{"cluster", "kyma", "modules": […], "problems": […]}`; a version that is not there is null."""
    return {
        "cluster": catalog.cluster,
        "kyma": _kyma(catalog.kyma) if catalog.kyma is not None else None,
        "modules": [row_json(row, mode) for row in catalog.rows],
        "problems": [problem_json(problem) for problem in catalog.problems],
    }


def _kyma(kyma: KymaSummary) -> dict[str, Any]:
    return {
        "name": kyma.ref.name,
        "namespace": kyma.ref.namespace,
        "channel": kyma.channel or None,
        "state": kyma.state or None,
    }


def row_json(row: Row, mode: Mode = Mode.KLM) -> dict[str, Any]:
    """One module, with the documented keys and no other."""
    return {
        "name": row.name,
        "origin": row.origin.value,
        "channels": dict(row.channels),
        "channel": row.channel or None,
        "desired": row.desired or None,
        "installed": row.installed or None,
        "newest": row.newest or None,
        "drift": row.drift.kind.value,
        "state": row.state.value,
        "stateSource": row.state_source.value or None,
        "managed": row.managed,
        "mandatory": row.mandatory,
        "beta": row.beta,
        "internal": row.internal,
        "checks": [entry for checked in row.checked for entry in _checks(checked, mode)],
        "reason": row.reason.text,
    }


def _checks(checked: Checked, mode: Mode) -> list[dict[str, Any]]:
    """The rules of the template; a plain status.state has none."""
    evaluation = checked.klm if mode is Mode.KLM else checked.strict
    if evaluation.source is not StateSource.RULES:
        return []
    return [_rule(checked, evaluation, outcome) for outcome in evaluation.rules]


def _rule(checked: Checked, evaluation: Evaluation, outcome: RuleOutcome) -> dict[str, Any]:
    return {
        "resource": str(checked.resource),
        "path": outcome.rule.path,
        "wanted": outcome.rule.value,
        "found": outcome.look.text if outcome.look.found else None,
        "result": outcome.result.value,
        "mapsTo": outcome.rule.mapped_state,
        "state": evaluation.state.value,
    }


def problem_json(problem: Problem) -> dict[str, Any]:
    """One problem."""
    return {
        "severity": problem.severity.value,
        "module": problem.module or None,
        "object": problem.object or None,
        "message": problem.message,
        "actor": problem.actor.value or None,
    }
