"""The state of a module: the worst that its module CRs, its manager and lifecycle-manager report."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from kymatui.domain.catalog.module_inputs import ModuleInputs
from kymatui.domain.catalog.rows import CheckedResource
from kymatui.domain.kubernetes.json_reader import JsonReader
from kymatui.domain.kubernetes.managed_fields import manual_finalizer_owners
from kymatui.domain.kubernetes.object_meta import ANNOTATION_STATE_CHECK, GARBAGE_COLLECTION, read_meta, read_ref
from kymatui.domain.kubernetes.refs import ObjectRef
from kymatui.domain.kyma.kymas import ModuleReport
from kymatui.domain.kyma.manifests import Manifest
from kymatui.domain.kyma.module_templates import StateCheckRule
from kymatui.domain.kyma.states import State, StateSource, parse_state, state_rank
from kymatui.domain.modules.presence import ManagerVisibility, Presence
from kymatui.domain.modules.readiness import PodFailure, Readiness, is_gate_open
from kymatui.domain.modules.state_checks import CheckInput, CheckMode, Evaluation, evaluate
from kymatui.domain.snapshot.snapshots import Object
from kymatui.domain.versions.drift import Drift
from kymatui.domain.versions.refusals import Refusal
from kymatui.json_input import read_json

START_GRACE = 60.0
"""Seconds after the creation of the manager's workload; until then lifecycle-manager's Error may be premature."""


class Assessment(Struct, frozen=True):
    """A module's state, the source that decided it, and the evaluation of the worst module CR, if any."""

    state: State
    source: StateSource
    evaluation: Evaluation | None = None


class ReasonInputs(Struct, frozen=True):
    """The inputs for choosing the reason of one module.

    `skipped_kyma` is the Kyma if lifecycle-manager leaves it alone, `kyma_deleting` means that the Kyma goes with all
    of its modules, `is_orphaned` that it neither requests nor reports the module of a Manifest, `lacks_manifest` that
    the Manifest of a requested module does not exist, `pod_failure` why the manager's newest Pod does not run, and
    `pods_unseen` why that is unknown.
    """

    subject: ModuleInputs
    presence: Presence
    assessment: Assessment
    drift: Drift
    installed: str
    readiness: Readiness | None
    checked: tuple[CheckedResource, ...]
    unseen: str = ""
    kyma_unseen: str = ""
    skipped_kyma: ObjectRef | None = None
    kyma_deleting: bool = False
    is_orphaned: bool = False
    lacks_manifest: bool = False
    pod_failure: PodFailure | None = None
    pods_unseen: str = ""

    @property
    def is_read(self) -> bool:
        """Return whether the module's manager and CRs are readable, which tell who acts."""
        return (
            self.subject.manager.visibility is not ManagerVisibility.UNREADABLE and self.subject.resources is not None
        )

    @property
    def refusal(self) -> Refusal | None:
        """Return why the module does not resolve, None if it does."""
        return self.subject.resolution.refusal


def effective_rules(template_rules: Sequence[StateCheckRule], manifest: Manifest | None) -> tuple[StateCheckRule, ...]:
    """Return the state check rules of the Manifest's annotation, else those of the template."""
    text = manifest.meta.annotations.get(ANNOTATION_STATE_CHECK, "") if manifest is not None else ""
    if text:
        try:
            entries = JsonReader({"rules": read_json(text)}).children("rules")
        except ValueError:
            # an unreadable annotation counts as missing, and the template's rules apply
            entries = ()
        rules = tuple(StateCheckRule(e.text("jsonPath"), e.text("value"), e.text("mappedState")) for e in entries)
        if rules:
            return rules
    return tuple(template_rules)


def check_resources(
    resources: Sequence[Object],
    rules: Sequence[StateCheckRule],
    *,
    manager: Object | None,
    manifest: Manifest | None,
    now: float,
) -> tuple[CheckedResource, ...]:
    """Evaluate every module CR in both modes and sort by the state for lifecycle-manager, the worst first."""
    gate = manager is None or is_gate_open(manager)
    checked = []
    for raw in resources:
        reader = JsonReader(raw)
        meta, message = read_meta(reader), _message(reader)
        for field in ("apiVersion", "kind"):
            reader.text(field)  # reading records a wrong type as a flaw
        word = "" if rules else reader.child("status").text("state")
        created = manifest.meta.created if manifest is not None and manifest.meta.created else meta.created
        subject = CheckInput(raw, deleting=meta.deleting, gate=gate, age=now - created if created else 0.0)
        checked.append(
            CheckedResource(
                resource=read_ref(raw),
                klm=evaluate(rules, subject, CheckMode.KLM),
                strict=evaluate(rules, subject, CheckMode.STRICT),
                deleting=meta.deleting,
                finalizers=tuple(name for name in meta.finalizers if name not in GARBAGE_COLLECTION),
                set_by_hand=manual_finalizer_owners(raw) if meta.deleting else (),
                message=message,
                status_state=word,
                flaws=tuple(dict.fromkeys(reader.flaws)),
            )
        )
    return tuple(sorted(checked, key=lambda item: (state_rank(item.klm.state), str(item.resource))))


def _message(reader: JsonReader) -> str:
    status = reader.child("status")
    conditions = [entry for entry in status.children("conditions") if entry.text("message")]
    failing = [entry for entry in conditions if entry.text("status") not in ("True", "")]
    for entry in sorted(failing, key=lambda entry: entry.text("type") not in ("Ready", "Error")):
        return entry.text("message")
    return status.text("description") or status.text("message")


def assess(
    presence: Presence,
    checked: Sequence[CheckedResource],
    *,
    readiness: Readiness | None,
    manager_missing: bool,
    report: ModuleReport | None,
    manifest: Manifest | None,
    refusal: Refusal | None,
    managed: bool,
    starting: bool = False,
    recorded: bool = False,
) -> Assessment:
    """Return the worst state of all sources; of equal states, the source nearest to the module wins.

    While the manager is `starting`, an Error of lifecycle-manager counts as Processing: lifecycle-manager reports
    it for every Deployment that has no conditions yet. An Error with its own cause, such as a channel without a
    version, counts at once. A `recorded` installation needs no object with a state.
    """
    evaluation = checked[0].klm if checked else None
    fixed = {
        Presence.NOT_INSTALLED: State.NOT_INSTALLED,
        Presence.UNKNOWN: State.UNKNOWN,
        Presence.DELETING: State.DELETING,
        Presence.INSTALLING: State.PROCESSING,
        Presence.UNMANAGED: State.UNMANAGED,
    }.get(presence)
    if fixed is not None:
        return Assessment(fixed, StateSource.PRESENCE, evaluation)
    # lifecycle-manager checked the gate before the rules; kymatui shows a plain status.state even then.
    behind_gate = parse_state(checked[0].status_state) if checked and evaluation and not evaluation.rules else None
    claims = _claims(evaluation, behind_gate, readiness, manager_missing)
    if managed:
        has_cause = (
            refusal is not None and refusal.state is State.ERROR
        )  # waiting for the Deployment does not end this Error
        is_early = starting and readiness is not None and readiness.state is not State.ERROR and not has_cause
        claims += _reported(report, manifest, refusal, is_early=is_early)
    if presence in (Presence.ORPHAN, Presence.CONFLICT, Presence.PARTIAL, Presence.DELETION_INTERRUPTED):
        claims.append((State.WARNING, StateSource.PRESENCE))
    if not claims:
        quiet = State.READY if recorded else State.UNKNOWN  # what has no workload and no CR works once it is installed
        return Assessment(State.PROCESSING if managed else quiet, StateSource.PRESENCE, evaluation)
    state, source = min(claims, key=lambda claim: state_rank(claim[0]))
    return Assessment(state, source, evaluation)


def _claims(
    evaluation: Evaluation | None, behind_gate: State | None, readiness: Readiness | None, manager_missing: bool
) -> list[tuple[State, StateSource]]:
    claims: list[tuple[State, StateSource]] = []
    if evaluation is not None:
        claims.append((evaluation.state, evaluation.source))
    if behind_gate is not None:
        claims.append((behind_gate, StateSource.STATUS))
    if readiness is not None:
        claims.append((readiness.state, StateSource.MANAGER))
    if manager_missing:
        claims.append((State.ERROR, StateSource.MANAGER))
    return claims


def _reported(
    report: ModuleReport | None, manifest: Manifest | None, refusal: Refusal | None, *, is_early: bool
) -> list[tuple[State, StateSource]]:
    """Return the states that lifecycle-manager reports; its Error counts as Processing if `is_early`."""

    def word(state: str) -> State | None:
        parsed = parse_state(state)
        return State.PROCESSING if parsed is State.ERROR and is_early else parsed

    claims: list[tuple[State, StateSource]] = []
    reported = word(report.state) if report is not None else None
    if reported is not None:
        claims.append((reported, StateSource.KYMA))
    elif refusal is not None:
        claims.append((refusal.state, StateSource.KYMA))
    installing = word(manifest.state) if manifest is not None else None
    if installing is not None:
        claims.append((installing, StateSource.MANIFEST))
    return claims
