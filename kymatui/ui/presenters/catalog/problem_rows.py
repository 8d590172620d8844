"""Problems as rows."""

from __future__ import annotations

from typing import Final

from kymatui.domain.catalog.rows import Catalog
from kymatui.domain.kubernetes.terminal_text import sanitize
from kymatui.domain.kyma.problems import Problem, Severity
from kymatui.domain.snapshot.missing_lists import ListGap
from kymatui.errors import KymatuiError
from kymatui.lists.columns import Cell, ListColumn, cells_of
from kymatui.ui.viewmodels.row_list import Row

_ORDER = tuple(Severity)
_TONES = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "muted"}
COLUMNS: Final[tuple[ListColumn[Problem], ...]] = (
    ListColumn(
        "severity",
        "SEVERITY",
        10,
        cell=lambda row: Cell(str(row.severity), _TONES[row.severity], _ORDER.index(row.severity)),
    ),
    ListColumn.of_value("module", "MODULE", 18, lambda row: row.module, "strong", flex=1),
    ListColumn.of_value("object", "OBJECT", 20, lambda row: row.object, "muted", flex=3, priority=1, wraps=True),
    ListColumn.of_value("message", "PROBLEM", 30, lambda row: row.text, flex=9, wraps=True),
    ListColumn.of_value("actor", "WHO ACTS", 17, lambda row: str(row.actor), "accent", flex=2, priority=2),
)


def problem_rows(catalog: Catalog | None, namespace: str = "") -> list[Row]:
    """Return every problem once, worst first; with a namespace without those of objects in other ones."""
    problems = catalog.problems if catalog is not None else ()
    return [_row(problem) for problem in problems if not namespace or _is_in(problem, namespace)]


def _is_in(problem: Problem, namespace: str) -> bool:
    return problem.ref is None or problem.ref.namespace in ("", namespace)


def lost_server_row(failure: KymatuiError) -> Row:
    """Return the only line while there is no catalog, since the cluster was never reached."""
    return _row(Problem(Severity.ERROR, f"{failure}; {failure.hint}" if failure.hint else str(failure)))


def count_problems(catalog: Catalog) -> str:
    """Return the number of modules and known problems for the top line."""
    updates = f"  updates {catalog.update_count}" if catalog.update_count else ""
    return f"modules {_modules(catalog)}  problems {_problems(catalog)}{updates}"


def one_kyma_banner(catalog: Catalog, kymas: int) -> str:
    """Return which of a control plane's `kymas` the rows are about, and how to see all; "" for a runtime."""
    if not catalog.is_control_plane or catalog.kyma is None:
        return ""
    ref = catalog.kyma.ref
    number = f", 1 of {kymas}" if kymas > 1 else ""
    return sanitize(f"Only Kyma {ref.namespace}/{ref.name}{number}; `:fleet runtimes` lists its runtimes")


def summarize_problems(catalog: Catalog | None, namespace: str = "") -> str:
    """Return the summary above the list of problems, which may be narrowed to a namespace."""
    if catalog is None:
        return str(ListGap.LOADING)
    notes = len(catalog.problems) - catalog.problem_count
    summary = f"{_problems(catalog)} {'problem' if catalog.problem_count == 1 else 'problems'}"
    if catalog.loading is not None:
        summary = f"{catalog.problem_count} so far, {catalog.loading}"
    summary += f"   {notes} {'note' if notes == 1 else 'notes'}" if notes else ""
    return f"{summary}   only namespace {sanitize(namespace)}" if namespace else summary


def _modules(catalog: Catalog) -> str:
    why = catalog.modules_unknown
    if why is None:
        return str(len(catalog.rows))
    return f"{len(catalog.rows)}+" if catalog.rows and why.gap is not ListGap.LOADING else why.gap.value


def _problems(catalog: Catalog) -> str:
    return str(catalog.problem_count) if catalog.loading is None else ListGap.LOADING.value


def _row(problem: Problem) -> Row:
    return Row(_key(problem), cells_of(COLUMNS, problem))


def problem_line(row: Row) -> str:
    """Return a problem in full for the line under the table: the object once, what is wrong, and who acts."""
    texts = {name: row.cells[name].text for name in ("object", "message", "actor")}
    what = "" if texts["object"] in texts["message"] else texts["object"]
    who = texts["actor"] and f"who acts: {texts['actor']}"
    return "   ".join(part for part in (what, texts["message"], who) if part)


def _key(problem: Problem) -> str:
    return f"{problem.module}\0{problem.object}\0{problem.message}"


def problem_of(catalog: Catalog | None, key: str) -> Problem | None:
    """Return the problem of a line; None where it has been solved meanwhile."""
    problems = catalog.problems if catalog is not None else ()
    return next((problem for problem in problems if _key(problem) == key), None)
