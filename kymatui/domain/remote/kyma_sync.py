"""The comparison of a runtime's two Kymas: which fields are mirrored, in which direction."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from msgspec import Struct

from kymatui.domain.kubernetes.json_reader import JsonReader
from kymatui.domain.kubernetes.object_meta import (
    LABEL_BETA,
    LABEL_INTERNAL,
    LABEL_MANAGED_BY,
    LABEL_MODULE_NAME,
    LABEL_SKIP,
    OPERATOR,
    find_condition,
    parse_time,
)
from kymatui.domain.kyma.kymas import (
    KYMA_NAMESPACE,
    Kyma,
    ModuleReport,
    ModuleRequest,
    Policy,
    TrackedObject,
    as_requested,
)
from kymatui.domain.kyma.manifests import Manifest
from kymatui.domain.kyma.problems import Actor, advice_for_runtime, with_advice
from kymatui.domain.modules.risks import kyma_deletion_advice, kyma_deletion_words
from kymatui.domain.remote.differences import NOTHING, ComparisonLine, LineArea, LineVerdict, format_json
from kymatui.domain.snapshot.snapshots import Object

LABEL_WATCHED_BY = f"{OPERATOR}/watched-by"
ANNOTATION_OWNED_BY = f"deprecated-{OPERATOR}/owned-by"
_MIRRORED = tuple(f"kyma-project.io/{name}" for name in ("runtime-id", "global-account-id", "subaccount-id"))
_SET = (LABEL_WATCHED_BY, LABEL_MANAGED_BY)
_OF_CONTROL_ONLY = (LABEL_BETA, LABEL_INTERNAL, LABEL_SKIP)
_POLICY = "customResourcePolicy"
_MIRROR_SECONDS = 60.0
"""Seconds after a change in the control plane in which the runtime's copy may be outdated."""


class KymaPair(Struct, frozen=True):
    """Both Kymas, and the current time in seconds of the Unix clock."""

    control: Kyma
    runtime: Kyma
    now: float

    @property
    def is_mirrored(self) -> bool:
        """Return whether lifecycle-manager mirrors the status; not while the runtime's Kyma is being deleted."""
        return not self.runtime.meta.deleting

    @property
    def is_skipped(self) -> bool:
        return self.control.meta.label_is_true(LABEL_SKIP) and not self.control.meta.deleting

    @property
    def is_fresh(self) -> bool:
        """Return whether the control plane's status changed within the last minute."""
        operation = JsonReader(self.control.raw).child("status").child("lastOperation")
        changed = parse_time(operation.text("lastUpdateTime"))
        return changed is not None and self.now - changed < _MIRROR_SECONDS

    def mirror(self, area: LineArea, subject: str, field: str, control: object, runtime: object) -> ComparisonLine:
        """Return the line of a mirrored value."""
        ours, theirs = format_json(control), format_json(runtime)
        if ours == theirs:
            return ComparisonLine(area, subject, field, ours, theirs, LineVerdict.SAME)
        verdict, why, actor = self._unlike()
        return ComparisonLine(area, subject, field, ours, theirs, verdict, why, actor)

    def _unlike(self) -> tuple[LineVerdict, str, Actor]:
        if not self.is_mirrored:
            return (
                LineVerdict.INTENDED,
                "the runtime's Kyma is being deleted; its status is no longer copied",
                Actor.NOBODY,
            )
        if self.is_skipped:
            why = f"not copied: the control plane's Kyma has label {LABEL_SKIP}; remove it"
            return LineVerdict.WRONG, why, Actor.YOU
        if self.is_fresh:
            return LineVerdict.UNDER_WAY, "changed in the control plane within the last minute", Actor.KLM
        why = "lifecycle-manager copies the status at every reconciliation, but not this value; check its logs"
        return LineVerdict.WRONG, why, Actor.KLM


def owner_kyma(runtime: Kyma) -> str:
    """Return `namespace/name` of the control plane's Kyma that owns a runtime's Kyma, "" if unknown."""
    return runtime.meta.annotations.get(ANNOTATION_OWNED_BY, NOTHING)


def requested_only_there(runtime: Kyma, control: Kyma | None) -> frozenset[str]:
    """Return the managed modules that the runtime's Kyma requests and the control plane's does not."""
    asked = control.modules if control is not None else ()
    return frozenset(module.name for module in runtime.modules if module.managed) - {request.name for request in asked}


_ONLY_THERE = "deleting the runtime's Kyma uninstalls this module: the control plane does not request it"


def kyma_lines(kymas: KymaPair) -> Iterator[ComparisonLine]:
    """Yield the lines of both Kymas, without module details."""
    yield from _deletion(kymas)
    yield from _spec(kymas)
    yield from _requests(kymas)
    yield from _labels(kymas)
    yield from _status(kymas)
    yield from _reports(kymas)


def _deletion(kymas: KymaPair) -> Iterator[ComparisonLine]:
    ours, theirs = ("being deleted" if kyma.meta.deleting else "present" for kyma in (kymas.control, kymas.runtime))
    name = str(kymas.control.ref)
    if ours == theirs:
        yield ComparisonLine(LineArea.KYMA, name, "presence", ours, theirs, LineVerdict.SAME)
    elif kymas.control.meta.deleting:
        why = "the deletion started in the control plane; the runtime is next"
        yield ComparisonLine(LineArea.KYMA, name, "presence", ours, theirs, LineVerdict.UNDER_WAY, why, Actor.KLM)
    else:
        own = requested_only_there(kymas.runtime, kymas.control)
        advice = advice_for_runtime(kyma_deletion_advice(own), kymas.control.meta.name)
        why = with_advice(f"the runtime's Kyma is being deleted: {kyma_deletion_words(own)}", advice)
        yield ComparisonLine(LineArea.KYMA, name, "presence", ours, theirs, LineVerdict.WRONG, why, Actor.YOU)


def _spec(kymas: KymaPair) -> Iterator[ComparisonLine]:
    control, runtime = kymas.control, kymas.runtime
    why = "the runtime's value applies; the control plane keeps its initial value"
    yield _line_of_own_value(LineArea.SPEC, "spec", "channel", control.channel, runtime.channel, why)
    skips = [format_json(kyma.skip_maintenance_windows) for kyma in (control, runtime)]
    why = "not copied: only the control plane's value applies"
    yield _line_of_own_value(LineArea.SPEC, "spec", "skipMaintenanceWindows", skips[0], skips[1], why)


def _line_of_own_value(
    area: LineArea, subject: str, field: str, control: str, runtime: str, why: str
) -> ComparisonLine:
    """Return the line of a value that may differ."""
    same = control == runtime
    return ComparisonLine(
        area,
        subject,
        field,
        control,
        runtime,
        LineVerdict.SAME if same else LineVerdict.INTENDED,
        NOTHING if same else why,
    )


def _requests(kymas: KymaPair) -> Iterator[ComparisonLine]:
    ours, theirs = (
        {request.name: _request(kyma, request.name) for request in kyma.modules}
        for kyma in (kymas.control, kymas.runtime)
    )
    why = "the runtime's spec.modules applies; lifecycle-manager does not copy it to the control plane"
    for name in sorted(ours.keys() | theirs.keys()):
        more = f"; {_ONLY_THERE}" if name not in ours else ""
        yield _line_of_own_value(
            LineArea.SPEC, name, "spec.modules", ours.get(name, NOTHING), theirs.get(name, NOTHING), f"{why}{more}"
        )


def _request(kyma: Kyma, module: str) -> str:
    request = kyma.request(module)
    if request is None:
        return NOTHING
    words = [f"channel {request.channel}" if request.channel else "the Kyma's channel", request.policy]
    return ", ".join([*words, *([] if request.managed else ["unmanaged"])])


def _labels(kymas: KymaPair) -> Iterator[ComparisonLine]:
    ours, theirs = kymas.control.meta.labels, kymas.runtime.meta.labels
    for label in _SET:
        yield _marked(kymas, label, "kyma", theirs.get(label, NOTHING), ours.get(label, NOTHING))
    for label in _MIRRORED:
        if label in ours:
            yield _marked(kymas, label, ours[label], theirs.get(label, NOTHING), ours[label])
        elif label in theirs:
            why = "not copied: the control plane's Kyma does not have this label"
            yield ComparisonLine(LineArea.LABEL, label, "labels", NOTHING, theirs[label], LineVerdict.INTENDED, why)
    owner = f"{kymas.control.meta.namespace}/{kymas.control.meta.name}"
    owner_name = owner_kyma(kymas.runtime)
    yield _marked(kymas, ANNOTATION_OWNED_BY, owner, owner_name, owner, field="annotations")
    yield from _other_labels(ours, theirs)


def _marked(
    kymas: KymaPair, name: str, expected: str, actual: str, control: str, *, field: str = "labels"
) -> ComparisonLine:
    """Return the line of a label or annotation that lifecycle-manager sets on the runtime's Kyma."""
    if actual == expected:
        same = control == actual
        why = NOTHING if same else "lifecycle-manager sets this on the runtime's Kyma"
        return ComparisonLine(
            LineArea.LABEL, name, field, control, actual, LineVerdict.SAME if same else LineVerdict.INTENDED, why
        )
    if not kymas.is_mirrored:
        why = "the runtime's Kyma is being deleted; its labels are no longer set"
        return ComparisonLine(LineArea.LABEL, name, field, control, actual, LineVerdict.INTENDED, why)
    skipped = kymas.is_skipped
    why = f"expected {expected!r}; " + (
        f"not set: the control plane's Kyma has label {LABEL_SKIP}; remove it"
        if skipped
        else "lifecycle-manager sets it at its next reconciliation"
    )
    return ComparisonLine(
        LineArea.LABEL, name, field, control, actual, LineVerdict.WRONG, why, Actor.YOU if skipped else Actor.KLM
    )


def _other_labels(ours: Mapping[str, str], theirs: Mapping[str, str]) -> Iterator[ComparisonLine]:
    for label in sorted((ours.keys() | theirs.keys()) - {*_SET, *_MIRRORED}):
        counts = label in _OF_CONTROL_ONLY
        why = "not copied: only the control plane's label applies" if counts else "not copied"
        yield _line_of_own_value(
            LineArea.LABEL, label, "labels", ours.get(label, NOTHING), theirs.get(label, NOTHING), why
        )


def _status(kymas: KymaPair) -> Iterator[ComparisonLine]:
    control, runtime = kymas.control, kymas.runtime
    yield kymas.mirror(LineArea.STATUS, "status", "state", control.state, runtime.state)
    yield kymas.mirror(LineArea.STATUS, "status", "activeChannel", control.active_channel, runtime.active_channel)
    yield kymas.mirror(LineArea.STATUS, "status", "lastOperation", control.operation, runtime.operation)
    for kind in dict.fromkeys(condition.type for condition in (*control.conditions, *runtime.conditions)):
        ours, theirs = (find_condition(kyma.conditions, kind) for kyma in (control, runtime))
        yield kymas.mirror(
            LineArea.CONDITION,
            kind,
            "status",
            f"{ours.status} ({ours.message})" if ours else None,
            f"{theirs.status} ({theirs.message})" if theirs else None,
        )


def _reports(kymas: KymaPair) -> Iterator[ComparisonLine]:
    names = dict.fromkeys(report.name for report in (*kymas.control.reports, *kymas.runtime.reports))
    for name in sorted(names):
        ours, theirs = kymas.control.report(name), kymas.runtime.report(name)
        if ours is None or theirs is None:
            yield kymas.mirror(LineArea.STATUS, name, "status.modules", _summary(ours), _summary(theirs))
            continue
        yield from _report(kymas, ours, theirs)


def _summary(report: ModuleReport | None) -> str:
    return NOTHING if report is None else f"{report.version} {report.state}".strip()


def _report(kymas: KymaPair, ours: ModuleReport, theirs: ModuleReport) -> Iterator[ComparisonLine]:
    for field in ("version", "channel", "state", "message", "maintenance"):
        yield kymas.mirror(LineArea.STATUS, ours.name, field, getattr(ours, field), getattr(theirs, field))
    yield _template(kymas, ours, theirs)
    yield kymas.mirror(LineArea.STATUS, ours.name, "resource", _tracked(ours.resource), _tracked(theirs.resource))
    yield from _manifest(ours, theirs)


def _template(kymas: KymaPair, ours: ModuleReport, theirs: ModuleReport) -> ComparisonLine:
    before, after = ours.template, theirs.template
    if before is None or after is None or before.ref.name != after.ref.name:
        return kymas.mirror(LineArea.STATUS, ours.name, "template", _tracked(before), _tracked(after))
    if after.ref.namespace != KYMA_NAMESPACE or before.generation != after.generation:
        # more differs than the namespace of the runtime's copy
        line = kymas.mirror(LineArea.STATUS, ours.name, "template", _tracked(before), _tracked(after))
        if line.differs:
            return line
    why = "the runtime's status names its own copy"
    return _line_of_own_value(LineArea.STATUS, ours.name, "template", _tracked(before), _tracked(after), why)


def _manifest(ours: ModuleReport, theirs: ModuleReport) -> Iterator[ComparisonLine]:
    if ours.manifest is None and theirs.manifest is None:
        return
    control, runtime = _tracked(ours.manifest), _tracked(theirs.manifest)
    if theirs.manifest is None:
        why = "Manifests exist only in the control plane; the runtime's status does not name them"
        yield ComparisonLine(LineArea.STATUS, ours.name, "manifest", control, runtime, LineVerdict.INTENDED, why)
    else:
        why = "another client wrote this status: lifecycle-manager does not copy the Manifest"
        yield ComparisonLine(
            LineArea.STATUS, ours.name, "manifest", control, runtime, LineVerdict.WRONG, why, Actor.KLM
        )


def _tracked(tracked: TrackedObject | None) -> str:
    if tracked is None:
        return NOTHING
    generation = f" (generation {tracked.generation})" if tracked.generation else ""
    return f"{tracked.ref.kind.kind} {tracked.ref.namespace}/{tracked.ref.name}{generation}"


# The spec of a runtime's Kyma that a user deleted, from what the control plane knows to be installed.
#
# lifecycle-manager creates the Kyma again with the spec that the control plane stored at first, which uninstalls
# modules that were enabled on the runtime, with their module CRs.


Json = dict[str, Any]


def restored_spec(kyma: Kyma, manifests: Iterable[Manifest]) -> Json:
    """Return the spec for a missing Kyma of a runtime; `kyma` and `manifests` are the control plane's.

    A Kyma that has never been usable gets the stored spec, because the runtime had none yet.
    """
    spec: Json = copy.deepcopy(kyma.raw.get("spec") or {})
    if not kyma.active_channel:
        return spec
    installed = {manifest.meta.labels.get(LABEL_MODULE_NAME, ""): manifest for manifest in manifests}
    asked = as_requested(kyma, {module for module, manifest in installed.items() if manifest.meta.deleting})
    entries = [_entry(request, installed.get(request.name), asked.channel) for request in asked.modules]
    return {**spec, "channel": asked.channel, "modules": entries}


def _entry(request: ModuleRequest, manifest: Manifest | None, channel: str) -> Json:
    entry: Json = {"name": request.name}
    if request.channel and request.channel != channel:
        entry["channel"] = request.channel
    if manifest is not None and manifest.policy == Policy.IGNORE:
        entry[_POLICY] = Policy.IGNORE.value
    if request.version:
        entry["version"] = request.version
    if not request.managed:
        entry["managed"] = False
    return entry


def with_requests(kyma: Kyma) -> Object:
    """Return a Kyma with the channel and the modules that its runtime requests; the policies are unknown."""
    asked = as_requested(kyma)
    if asked is kyma:
        return kyma.raw
    entries = [{**_entry(request, None, asked.channel), _POLICY: request.policy} for request in asked.modules]
    stored = JsonReader(kyma.raw).child("spec").raw
    return {**kyma.raw, "spec": {**stored, "channel": asked.channel, "modules": entries}}
