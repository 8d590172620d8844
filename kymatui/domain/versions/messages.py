"""Messages for domain values; they decide nothing."""

from __future__ import annotations

from datetime import UTC, datetime

from kymatui.domain.kyma.maintenance_windows import MaintenanceWindow
from kymatui.domain.kyma.states import StateSource
from kymatui.domain.versions import refusals as r
from kymatui.domain.versions.drift import Drift, DriftKind
from kymatui.domain.versions.refusals import Refusal
from kymatui.domain.versions.resolution import ConventionNote


def window_words(window: MaintenanceWindow | None) -> str:
    """Return the window in UTC, or that it is unknown."""
    if window is None:
        return "the next window is not known here"
    begin, end = (datetime.fromtimestamp(edge, UTC) for edge in (window.begin, window.end))
    return f"the next window is {begin:%a %Y-%m-%d %H:%M} to {end:%a %H:%M} UTC"


def refusal_words(refusal: Refusal) -> str:
    """Return why a module has no usable template."""
    match refusal:
        case r.ChannelIsNone():
            return f"{refusal.where} is none, which is no channel"
        case r.ChannelAndVersion():
            return f"spec.modules[] sets both channel {refusal.channel} and version {refusal.version}"
        case r.StatusWithoutTemplate():
            return "the Kyma's status names the module without the template that it came from"
        case r.NoReleaseMeta():
            return f"no ModuleReleaseMeta found in {refusal.namespace}, and no ModuleTemplate of the old style"
        case r.CatalogUnreadable():
            return f"catalog {refusal.why}"
        case r.ChannelUnknown():
            return f"channel {refusal.why}"
        case r.NoChannels():
            return "no channels found: the ModuleReleaseMeta has none"
        case r.ChannelMissing():
            return f"no versions found for channel {refusal.channel}, only for {', '.join(refusal.offered)}"
        case r.TemplateMissing():
            return f"ModuleTemplate {refusal.namespace}/{refusal.name} is missing"
        case r.AmbiguousTemplates():
            return f"more than one ModuleTemplate in channel {refusal.channel}: {', '.join(refusal.candidates)}"
        case r.NoTemplateInChannel():
            return f"no ModuleTemplate in channel {refusal.channel}, only in {', '.join(refusal.offered)}"
        case r.TemplateWithoutChannel():
            return f"no channel found on ModuleTemplate {refusal.template}"
        case r.IsMandatory():
            return f"ModuleTemplate {refusal.template} is mandatory and cannot be asked for"
        case _:
            return _more_refusal_words(refusal)


def held_back_words(refusal: r.HeldBack) -> str:
    """Return the message for a channel whose version is older than the installed one."""
    channel = f"channel {refusal.to_channel} ({refusal.offered})"
    return f"stays at {refusal.installed}: newer than {channel}, never downgraded automatically"


def _more_refusal_words(refusal: Refusal) -> str:
    match refusal:
        case r.InternalOnly():
            return "it is an internal module, and the Kyma is not labelled internal"
        case r.BetaOnly():
            return "it is a beta module, and the Kyma is not labelled beta"
        case r.SelectorWithoutRestriction():
            return "its ModuleReleaseMeta has a kymaSelector, but the module is not configured as restricted"
        case r.RestrictedWithoutSelector():
            return "it is restricted, and its ModuleReleaseMeta has no kymaSelector"
        case r.RestrictedToOthers():
            return "it is restricted to Kymas with other labels"
        case r.SelectorInvalid():
            return f"the kymaSelector of its ModuleReleaseMeta is invalid: {refusal.reason}"
        case r.HeldBack():
            return (
                f"channel {refusal.to_channel} has {refusal.offered}, but {refusal.installed} was installed before "
                "and is not downgraded"
            )
        case r.InvalidVersion():
            where = "the Kyma's status" if refusal.where == "status" else "the ModuleTemplate"
            return f"{where} has the invalid version {refusal.version!r}, so no update is allowed"
        case r.WaitsForWindow():
            return (
                f"the update from {refusal.installed} to {refusal.offered} waits for a maintenance window; "
                f"{window_words(refusal.window)}"
            )
        case r.WindowsUnreadable():
            return f"the update needs a maintenance window, and {refusal.reason}"
        case _:
            return "it cannot be resolved"


def note_words(note: ConventionNote) -> str:
    """Return the message for a broken convention."""
    return f"the {note.kind} is {note.found}; lifecycle-manager looks for {note.wanted} and will not find it"


def drift_words(drift: Drift) -> str:
    """Return the text of the drift column."""
    match drift.kind:
        case DriftKind.IN_SYNC:
            return "in step"
        case DriftKind.BEHIND | DriftKind.AHEAD:
            return f"{drift.distance} {drift.kind.value}" if drift.distance else drift.kind.value
        case DriftKind.CHANNEL_SKEW:
            return "held back"
        case DriftKind.PENDING_MAINTENANCE:
            return "waits for window"
        case DriftKind.ROLLING_OUT:
            return "rolling out"
        case DriftKind.UNKNOWN:
            return "unknown"
        case DriftKind.NONE:
            return ""


def source_words(source: StateSource) -> str:
    """Return the source that decided a state."""
    return {
        StateSource.RULES: "customStateCheck",
        StateSource.STATUS: "status.state of the module's resource",
        StateSource.MANAGER: "the manager's readiness",
        StateSource.KYMA: "the Kyma's status",
        StateSource.MANIFEST: "the Manifest's status",
        StateSource.PRESENCE: "what there is of the module",
        StateSource.NONE: "nothing",
    }[source]
