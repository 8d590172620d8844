"""Messages for domain values; they decide nothing."""

from __future__ import annotations

from datetime import UTC, datetime

from kymatui.domain.kyma.maintenance_windows import MaintenanceWindow
from kymatui.domain.kyma.problems import EDIT_KYMA, Advice, AdviceKind, shell_command
from kymatui.domain.kyma.states import StateSource
from kymatui.domain.versions import refusals as r
from kymatui.domain.versions.drift import Drift, DriftKind
from kymatui.domain.versions.refusals import Refusal
from kymatui.domain.versions.resolution import ChannelSource, ConventionNote


def window_words(window: MaintenanceWindow | None) -> str:
    """Return the window in UTC, or that it is unknown."""
    if window is None:
        return "the next window is unknown"
    begin, end = (datetime.fromtimestamp(edge, UTC) for edge in (window.begin, window.end))
    return f"the next window is {begin:%a %Y-%m-%d %H:%M} to {end:%a %H:%M} UTC"


def refusal_words(refusal: Refusal) -> str:
    """Return why a module has no usable template."""
    match refusal:
        case r.ChannelIsNone():
            return f"{refusal.where} is none, which is not a channel"
        case r.ChannelAndVersion():
            return f"spec.modules[] sets both channel {refusal.channel} and version {refusal.version}"
        case r.StatusWithoutTemplate():
            return "the Kyma's status lists the module without its ModuleTemplate"
        case r.NoReleaseMeta():
            return f"namespace {refusal.namespace} has no ModuleReleaseMeta or old-format ModuleTemplate of the module"
        case r.CatalogUnreadable():
            return f"catalog {refusal.why}"
        case r.ChannelUnknown():
            return f"channel {refusal.why}"
        case r.NoChannels():
            return "the ModuleReleaseMeta has no channels"
        case r.ChannelMissing():
            offered = ", ".join(refusal.offered)
            return f"channel {refusal.channel} has no version of the module (available in: {offered})"
        case r.TemplateMissing():
            return f"ModuleTemplate {refusal.namespace}/{refusal.name} is missing"
        case r.AmbiguousTemplates():
            return f"more than one ModuleTemplate in channel {refusal.channel}: {', '.join(refusal.candidates)}"
        case r.NoTemplateInChannel():
            offered = ", ".join(refusal.offered)
            return f"channel {refusal.channel} has no ModuleTemplate of the module (available in: {offered})"
        case r.TemplateWithoutChannel():
            return f"ModuleTemplate {refusal.template} has no channel"
        case r.IsMandatory():
            return f"ModuleTemplate {refusal.template} is mandatory, so a Kyma cannot request the module"
        case _:
            return _more_refusal_words(refusal)


def held_back_words(refusal: r.HeldBack) -> str:
    """Return the message for a channel whose version is older than the installed one."""
    channel = f"channel {refusal.to_channel} ({refusal.offered})"
    return f"stays at {refusal.installed}, which is newer than {channel} and never downgraded automatically"


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
            versions = f"{refusal.installed} > {refusal.offered}"
            return f"newer than channel {refusal.to_channel} ({versions}), and never downgraded automatically"
        case r.InvalidVersion():
            where = "the Kyma's status" if refusal.where == "status" else "the ModuleTemplate"
            return f"{where} has the invalid version {refusal.version!r}, so upgrades are not possible"
        case r.WaitsForWindow():
            window = f": {window_words(refusal.window)}" if refusal.window is not None else ""
            change = f"the upgrade {refusal.installed} → {refusal.offered}" if refusal.installed else refusal.offered
            return f"awaiting maintenance window for {change}{window}"
        case r.WindowsUnreadable():
            return f"the upgrade needs a maintenance window, and {refusal.reason}"
        case _:
            return "the module cannot be resolved"


def refusal_advice(refusal: Refusal) -> Advice:
    """Return what a person can do about a refusal."""
    disable = shell_command("kymatui", "disable", refusal.module)
    match refusal:
        case r.BetaOnly():
            return Advice(AdviceKind.ALLOW, "Allow beta modules, or disable the module", "kymatui label beta=true")
        case r.InternalOnly():
            text = "Allow internal modules, or disable the module"
            return Advice(AdviceKind.ALLOW, text, "kymatui label internal=true")
        case r.ChannelAndVersion():
            return Advice(AdviceKind.EDIT, "Remove one of the two", "kymatui edit --kyma")
        case r.ChannelIsNone():
            return EDIT_KYMA
        case r.ChannelMissing() | r.NoTemplateInChannel() if refusal.offered:
            command = shell_command("kymatui", "channel", refusal.module, refusal.offered[0])
            return Advice(AdviceKind.CHANGE_CHANNEL, "Change the channel", command)
        case r.NoReleaseMeta():
            return Advice(AdviceKind.DISABLE, "Disable the module, or add it to the catalog", disable)
        case _:
            return Advice(AdviceKind.DISABLE, "Disable the module", disable)


def note_words(note: ConventionNote) -> str:
    """Return the message for a broken convention."""
    return f"the {note.kind} is {note.actual}, but lifecycle-manager looks for {note.expected} and does not find it"


def drift_words(drift: Drift) -> str:
    """Return the text of the drift column."""
    match drift.kind:
        case DriftKind.BEHIND | DriftKind.AHEAD:
            return f"{drift.distance} {drift.kind.value}" if drift.distance else drift.kind.value
        case DriftKind.UNKNOWN if not drift.is_offered:
            return "unknown, no catalog offers it"
        case DriftKind.NONE:
            return ""
        case kind:  # documents have the same words, with hyphens
            return kind.value.replace("-", " ")


def channel_source_words(source: ChannelSource) -> str:
    """Return where a channel comes from, in words."""
    return {
        ChannelSource.OVERRIDDEN: "the module's own in the Kyma",
        ChannelSource.PREDEFINED: "the Kyma's channel",
        ChannelSource.DEFAULT: "the default channel",
        ChannelSource.STATUS: "from the Kyma's status",
        ChannelSource.MANIFEST: "from the Manifest",
        ChannelSource.UNKNOWN: "unknown source",
    }[source]


def source_words(source: StateSource) -> str:
    """Return the source that decided a state."""
    return {
        StateSource.RULES: "customStateCheck",
        StateSource.STATUS: "status.state of the module CR",
        StateSource.MANAGER: "readiness of the module's manager",
        StateSource.KYMA: "the Kyma's status",
        StateSource.MANIFEST: "the Manifest's status",
        StateSource.PRESENCE: "the installed objects",
        StateSource.NONE: "no source",
    }[source]
