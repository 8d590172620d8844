"""Catalog as table rows: one row per module, the views by channel, sorting, and the explanation line."""

from __future__ import annotations

import time
from collections.abc import Container, Mapping

from msgspec import Struct
from msgspec.structs import replace

from kymatui.domain.catalog.rows import Catalog, CatalogOrigin
from kymatui.domain.catalog.rows import ModuleRow as Module
from kymatui.domain.installed import SourceKind
from kymatui.domain.kubernetes.durations import format_duration
from kymatui.domain.kubernetes.terminal_text import sanitize
from kymatui.domain.kyma.problems import Actor, Severity
from kymatui.domain.kyma.states import State, StateSource, state_rank
from kymatui.domain.kyma.versions import parse_version
from kymatui.domain.modules.module_signature import ModuleSignature, SignatureStatus
from kymatui.domain.modules.presence import Presence
from kymatui.domain.snapshot.missing_lists import ListGap, RowFact
from kymatui.domain.versions.drift import DriftKind
from kymatui.ui.presenters.catalog.catalog_columns import CatalogView
from kymatui.ui.terminal.glyphs import SIGNS
from kymatui.ui.viewmodels.row_list import Cell, Row

TONES: Mapping[State, str] = {
    State.READY: "ready",
    State.PROCESSING: "processing",
    State.WARNING: "warning",
    State.ERROR: "error",
    State.DELETING: "deleting",
    State.UNMANAGED: "unmanaged",
    State.NOT_INSTALLED: "muted",
    State.UNKNOWN: "muted",
}

_PRESENCE_TONES: Mapping[Presence, str] = {
    Presence.NOT_CONFIGURED: "muted",
    Presence.ORPHAN: "warning",
    Presence.CONFLICT: "warning",
    Presence.DELETING: "deleting",
    Presence.INSTALLING: "processing",
    Presence.PARTIAL: "warning",
    Presence.DELETION_INTERRUPTED: "warning",
}

_SOURCES: Mapping[str, str] = {
    CatalogOrigin.COMMUNITY: "comm.",
    SourceKind.TEMPLATE: "templ.",
    SourceKind.COMPONENT: "comp.",
    SourceKind.KUSTOMIZATION: "kust.",
    SourceKind.OPERATOR: "oper.",
}
"""The sources whose names are too long for the column."""

ABSENT = "–"

SIGNATURE_TONES: Mapping[SignatureStatus, str] = {
    SignatureStatus.VALID: "ready",
    SignatureStatus.SIGNED: "",
    SignatureStatus.UNSIGNED: "warning",
    SignatureStatus.INVALID: "error",
    SignatureStatus.LOADING: "processing",
    SignatureStatus.UNKNOWN: "muted",
}
_SIGNATURE_ORDER = (
    SignatureStatus.INVALID,
    SignatureStatus.UNSIGNED,
    SignatureStatus.UNKNOWN,
    SignatureStatus.LOADING,
    SignatureStatus.SIGNED,
    SignatureStatus.VALID,
)
_NO_SIGNATURES: Mapping[str, ModuleSignature] = {}


def table_rows(
    catalog: Catalog,
    view: CatalogView,
    now: float,
    *,
    stale: bool = False,
    only_problems: bool = False,
    namespace: str = "",
    pinned: Container[str] = (),
    signatures: Mapping[str, ModuleSignature] = _NO_SIGNATURES,
) -> list[Row]:
    """Return the rows of a view, by name; with a namespace those of modules that have objects in it."""
    return [
        table_row(module, view, now, stale=stale, pinned=module.name in pinned, signature=signatures.get(module.name))
        for module in sorted(catalog.releases if view.releases else catalog.rows, key=lambda module: module.name)
        if view.shows(module)
        and (not only_problems or module.name in catalog.problem_modules)
        and (not namespace or namespace in module.namespaces)
    ]


def table_row(
    module: Module,
    view: CatalogView,
    now: float,
    *,
    stale: bool = False,
    pinned: bool = False,
    signature: ModuleSignature | None = None,
) -> Row:
    """Return the row of one module; only the cell `offered` depends on the view."""
    reason = explain_row(module)
    cells = {
        "name": Cell(sanitize(module.name), "strong"),
        "source": Cell(_source(module), "muted"),
        "channel": format_known(
            module, RowFact.CHANNEL, Cell(sanitize(module.channel) or ABSENT, "" if module.channel else "muted")
        ),
        "installed": format_known(module, RowFact.INSTALLED, installed_cell(module)),
        "desired": format_known(module, RowFact.DESIRED, version_cell(module.desired)),
        "offered": format_known(module, RowFact.CHANNELS, version_cell(module.channels.get(view.channel, ""))),
        "newest": format_known(module, RowFact.NEWEST, version_cell(module.newest, "muted")),
        "drift": replace(drift_cell(module), order=_drift_order(module)),
        "state": replace(state_cell(module), order=state_rank(module.state)),
        "checks": format_known(module, RowFact.CHECKS, Cell(*_checks(module))),
        "age": Cell(format_age(module, now), "muted", order=-(module.created or 0), since=module.created),
        "manager": format_known(module, RowFact.INSTALLED, _manager(module)),
        "signed": signature_cell(signature),
        "reason": Cell(reason.text, reason.tone),
    }
    return Row(module.name, cells, dim=stale, labels=_labels(module), pinned=pinned)


def format_known(module: Module, fact: RowFact, cell: Cell) -> Cell:
    """Return the cell of a fact, or of the reason why it is unknown, with the same sort order."""
    why = module.unknown.get(fact)
    return cell if why is None else Cell(why.gap.value, GAP_TONES[why.gap], cell.order)


GAP_TONES: Mapping[ListGap, str] = {ListGap.LOADING: "processing", ListGap.FORBIDDEN: "muted", ListGap.UNKNOWN: "muted"}


def _labels(module: Module) -> Mapping[str, str]:
    """Return the template's labels by full name and by the part after the slash."""
    template = module.resolution.template
    labels = template.meta.labels if template is not None else {}
    return {**{name.rpartition("/")[2]: value for name, value in labels.items()}, **labels}


def _source(module: Module) -> str:
    tags = ("mand.", module.mandatory), ("beta", module.beta), ("int.", module.internal)
    return next((word for word, holds in tags if holds), _SOURCES.get(module.source_kind, module.source_kind))


def version_cell(text: str, tone: str = "") -> Cell:
    """Return a version cell, sorted as versions; an empty version comes first."""
    version = parse_version(text) if text else None
    order: tuple[object, ...] = (0, text) if version is None else (1, version)
    return Cell(sanitize(text), tone, order) if text else Cell(ABSENT, "muted", order)


def installed_cell(module: Module) -> Cell:
    """Return the installed version; mark a version that is only reported, sorted like any other."""
    return replace(version_cell(module.installed), text=sanitize(module.installed_words) or ABSENT)


def _manager(module: Module) -> Cell:
    manager = module.manager
    return Cell(sanitize(manager.path) if manager is not None else ABSENT, "muted")


def signature_cell(signature: ModuleSignature | None) -> Cell:
    """Return whether the component is signed, the worst first when sorted."""
    status = signature.status if signature is not None else SignatureStatus.LOADING
    return Cell(status.value, SIGNATURE_TONES[status], _SIGNATURE_ORDER.index(status))


def format_age(module: Module, now: float) -> str:
    seconds = module.age(now)
    return "" if seconds is None else format_duration(seconds)


def state_cell(module: Module) -> Cell:
    """Return the state with its sign, in the tone of the worse of state and presence."""
    why = module.unknown.get(RowFact.STATE)
    if why is not None:
        return Cell(why.gap.value, GAP_TONES[why.gap])
    tone = TONES[module.state]
    if module.state is not State.ERROR:
        tone = _PRESENCE_TONES.get(module.presence, tone)
    return Cell(f"{SIGNS.get(tone, '')} {sanitize(module.state_words)}".strip(), tone)


def drift_cell(module: Module) -> Cell:
    """Return the drift in words: `1 minor behind`."""
    why = module.unknown.get(RowFact.DRIFT)
    if why is not None:
        return Cell(why.gap.value, GAP_TONES[why.gap])
    drift = module.drift
    far = f"{drift.distance} " if drift.distance else ""
    match drift.kind:
        case DriftKind.IN_SYNC:
            return Cell("up to date", "muted")
        case DriftKind.BEHIND:
            return Cell(f"{far}behind", "warning")
        case DriftKind.AHEAD:
            return Cell(f"{far}ahead", "accent")
        case DriftKind.CHANNEL_SKEW:
            return Cell("newer than channel", "warning")
        case DriftKind.PENDING_MAINTENANCE:
            return Cell(_window(drift.window.begin if drift.window else 0), "processing")
        case DriftKind.ROLLING_OUT:
            return Cell("rolling out", "processing")
        case DriftKind.INCOMPLETE:
            return Cell("incomplete", "warning")
        case DriftKind.UNKNOWN:
            return Cell("unknown", "muted")
    return Cell(ABSENT, "muted")


def _window(begin: float) -> str:
    """Return weekday and time in UTC, as maintenance windows are announced."""
    return time.strftime("awaits %a %H:%M", time.gmtime(begin)) if begin else "awaiting window"


def _checks(module: Module) -> tuple[str, str]:
    """Return the source that decided: `3/4` rules, `manager`, the CR's own `status`."""
    evaluation = module.evaluation
    if evaluation is not None and evaluation.rules and module.state_source is StateSource.RULES:
        differs = any(checked.differs for checked in module.checked)
        return f"{evaluation.matched}/{len(evaluation.rules)}{' ≠' if differs else ''}", "warning" if differs else ""
    if module.state_source is StateSource.MANAGER:
        ready = module.readiness is not None and module.state is State.READY
        return ("manager", "muted" if ready else "")
    if module.state_source is StateSource.STATUS:
        return "status", "muted"
    return ABSENT, "muted"


_DRIFT_ORDER = tuple(DriftKind)


def _drift_order(module: Module) -> tuple[bool, int]:
    return not module.drift.is_drift, _DRIFT_ORDER.index(module.drift.kind)


class Explanation(Struct, frozen=True):
    """Line under the table: what is wrong with the module under the cursor, and who must act."""

    text: str
    actor: str
    tone: str


def explain_row(module: Module) -> Explanation:
    tones = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "muted"}
    actor = module.reason.actor
    is_waiting = actor is Actor.NOBODY or module.reason.says_waiting
    who = "" if is_waiting else f"who acts: {actor}"
    return Explanation(sanitize(module.reason.text), who, tones[Severity(module.reason.severity)])
