"""The documented JSON of a catalog (`kymatui catalog -o json`)."""

from __future__ import annotations

from typing import Any

from kymatui.domain.catalog.rows import Catalog, CatalogOrigin, CheckedResource, KymaSummary, ModuleRow, StateReports
from kymatui.domain.installed import (
    InstallationPhase,
    deletion_command,
    install_command,
)
from kymatui.domain.kyma.problems import Actor, Problem
from kymatui.domain.kyma.states import StateSource
from kymatui.domain.modules.state_checks import Evaluation, RuleOutcome
from kymatui.domain.snapshot.missing_lists import LIST_WORDS, RowFact, UnknownFact
from kymatui.domain.snapshot.snapshots import Feed


def catalog_to_json(catalog: Catalog) -> dict[str, Any]:
    """Return the documented JSON of a catalog.

    `{"cluster", "kyma", "modules": […], "problems": […], "counts": {…}, "unknown": {…}, "lists": {…}}`. A missing
    version is null. An unknown fact is null too, and `unknown` gives the reason.
    """
    unknown = {
        "kyma": catalog.kyma_unknown,
        "modules": catalog.modules_unknown,
        "problems": catalog.loading,
        "installations": catalog.installations_unknown,
        "releases": catalog.releases_unknown,
    }
    counts = {"modules": len(catalog.rows), "problems": catalog.problem_count, "releases": len(catalog.releases)}
    return {
        "cluster": catalog.cluster,
        "kyma": _kyma(catalog.kyma) if catalog.kyma is not None else None,
        "modules": [row_json(row) for row in catalog.rows],
        "problems": [problem_json(problem) for problem in catalog.problems],
        "counts": {what: None if unknown[what] is not None else count for what, count in counts.items()},
        "unknown": {fact: unknown_json(why) for fact, why in unknown.items() if why is not None},
        "lists": {name: list_json(feed) for name, feed in sorted(catalog.feeds.items())},
    }


def unknown_json(why: UnknownFact) -> dict[str, Any]:
    """Return the JSON for one unknown fact."""
    return {"state": why.gap.value, "lists": list(why.lists), "reason": str(why)}


def actor_json(actor: Actor) -> str | None:
    """Return who acts: null if no action is needed, `unknown` if the lists that tell were not read."""
    return actor.value or None


def list_json(feed: Feed) -> dict[str, Any]:
    """Return the JSON for the status of one list."""
    return {"state": LIST_WORDS[feed.state], "message": feed.message or None}


def _kyma(kyma: KymaSummary) -> dict[str, Any]:
    return {
        "name": kyma.ref.name,
        "namespace": kyma.ref.namespace,
        "channel": kyma.channel or None,
        "state": kyma.state or None,
    }


def row_json(row: ModuleRow) -> dict[str, Any]:
    """Return the JSON of one module, with the documented keys only."""
    return {
        "name": row.name,
        "origin": row.origin.value,
        "channels": None if RowFact.CHANNELS in row.unknown else dict(row.channels),
        "channel": row.channel or None,
        "channelSource": row.resolution.channel_source.value if row.channel else None,
        "desired": row.desired or None,
        "installed": row.installed or None,
        "installedSource": row.version_source.value if row.version_source is not None else None,
        "newest": None if RowFact.NEWEST in row.unknown else row.newest or None,
        "drift": row.drift.kind.value,
        "state": row.state.value,
        "stateSource": row.state_source.value or None,
        "presence": row.presence.value,
        "managed": None if RowFact.MANAGED in row.unknown else row.managed,
        "mandatory": None if RowFact.MANDATORY in row.unknown else row.mandatory,
        "beta": row.beta,
        "internal": row.internal,
        "checks": None if RowFact.CHECKS in row.unknown else [e for resource in row.checked for e in _checks(resource)],
        "reason": row.reason.text,
        "actor": actor_json(row.actor),
        "installedBy": row.installed_by or None,
        "installation": installation_json(row),
        "unknown": {fact.value: unknown_json(why) for fact, why in row.unknown.items()},
    }


def installation_json(row: ModuleRow) -> dict[str, Any] | None:
    """Return the JSON of what kymatui or helm recorded of an installation, null without a record."""
    installation, run = row.installation, row.run
    if installation is None or run is None:
        return None
    inventory = installation.inventory
    direct = row.origin is CatalogOrigin.KYMA
    ends = run.phase.is_interrupted and installation.is_own
    completes = inventory is not None and run.phase is InstallationPhase.PARTIAL
    return {
        "name": installation.name,
        "namespace": installation.namespace,
        "record": str(installation.record),
        "source": installation.source.value if installation.source is not None else None,
        "address": installation.address or None,
        "version": installation.version or None,
        "state": run.phase.value,
        "helmStatus": installation.status or None,
        "objects": None if run.objects is None else {"planned": run.objects.planned, "existing": run.objects.existing},
        "holder": run.holder or None,
        "install": install_command(inventory, direct=direct).strip("`")
        if ends and completes and inventory is not None
        else None,
        "delete": deletion_command(installation.name, installation.namespace).strip("`") if ends else None,
    }


def reports_json(reports: StateReports) -> dict[str, Any]:
    """Return the JSON of the state that each source reports."""
    return {
        "kyma": reports.kyma or None,
        "kymaVersion": reports.kyma_version or None,
        "manifest": reports.manifest or None,
        "resource": reports.resource or None,
        "manager": reports.manager or None,
        "disagree": reports.disagree,
    }


def _checks(checked: CheckedResource) -> list[dict[str, Any]]:
    """Return the outcomes of the template's rules; a plain status.state has none."""
    evaluation = checked.klm
    if evaluation.source is not StateSource.RULES:
        return []
    return [_rule(checked, evaluation, outcome) for outcome in evaluation.rules]


def _rule(checked: CheckedResource, evaluation: Evaluation, outcome: RuleOutcome) -> dict[str, Any]:
    return {
        "resource": str(checked.resource),
        "path": outcome.rule.path,
        "wanted": outcome.rule.value,
        "found": outcome.value.text if outcome.value.found else None,
        "result": outcome.result.value,
        "mapsTo": outcome.rule.mapped_state,
        "state": evaluation.state.value,
    }


def problem_json(problem: Problem) -> dict[str, Any]:
    return {
        "severity": problem.severity.value,
        "module": problem.module or None,
        "object": problem.object or None,
        "message": problem.message,
        "actor": actor_json(problem.actor),
    }
