"""What becomes of each module of a Kyma in one reconciliation, as lifecycle-manager decides it: the work list, the
outcome of a resolution, and the entry in the Kyma's status.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import Enum, auto
from typing import Any, Final

from msgspec import Struct

from kymatui.domain.kyma.kymas import Kyma
from kymatui.domain.kyma.manifests import Manifest
from kymatui.domain.kyma.states import State
from kymatui.domain.versions import refusals
from kymatui.domain.versions.refusals import Refusal

Json = dict[str, Any]
_NO_CHANNEL_KNOWN: Final = (
    refusals.ChannelIsNone,
    refusals.ChannelAndVersion,
    refusals.StatusWithoutTemplate,
    refusals.NoReleaseMeta,
)
_LISTED_NOWHERE: Final = (refusals.IsMandatory, refusals.NoTemplateInChannel)


class WorkItem(Struct, frozen=True):
    """A module that a Kyma requests, or one that only its status lists and that is being removed.

    `policy` is "" for a module that is being removed: its Manifest then gets the CRD's default.
    """

    name: str
    enabled: bool
    policy: str = ""
    managed: bool = True


def work_list(kyma: Kyma) -> tuple[WorkItem, ...]:
    """Return the requested modules, then those that are being removed; the first entry of a module counts."""
    items: dict[str, WorkItem] = {}
    for request in kyma.modules:
        items.setdefault(request.name, WorkItem(request.name, True, request.policy, request.managed))
    for report in kyma.reports:
        items.setdefault(report.name, WorkItem(report.name, False))
    return tuple(items.values())


class Outcome(Enum):
    """The outcomes of a module's resolution."""

    ACCEPTED = auto()  # the Manifest is written
    UNINSTALL = auto()  # the Kyma may not have the module: the Manifest is deleted
    WAIT = auto()  # a maintenance window comes
    KEEP_FAILED = auto()  # the installed version stays, in state Error
    KEEP_WARNED = auto()  # the installed version stays, in state Warning
    WARNED = auto()  # a new status, in state Warning
    FAILED = auto()  # a new status, in state Error


def outcome_of(refusal: Refusal | None, *, reported: bool) -> Outcome:
    """Return the outcome of a refusal; only a module that the status already lists can be kept."""
    if refusal is None:
        return Outcome.ACCEPTED
    if refusal.uninstalls:
        return Outcome.UNINSTALL
    if not reported:
        return Outcome.FAILED
    if isinstance(refusal, refusals.WaitsForWindow):
        return Outcome.WAIT if refusal.window is not None else Outcome.KEEP_FAILED
    if isinstance(refusal, refusals.WindowsUnreadable):
        return Outcome.KEEP_FAILED
    if isinstance(refusal, refusals.KeepsInstalled | refusals.NoReleaseMeta):
        return Outcome.KEEP_WARNED
    return Outcome.WARNED if isinstance(refusal, _LISTED_NOWHERE) else Outcome.FAILED


def reported_channel(refusal: Refusal | None, channel: str) -> str:
    """Return the channel that a new status names: "" if the module failed before its channel was known."""
    return "" if isinstance(refusal, _NO_CHANNEL_KNOWN) else channel


def refused_status(
    outcome: Outcome, name: str, message: str, current: Mapping[str, Any] | None, *, channel: str, component: str
) -> Json:
    """Return the status entry of a module without a usable template; `current` is its entry so far."""
    if current is not None and outcome in (Outcome.WAIT, Outcome.KEEP_FAILED, Outcome.KEEP_WARNED):
        kept = {**current, "message": message}
        if outcome is Outcome.WAIT:
            return {**kept, "maintenance": True}
        return {**kept, "state": (State.WARNING if outcome is Outcome.KEEP_WARNED else State.ERROR).value}
    state = State.WARNING if outcome is Outcome.WARNED else State.ERROR
    status = {"name": name, "channel": channel, "fqdn": component, "ocmComponentName": component, "message": message}
    return {"state": state.value, **{key: value for key, value in status.items() if value}}


def accepted_status(
    item: WorkItem, manifest: Mapping[str, Any], template: Mapping[str, Any], *, state: str, cluster_scoped: bool
) -> Json:
    """Return the status entry of a module whose Manifest is, or would be, `manifest`.

    `state` is the Manifest's. An unmanaged module has no references. `cluster_scoped` says whether the default CR is.
    """
    metadata, spec = manifest["metadata"], manifest["spec"]
    component = metadata["annotations"].get("operator.kyma-project.io/ocm-component-name", "")
    status: Json = {
        "name": item.name,
        "fqdn": component,
        "ocmComponentName": component,
        "channel": metadata["labels"].get("operator.kyma-project.io/channel", ""),
        "version": spec.get("version", ""),
        "state": state,
    }
    if not item.managed:
        return {key: value for key, value in {**status, "state": State.UNMANAGED.value}.items() if value}
    status["manifest"] = _tracking(manifest)
    status["template"] = _tracking(template)
    resource = spec.get("resource")
    if resource and item.policy == "CreateAndDelete":
        status["resource"] = _tracking(resource)
        if cluster_scoped:
            status["resource"]["metadata"]["namespace"] = ""
    return {key: value for key, value in status.items() if value or key == "state"}


def manifest_entry(manifest: Manifest) -> Json:
    """Return what the status entry of an installed module says of its Manifest."""
    return {"version": manifest.version, "manifest": _tracking(manifest.raw)}


def status_changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> Json:
    """Return the fields of a Kyma's new status that differ from the stored one.

    The CRD adds `maintenance: false` to each module: a module without it is the same.
    """
    old = {**before, "modules": _without_default(before.get("modules") or [])}
    new = {**after, "modules": _without_default(after.get("modules") or [])}
    return {key: after[key] for key in after if new[key] != old.get(key)}


def _without_default(entries: Iterable[Mapping[str, Any]]) -> list[Json]:
    return [{key: value for key, value in entry.items() if (key, value) != ("maintenance", False)} for entry in entries]


def _tracking(raw: Mapping[str, Any]) -> Json:
    metadata = raw.get("metadata") or {}
    tracking = {"name": metadata.get("name", ""), "namespace": metadata.get("namespace", "")}
    if metadata.get("generation"):
        tracking["generation"] = metadata["generation"]
    return {"apiVersion": raw.get("apiVersion", ""), "kind": raw.get("kind", ""), "metadata": tracking}


def runtime_entry(entry: Mapping[str, Any], namespace: str) -> Json:
    """Return a status entry as the runtime's Kyma has it: no Manifest, and templates in the runtime's namespace."""
    copied = {key: value for key, value in entry.items() if key != "manifest"}
    if template := copied.get("template"):
        copied["template"] = {**template, "metadata": {**template.get("metadata", {}), "namespace": namespace}}
    return copied
