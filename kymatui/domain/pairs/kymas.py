"""The two Kymas of a runtime: what of them is mirrored, in which direction, and what never is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from kymatui.domain.conditions import find_condition
from kymatui.domain.foreseen import kyma_deletion_words
from kymatui.domain.kymas import KYMA_NAMESPACE, Kyma, ModuleReport, Tracking
from kymatui.domain.objects import LABEL_BETA, LABEL_INTERNAL, LABEL_MANAGED_BY, LABEL_SKIP, OPERATOR, moment
from kymatui.domain.pairs.differences import NOTHING, Area, Line, Verdict, text_of
from kymatui.domain.problems import Actor
from kymatui.domain.reading import Reader

LABEL_WATCHED_BY = f"{OPERATOR}/watched-by"
ANNOTATION_OWNED_BY = f"deprecated-{OPERATOR}/owned-by"
_MIRRORED = tuple(f"kyma-project.io/{name}" for name in ("runtime-id", "global-account-id", "subaccount-id"))
_SET = (LABEL_WATCHED_BY, LABEL_MANAGED_BY)
_OF_CONTROL_ONLY = (LABEL_BETA, LABEL_INTERNAL, LABEL_SKIP)
_MIRROR_SECONDS = 60.0
"""How long after a change in the control plane the runtime's copy may still be on its way."""


@dataclass(frozen=True, slots=True)
class Kymas:
    """Both Kymas, and the moment of looking in seconds of the Unix clock."""

    control: Kyma
    runtime: Kyma
    now: float

    @property
    def is_mirrored(self) -> bool:
        """Whether lifecycle-manager writes the runtime's status: not while that Kyma is being deleted."""
        return not self.runtime.meta.deleting

    @property
    def is_skipped(self) -> bool:
        return self.control.meta.label_is_true(LABEL_SKIP) and not self.control.meta.deleting

    @property
    def is_fresh(self) -> bool:
        """Whether the control plane's status changed a moment ago."""
        operation = Reader(self.control.raw).child("status").child("lastOperation")
        changed = moment(operation.text("lastUpdateTime"))
        return changed is not None and self.now - changed < _MIRROR_SECONDS

    def mirror(self, area: Area, subject: str, field: str, control: object, runtime: object) -> Line:
        """A line of something that the runtime has a copy of."""
        ours, theirs = text_of(control), text_of(runtime)
        if ours == theirs:
            return Line(area, subject, field, ours, theirs, Verdict.SAME)
        verdict, why, actor = self._unlike()
        return Line(area, subject, field, ours, theirs, verdict, why, actor)

    def _unlike(self) -> tuple[Verdict, str, Actor]:
        if not self.is_mirrored:
            return Verdict.INTENDED, "the runtime's Kyma is being deleted: its status is mirrored no more", Actor.NOBODY
        if self.is_skipped:
            why = f"nothing is mirrored while the control plane's Kyma is labelled {LABEL_SKIP}"
            return Verdict.WRONG, why, Actor.YOU
        if self.is_fresh:
            return Verdict.UNDER_WAY, "the control plane's changed within the last minute", Actor.KLM
        why = "the status is mirrored at every reconciliation, and this was not: lifecycle-manager does not get through"
        return Verdict.WRONG, why, Actor.KLM


def owner_in(runtime: Kyma) -> str:
    """`namespace/name` of the control plane's Kyma that a runtime's Kyma belongs to; "" where it does not say."""
    return runtime.meta.annotations.get(ANNOTATION_OWNED_BY, NOTHING)


_ONLY_THERE = "deleting the runtime's Kyma would uninstall this module, since the control plane does not request it"


def kyma_lines(kymas: Kymas) -> Iterator[Line]:
    """Everything of the two Kymas but their modules' own things."""
    yield from _deletion(kymas)
    yield from _spec(kymas)
    yield from _requests(kymas)
    yield from _labels(kymas)
    yield from _status(kymas)
    yield from _reports(kymas)


def _deletion(kymas: Kymas) -> Iterator[Line]:
    ours, theirs = ("being deleted" if kyma.meta.deleting else "there" for kyma in (kymas.control, kymas.runtime))
    name = str(kymas.control.ref)
    if ours == theirs:
        yield Line(Area.KYMA, name, "presence", ours, theirs, Verdict.SAME)
    elif kymas.control.meta.deleting:
        why = "the deletion has begun in the control plane, and reaches the runtime next"
        yield Line(Area.KYMA, name, "presence", ours, theirs, Verdict.UNDER_WAY, why, Actor.KLM)
    else:
        own = {one.name for one in kymas.runtime.modules} - {one.name for one in kymas.control.modules}
        why = f"the runtime's Kyma is being deleted: {kyma_deletion_words(own)}"
        yield Line(Area.KYMA, name, "presence", ours, theirs, Verdict.WRONG, why, Actor.YOU)


def _spec(kymas: Kymas) -> Iterator[Line]:
    control, runtime = kymas.control, kymas.runtime
    why = "the runtime is the truth; the control plane's spec keeps what it began with"
    yield _told(Area.SPEC, "spec", "channel", control.channel, runtime.channel, why)
    skips = [text_of(kyma.skip_maintenance_windows) for kyma in (control, runtime)]
    why = "it is not mirrored: only the control plane's counts"
    yield _told(Area.SPEC, "spec", "skipMaintenanceWindows", skips[0], skips[1], why)


def _told(area: Area, subject: str, field: str, control: str, runtime: str, why: str) -> Line:
    """A line that may differ."""
    same = control == runtime
    return Line(
        area,
        subject,
        field,
        control,
        runtime,
        Verdict.SAME if same else Verdict.INTENDED,
        NOTHING if same else why,
    )


def _requests(kymas: Kymas) -> Iterator[Line]:
    ours, theirs = (
        {request.name: _request(kyma, request.name) for request in kyma.modules}
        for kyma in (kymas.control, kymas.runtime)
    )
    why = "the runtime is the truth for spec.modules; the control plane's are never written back"
    for name in sorted(ours.keys() | theirs.keys()):
        more = f"; {_ONLY_THERE}" if name not in ours else ""
        yield _told(Area.SPEC, name, "spec.modules", ours.get(name, NOTHING), theirs.get(name, NOTHING), f"{why}{more}")


def _request(kyma: Kyma, module: str) -> str:
    found = kyma.request(module)
    if found is None:
        return NOTHING
    words = [f"channel {found.channel}" if found.channel else "the Kyma's channel", found.policy]
    return ", ".join([*words, *([] if found.managed else ["unmanaged"])])


def _labels(kymas: Kymas) -> Iterator[Line]:
    ours, theirs = kymas.control.meta.labels, kymas.runtime.meta.labels
    for label in _SET:
        yield _marked(kymas, label, "kyma", theirs.get(label, NOTHING), ours.get(label, NOTHING))
    for label in _MIRRORED:
        if label in ours:
            yield _marked(kymas, label, ours[label], theirs.get(label, NOTHING), ours[label])
        elif label in theirs:
            why = "the control plane's Kyma has no such label, so that none is mirrored"
            yield Line(Area.LABEL, label, "labels", NOTHING, theirs[label], Verdict.INTENDED, why)
    owner = f"{kymas.control.meta.namespace}/{kymas.control.meta.name}"
    found = owner_in(kymas.runtime)
    yield _marked(kymas, ANNOTATION_OWNED_BY, owner, found, owner, field="annotations")
    yield from _other_labels(ours, theirs)


def _marked(kymas: Kymas, name: str, wanted: str, found: str, control: str, *, field: str = "labels") -> Line:
    """What lifecycle-manager sets on the runtime's Kyma."""
    if found == wanted:
        same = control == found
        why = NOTHING if same else "lifecycle-manager marks the runtime's Kyma so"
        return Line(Area.LABEL, name, field, control, found, Verdict.SAME if same else Verdict.INTENDED, why)
    if not kymas.is_mirrored:
        why = "the runtime's Kyma is being deleted: its labels are set no more"
        return Line(Area.LABEL, name, field, control, found, Verdict.INTENDED, why)
    skipped = kymas.is_skipped
    why = f"it should be {wanted!r}; " + (
        f"nothing is set while the Kyma is labelled {LABEL_SKIP}"
        if skipped
        else "lifecycle-manager sets it at its next reconciliation"
    )
    return Line(Area.LABEL, name, field, control, found, Verdict.WRONG, why, Actor.YOU if skipped else Actor.KLM)


def _other_labels(ours: Mapping[str, str], theirs: Mapping[str, str]) -> Iterator[Line]:
    for label in sorted((ours.keys() | theirs.keys()) - {*_SET, *_MIRRORED}):
        counts = label in _OF_CONTROL_ONLY
        why = "only the control plane's counts; it is not mirrored" if counts else "it is not mirrored"
        yield _told(Area.LABEL, label, "labels", ours.get(label, NOTHING), theirs.get(label, NOTHING), why)


def _status(kymas: Kymas) -> Iterator[Line]:
    control, runtime = kymas.control, kymas.runtime
    yield kymas.mirror(Area.STATUS, "status", "state", control.state, runtime.state)
    yield kymas.mirror(Area.STATUS, "status", "activeChannel", control.active_channel, runtime.active_channel)
    yield kymas.mirror(Area.STATUS, "status", "lastOperation", control.operation, runtime.operation)
    for kind in dict.fromkeys(one.type for one in (*control.conditions, *runtime.conditions)):
        ours, theirs = (find_condition(kyma.conditions, kind) for kyma in (control, runtime))
        yield kymas.mirror(
            Area.CONDITION,
            kind,
            "status",
            f"{ours.status} ({ours.message})" if ours else None,
            f"{theirs.status} ({theirs.message})" if theirs else None,
        )


def _reports(kymas: Kymas) -> Iterator[Line]:
    names = dict.fromkeys(report.name for report in (*kymas.control.reports, *kymas.runtime.reports))
    for name in sorted(names):
        ours, theirs = kymas.control.report(name), kymas.runtime.report(name)
        if ours is None or theirs is None:
            yield kymas.mirror(Area.STATUS, name, "status.modules", _summary(ours), _summary(theirs))
            continue
        yield from _report(kymas, ours, theirs)


def _summary(report: ModuleReport | None) -> str:
    return NOTHING if report is None else f"{report.version} {report.state}".strip()


def _report(kymas: Kymas, ours: ModuleReport, theirs: ModuleReport) -> Iterator[Line]:
    for field in ("version", "channel", "state", "message", "maintenance"):
        yield kymas.mirror(Area.STATUS, ours.name, field, getattr(ours, field), getattr(theirs, field))
    yield _template(kymas, ours, theirs)
    yield kymas.mirror(Area.STATUS, ours.name, "resource", _tracked(ours.resource), _tracked(theirs.resource))
    yield from _manifest(ours, theirs)


def _template(kymas: Kymas, ours: ModuleReport, theirs: ModuleReport) -> Line:
    before, after = ours.template, theirs.template
    if before is None or after is None or before.ref.name != after.ref.name:
        return kymas.mirror(Area.STATUS, ours.name, "template", _tracked(before), _tracked(after))
    if after.ref.namespace != KYMA_NAMESPACE or before.generation != after.generation:
        line = kymas.mirror(Area.STATUS, ours.name, "template", _tracked(before), _tracked(after))
        if line.differs:
            return line
    why = "the runtime is told of its own copy"
    return _told(Area.STATUS, ours.name, "template", _tracked(before), _tracked(after), why)


def _manifest(ours: ModuleReport, theirs: ModuleReport) -> Iterator[Line]:
    if ours.manifest is None and theirs.manifest is None:
        return
    control, runtime = _tracked(ours.manifest), _tracked(theirs.manifest)
    if theirs.manifest is None:
        why = "the Manifest is the control plane's affair: the runtime is not told of it"
        yield Line(Area.STATUS, ours.name, "manifest", control, runtime, Verdict.INTENDED, why)
    else:
        why = "lifecycle-manager takes the Manifest out of what it mirrors: somebody else wrote this status"
        yield Line(Area.STATUS, ours.name, "manifest", control, runtime, Verdict.WRONG, why, Actor.KLM)


def _tracked(found: Tracking | None) -> str:
    if found is None:
        return NOTHING
    generation = f" (generation {found.generation})" if found.generation else ""
    return f"{found.ref.kind.kind} {found.ref.namespace}/{found.ref.name}{generation}"
