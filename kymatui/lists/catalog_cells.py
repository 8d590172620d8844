"""The cells of the catalog's columns, by column."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from kymatui.domain.catalog.rows import CatalogOrigin
from kymatui.domain.catalog.rows import ModuleRow as Module
from kymatui.domain.installed import SourceKind
from kymatui.domain.kubernetes.terminal_text import sanitize
from kymatui.domain.kyma.manifests import Manifest
from kymatui.domain.kyma.problems import Actor, Severity
from kymatui.domain.kyma.states import State, StateSource, state_rank
from kymatui.domain.kyma.versions import parse_version
from kymatui.domain.modules.presence import Presence
from kymatui.domain.modules.state_checks import ModuleSignature, SignatureStatus
from kymatui.domain.snapshot.missing_lists import ListGap, RowFact
from kymatui.domain.versions.drift import DriftKind
from kymatui.domain.versions.messages import drift_words
from kymatui.lists.columns import ABSENT, SIGNS, Cell, text_cell
from kymatui.moments import format_duration


class CatalogEntry(Struct, frozen=True):
    """One line of the catalog: the module, and what is known of it besides.

    `offered` is the version in the channel of the view, `signature` what registries answered, `manifest` the one of
    the control plane.
    """

    module: Module
    offered: str = ""
    signature: ModuleSignature | None = None
    manifest: Manifest | None = None


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
GAP_TONES: Mapping[ListGap, str] = {ListGap.LOADING: "processing", ListGap.FORBIDDEN: "muted", ListGap.UNKNOWN: "muted"}
_DRIFT_TONES: Mapping[DriftKind, str] = {
    DriftKind.UP_TO_DATE: "muted",
    DriftKind.BEHIND: "warning",
    DriftKind.AHEAD: "accent",
    DriftKind.NEWER_THAN_CHANNEL: "warning",
    DriftKind.AWAITING_WINDOW: "processing",
    DriftKind.ROLLING_OUT: "processing",
    DriftKind.INCOMPLETE: "warning",
}
_DRIFT_ORDER = tuple(DriftKind)


def known_cell(module: Module, fact: RowFact, cell: Cell) -> Cell:
    """Return the cell of a fact, or of the reason why it is unknown, with the same sort order."""
    why = module.unknown.get(fact)
    return cell if why is None else Cell(why.gap.value, GAP_TONES[why.gap], cell.order)


def version_cell(text: str, tone: str = "") -> Cell:
    """Return a version cell, sorted as versions; an unreadable version comes first."""
    if not text:
        return Cell(ABSENT, "muted")
    version = parse_version(text)
    return Cell(sanitize(text), tone, (0, text) if version is None else (1, version))


def _source(module: Module) -> Cell:
    """Return what the module comes from; on screens its tag, if it has one, precedes that."""
    tags = ("mand.", module.mandatory), ("beta", module.beta), ("int.", module.internal)
    text = next((word for word, holds in tags if holds), _SOURCES.get(module.source_kind, module.source_kind))
    return Cell(text, "muted", full=module.source_kind)


def _installed(module: Module) -> Cell:
    """Return the installed version; mark a version that is only reported, sorted like any other."""
    cell = version_cell(module.installed)
    words = sanitize(module.installed_words)
    return known_cell(module, RowFact.INSTALLED, Cell(words or ABSENT, cell.tone, cell.order))


def _tags(module: Module) -> Cell:
    tags = (
        ("managed", module.managed),
        ("mandatory", module.mandatory),
        ("beta", module.beta),
        ("internal", module.internal),
    )
    unknown = (fact for fact in (RowFact.MANAGED, RowFact.MANDATORY) if fact in module.unknown)
    words = [*(name for name, holds in tags if holds), *(f"{fact}={module.unknown[fact].gap}" for fact in unknown)]
    return text_cell(",".join(words), "muted")


def _manager(module: Module) -> Cell:
    path = module.manager.path if module.manager is not None else ""
    return known_cell(module, RowFact.INSTALLED, text_cell(path, "muted"))


def signature_cell(signature: ModuleSignature | None) -> Cell:
    """Return whether the component is signed, the worst first when sorted."""
    status = signature.status if signature is not None else SignatureStatus.LOADING
    return Cell(status.value, SIGNATURE_TONES[status], _SIGNATURE_ORDER.index(status))


def format_age(module: Module, now: float) -> str:
    seconds = module.age(now)
    return "" if seconds is None else format_duration(seconds)


def state_cell(module: Module) -> Cell:
    """Return the state with its sign, in the tone of the worse of state and presence."""
    order = state_rank(module.state)
    why = module.unknown.get(RowFact.STATE)
    if why is not None:
        return Cell(why.gap.value, GAP_TONES[why.gap], order)
    tone = TONES[module.state]
    if module.state is not State.ERROR:
        tone = _PRESENCE_TONES.get(module.presence, tone)
    words = sanitize(module.state_words)
    return Cell(f"{SIGNS.get(tone, '')} {words}".strip(), tone, order, full=words)


def drift_cell(module: Module) -> Cell:
    """Return the drift in words: `1 minor behind`; screens have the time of a window instead of its name."""
    drift = module.drift
    words = drift_words(drift)
    text = {DriftKind.AWAITING_WINDOW: _window(drift.window.begin if drift.window else 0)}.get(drift.kind, words)
    text = "unknown" if drift.kind is DriftKind.UNKNOWN else text
    order = (not drift.is_drift, _DRIFT_ORDER.index(drift.kind))
    cell = Cell(text or ABSENT, _DRIFT_TONES.get(drift.kind, "muted"), order, full=words)
    return known_cell(module, RowFact.DRIFT, cell)


def _window(begin: float) -> str:
    """Return weekday and time in UTC, as maintenance windows are announced."""
    return time.strftime("awaits %a %H:%M", time.gmtime(begin)) if begin else "awaiting window"


def _explained_drift(module: Module) -> Cell:
    why = module.unknown.get(RowFact.DRIFT)
    return drift_cell(module) if why is None else Cell(str(why), GAP_TONES[why.gap])


def _checks(module: Module) -> Cell:
    """Return the source that decided: `3/4` rules, `manager`, the CR's own `status`; commands name the source."""
    evaluation, source = module.evaluation, module.state_source
    text, tone = ABSENT, "muted"
    if evaluation is not None and evaluation.rules and source is StateSource.RULES:
        differs = any(checked.differs for checked in module.checked)
        text = f"{evaluation.matched}/{len(evaluation.rules)}{' ≠' if differs else ''}"
        tone = "warning" if differs else ""
    elif source is StateSource.MANAGER:
        is_ready = module.readiness is not None and module.state is State.READY
        text, tone = "manager", "muted" if is_ready else ""
    elif source is StateSource.STATUS:
        text = "status"
    return replace(known_cell(module, RowFact.CHECKS, Cell(text, tone)), full=source.value)


def _from(module: Module) -> str:
    address = module.installation.address if module.installation is not None else ""
    return ", ".join(module.sources) or address


class Explanation(Struct, frozen=True):
    """Line under the table: what is wrong with the module under the cursor, and who must act."""

    text: str
    actor: str
    tone: str


def explain_row(module: Module) -> Explanation:
    tones = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "muted"}
    actor = module.reason.actor
    is_omitted = actor is Actor.NOBODY or module.reason.says_waiting
    who = "" if is_omitted else f"who acts: {actor}"
    return Explanation(sanitize(module.reason.text), who, tones[Severity(module.reason.severity)])


def _reason(module: Module) -> Cell:
    reason = explain_row(module)
    return Cell(reason.text, reason.tone)


def _conditions(entry: CatalogEntry) -> Cell:
    conditions = entry.manifest.conditions if entry.manifest is not None else ()
    return text_cell(", ".join(f"{condition.type}={condition.status}" for condition in conditions))


def _manifest_name(entry: CatalogEntry) -> Cell:
    meta = entry.manifest.meta if entry.manifest is not None else None
    return text_cell(f"{meta.namespace}/{meta.name}" if meta is not None else "")


_MODULE_CELLS: Mapping[str, Callable[[Module], Cell]] = {
    "name": lambda module: Cell(sanitize(module.name), "strong"),
    "source": _source,
    "channel": lambda module: known_cell(module, RowFact.CHANNEL, text_cell(module.channel)),
    "installed": _installed,
    "desired": lambda module: known_cell(module, RowFact.DESIRED, version_cell(module.desired)),
    "newest": lambda module: known_cell(module, RowFact.NEWEST, version_cell(module.newest, "muted")),
    "drift": drift_cell,
    "explained-drift": _explained_drift,
    "state": state_cell,
    "presence": lambda module: known_cell(module, RowFact.STATE, Cell(module.presence.value, "muted")),
    "checks": _checks,
    "tags": _tags,
    "age": lambda module: Cell("", "muted", order=-(module.created or 0), since=module.created),
    "manager": _manager,
    "reason": _reason,
    "actor": lambda module: Cell(module.actor.value, "accent"),
    "channels": lambda module: text_cell(", ".join(f"{name}={version}" for name, version in module.channels.items())),
    "by": lambda module: text_cell(module.installed_by),
    "from": lambda module: text_cell(_from(module)),
    "kyma": lambda module: text_cell(module.reports.kyma),
    "manifest": lambda module: known_cell(module, RowFact.MANIFEST, text_cell(module.reports.manifest)),
    "resource": lambda module: known_cell(module, RowFact.CHECKS, text_cell(module.reports.resource)),
    "workload": lambda module: text_cell(module.reports.manager),
}


def _of_module(cell: Callable[[Module], Cell]) -> Callable[[CatalogEntry], Cell]:
    return lambda entry: cell(entry.module)


CELLS: Final[Mapping[str, Callable[[CatalogEntry], Cell]]] = {
    **{name: _of_module(cell) for name, cell in _MODULE_CELLS.items()},
    "offered": lambda entry: known_cell(entry.module, RowFact.CHANNELS, version_cell(entry.offered)),
    "signed": lambda entry: signature_cell(entry.signature),
    "manifest-name": _manifest_name,
    "conditions": _conditions,
}
