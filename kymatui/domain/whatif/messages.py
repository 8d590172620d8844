"""Messages for forecasts; they decide nothing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from kymatui.domain.kyma.maintenance_windows import MaintenanceWindow
from kymatui.domain.versions.messages import refusal_words, window_words
from kymatui.domain.whatif.forecast import ModuleForecast
from kymatui.domain.whatif.module_results import ModuleResult, ResultKind, ResultReason

_REASONS: Final[Mapping[ResultReason, str]] = {
    ResultReason.MANDATORY_BLOCKED: "another mandatory module has no ModuleTemplate, which blocks all of them",
    ResultReason.MANDATORY_DELETED: "its ModuleReleaseMeta, which made it mandatory, is deleted",
    ResultReason.NOT_REQUESTED: "the Kyma does not request it",
    ResultReason.NOT_UNINSTALLED: (
        "the Kyma does not request it, but its version cannot be resolved: lifecycle-manager leaves its Manifest"
    ),
    ResultReason.UNMANAGED: "the module is unmanaged",
    ResultReason.SKIPPED: "the Kyma has the skip label",
    ResultReason.KYMA_DELETING: "the Kyma is being deleted",
    ResultReason.TEMPLATE_MISSING: "the ModuleTemplate of the mandatory version is missing",
}


def kind_label(kind: ResultKind) -> str:
    """Return an outcome as text: JSON has the same words with hyphens."""
    return kind.value.replace("-", " ")


def result_words(result: ModuleResult) -> str:
    """Return a result with its version: `upgrade 1.2.0`, `keep 1.1.0`."""
    return " ".join(filter(None, (kind_label(result.kind), result.version)))


def reason_words(entry: ModuleForecast, window: MaintenanceWindow | None = None) -> str:
    """Return why a module gets its outcome; `window` is the first of several runtimes that wait."""
    then = entry.then
    if then.kind is ResultKind.WAIT:
        return f"needs downtime; {window_words(window or then.window)}"
    if then.refusal is not None:
        return refusal_words(then.refusal)
    if then.reason is not ResultReason.NONE:
        return _REASONS.get(then.reason, "")
    if entry.kind in (ResultKind.RECOVER, ResultKind.INSTALL) and entry.today.refusal is not None:
        return f"today: {refusal_words(entry.today.refusal)}"
    return _version_words(then)


def _version_words(then: ModuleResult) -> str:
    parts = [f"channel {then.channel}"] if then.channel else []
    return ", ".join([*parts, "needs downtime"] if then.downtime else parts)
