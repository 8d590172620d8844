"""Every surface gives one answer to one question, or says what it has not read."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final

import pytest
from hypothesis import Phase, given, settings
from msgspec.structs import replace

from kymatui.domain.fleet import pending_actions
from kymatui.domain.kyma.problems import Actor
from kymatui.domain.remote.differences import LineVerdict
from kymatui.domain.remote.watcher_chains import WatcherChain
from kymatui.lists import fleet as fleet_lists
from kymatui.lists.columns import Cell
from kymatui.operator.kymas import module_planning
from tests.domain import agreed_documents, agreement
from tests.domain.agreed_documents import watcher_answers
from tests.domain.agreed_worlds import SITUATIONS, World, worlds
from tests.domain.agreement import ask, contradictions
from tests.domain.test_watcher_chains import Parts

WITHOUT_SHRINKING = (Phase.explicit, Phase.generate)


@settings(max_examples=200, deadline=None, derandomize=True, phases=WITHOUT_SHRINKING)
@given(worlds())
def test_no_surface_contradicts_another(world: World) -> None:
    assert contradictions(ask(world)) == []


@pytest.mark.parametrize("name", SITUATIONS)
def test_no_surface_contradicts_another_in_a_situation(name: str) -> None:
    assert contradictions(ask(SITUATIONS[name])) == []


# Watchers, which no catalog has


@pytest.mark.parametrize("health", ["healthy", "broken", "unknown"])
def test_no_surface_contradicts_another_on_a_watcher(health: str) -> None:
    assert contradictions(list(watcher_answers(watcher_chains(health)))) == []


def watcher_chains(health: str = "broken") -> tuple[WatcherChain, ...]:
    parts = Parts()
    if health == "broken":
        parts.secret = False
    if health == "unknown":
        parts.gateways = None
    chains = parts.chains()
    assert {chain.health.value for chain in chains} == {health}
    return chains


# the test itself: it finds a second answer, put into each surface in turn

OTHER = "other-than-elsewhere"


def other_value(key: str, other: str = OTHER) -> Callable[[Any], Any]:
    """Return what gives a document another value, where it has one at all."""

    def change(document: Any) -> Any:
        if isinstance(document, dict):
            return {name: other if name == key and value else change(value) for name, value in document.items()}
        return [change(value) for value in document] if isinstance(document, list | tuple) else document

    return change


def other_cell(name: str) -> Callable[[Any], Any]:
    """Return what gives all rows another text in a cell."""

    def change(rows: Any) -> Any:
        cell = Cell(OTHER, full=OTHER)
        return [replace(row, cells={**row.cells, name: cell}) for row in rows]

    return change


def other_text(pattern: str) -> Callable[[Any], Any]:
    return lambda text: re.sub(pattern, OTHER, text)


def other_fact(label: str) -> Callable[[Any], Any]:
    return lambda pairs: [(name, OTHER if name == label else value) for name, value in pairs]


def other_pages(label: str) -> Callable[[Any], Any]:
    return lambda facts: [replace(fact, text=OTHER) if fact.label == label else fact for fact in facts]


def other_report(name: str) -> Callable[[Any], Any]:
    return lambda report: replace(report, rows=tuple(other_cell(name)(report.rows)))


def other_entries(**fields: Any) -> Callable[[Any], Any]:
    return lambda entries: tuple(replace(entry, **fields) for entry in entries)


def other_column(name: str) -> Callable[[Any], Any]:
    """Return what gives a list another text in one column of its table."""

    def change(listing: Any) -> Any:
        columns = [replace(one, cell=lambda _: Cell(OTHER)) if one.id == name else one for one in listing.columns]
        return replace(listing, columns=tuple(columns))

    return change


def other_versions(forecast: Any) -> Any:
    return replace(forecast, entries=tuple(replace(entry, installed=OTHER) for entry in forecast.entries))


def other_plans(planned: Any) -> Any:
    spec = {"spec": {"version": OTHER}}
    return [replace(module, body={**module.body, **spec} if module.body else None) for module in planned]


SECOND_ANSWERS: Final = {
    "catalog -o json, actor": (agreement, "catalog_to_json", other_value("actor")),
    "catalog -o json, state": (agreement, "catalog_to_json", other_value("state")),
    "module -o json": (agreement, "module_json", other_value("reason")),
    "module": (agreement, "facts", other_fact("who acts")),
    "module, blocked by": (agreement, "facts", other_fact("blocked by")),
    "module -o json, blocked by": (agreement, "module_json", other_value("blockedBy")),
    "module page, blocked by": (agreement, "findings", other_pages("blocked by")),
    "compare, blocked by": (agreement, "compare_json", other_value("why", "blocked by finalizer a.b/c")),
    "audit, blocked by": (agreement, "audit_json", other_value("object")),
    "diagnose, blocked by": (agreed_documents, "diagnosed_module", other_value("blockedBy")),
    "module, risk": (agreement, "facts", lambda pairs: [(label, f"{text} {OTHER}") for label, text in pairs]),
    "module -o json, risk": (agreement, "module_json", other_value("severity")),
    "the catalog's screen": (agreement, "table_rows", other_cell("installed")),
    "module page": (agreement, "observed", other_pages("installed")),
    "the line under the catalog": (agreement, "explain_row", lambda line: replace(line, text=OTHER)),
    "versions": (agreement, "row_document", lambda marks: {key: not value for key, value in marks.items()}),
    "drift -o json": (agreement, "drift_json", other_value("desired")),
    "drift": (agreement, "cells_of", lambda cells: {name: Cell(OTHER) for name in cells}),
    "channels side by side": (
        agreement,
        "build_matrix",
        lambda matrix: replace(matrix, rows=other_entries(installed=OTHER)(matrix.rows)),
    ),
    "header": (agreement, "count_problems", lambda text: re.sub(r"problems \d+", "problems 99", text)),
    "problems": (agreement, "problem_rows", lambda rows: rows[1:]),
    "compare": (agreement, "compare_json", other_value("actor")),
    "compare's table": (
        agreed_documents,
        "compare_sides",
        lambda sides: replace(sides, lines=other_entries(verdict=LineVerdict.WRONG)(sides.lines)),
    ),
    "audit": (agreement, "audit_json", other_value("actor")),
    "audit, severity": (agreement, "audit_json", other_value("severity")),
    "audit -o json": (agreed_documents, "as_json", other_value("message")),
    "audit -o sarif": (agreed_documents, "as_sarif", other_value("level")),
    "audit -o html": (agreed_documents, "as_html", other_text("(?<=<small>who acts: )[^<]*")),
    "audit -o junit": (agreed_documents, "as_junit", other_text("(?<=; who acts: )[^\n<]*")),
    "audit's table": (
        agreed_documents,
        "finding_rows",
        lambda rows: [replace(rows[0], finding=replace(rows[0].finding, module=OTHER))],
    ),
    "fleet -o json": (fleet_lists, "_module_json", other_value("installed")),
    "fleet -o wide": (agreement, "fleet_listing", other_column("actor")),
    "header of the fleet": (agreement, "count_runtimes", lambda text: re.sub(r"problems \d+", "problems 99", text)),
    "line under the fleet": (agreement, "explain_runtime", lambda words: (OTHER, *words[1:])),
    "problems of the fleet": (agreement, "fleet_problem_rows", other_cell("reason")),
    "waits": (pending_actions, "_of_catalog", other_entries(actor=Actor.CATALOG)),
    "matrix": (agreement, "version_matrix", lambda rows: [replace(row, counts=((OTHER, 1),)) for row in rows]),
    "windows": (agreement, "window_json", other_value("installed")),
    "whatif": (agreement, "foresee", other_versions),
    "checks": (agreed_documents, "checks_json", other_value("state")),
    "diagnose": (agreed_documents, "diagnosed_module", other_value("desired")),
    "diagnose's page": (agreed_documents, "diagnosed_cells", lambda cells: (*cells[:-1], OTHER)),
    "sync -o json": (agreed_documents, "sync_json", other_value("standing")),
    "sync": (agreed_documents, "cells_of", lambda cells: {name: Cell(OTHER) for name in cells}),
    "sync, screen": (agreed_documents, "sync_report", other_report("standing")),
    "label": (agreed_documents, "synced_objects", lambda objects: {}),
    "operator's writes": (agreed_documents, "catalog_writes", lambda writes: replace(writes, applied=())),
    "operator": (module_planning.ModulePlanner, "plan", other_plans),
}
"""The surfaces, and for each what gives it another answer."""


@pytest.mark.parametrize("surface", SECOND_ANSWERS)
def test_a_second_answer_is_found(surface: str, monkeypatch: pytest.MonkeyPatch) -> None:
    owner, name, change = SECOND_ANSWERS[surface]
    original = getattr(owner, name)
    monkeypatch.setattr(owner, name, lambda *args, **options: change(original(*args, **options)))
    found = (line for world in SITUATIONS.values() for line in contradictions(ask(world)))
    assert next(found, "") != ""


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("chain_json", other_value("health")),
        ("watchers_report", other_report("why")),
        ("chain_findings", lambda findings: ()),
    ],
    ids=["watchers -o json", "watchers, screen", "audit"],
)
def test_a_second_answer_on_a_watcher_is_found(
    name: str, change: Callable[[Any], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    original = getattr(agreed_documents, name)
    monkeypatch.setattr(agreed_documents, name, lambda *args, **options: change(original(*args, **options)))
    assert contradictions(list(watcher_answers(watcher_chains()))) != []
