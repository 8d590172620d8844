"""Known deviations of lifecycle-manager from its API, predicted from fields before they do harm.

Each was observed with lifecycle-manager 1.20. The Manifest decides, because lifecycle-manager acts on it and a
change of the Kyma may reach it late. Without readable Manifests nothing is predicted from them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum
from typing import Final

from msgspec import Struct

from kymatui.domain.kubernetes.managed_fields import finalizer_owners
from kymatui.domain.kubernetes.object_meta import GARBAGE_COLLECTION
from kymatui.domain.kubernetes.refs import ObjectRef
from kymatui.domain.kyma.kyma_keeper import is_keeper
from kymatui.domain.kyma.kymas import ModuleReport, ModuleRequest, Policy
from kymatui.domain.kyma.manifests import FINALIZER, FINALIZER_MODULE_CR, LABEL_FINALIZER, OLD_FINALIZER, Manifest
from kymatui.domain.kyma.problems import (
    Actor,
    Advice,
    AdviceKind,
    Problem,
    Severity,
    remove_finalizer,
    shell_command,
    unpause,
    with_advice,
)
from kymatui.domain.kyma.states import State
from kymatui.domain.kyma.versions import same_version
from kymatui.domain.modules.readiness import Readiness
from kymatui.domain.versions.drift import Drift, DriftKind

_PASSED_ON = "with the next version, channel or template change"


class RiskKind(StrEnum):
    """The kinds of risks."""

    POLICY_PENDING = "policy-pending"  # the Manifest has another policy than the Kyma
    CR_STAYS = "cr-stays"  # neither lifecycle-manager nor kyma CLI deletes the module CR
    FINALIZER_STAYS = "finalizer-stays"  # the Manifest can never be deleted
    NOT_APPLIED = "not-applied"  # the status reports a version that is not applied
    MAY_NOT_WAIT = "may-not-wait"  # objects may be deleted with their CRD
    STILL_RELEASING = "still-releasing"  # Unmanaged is reported, and the Manifest is still there
    PAUSED = "paused"  # the skip label: nothing is upgraded, repaired or uninstalled


class ModuleRisk(Struct, frozen=True):
    """One risk of a module and the way to handle it."""

    risk: RiskKind
    message: str
    severity: Severity = Severity.WARNING
    actor: Actor = Actor.YOU
    advice: Advice | None = None

    @property
    def text(self) -> str:
        """Return the message with the advice."""
        return with_advice(self.message, self.advice)

    @property
    def warning(self) -> str:
        """Return the text for the plan of an edit or deletion, which is what some advice is about."""
        if self.risk is RiskKind.PAUSED:
            return with_advice(f"{self.message}, so the module is neither changed nor uninstalled", self.advice)
        return self.message if self.risk in (RiskKind.CR_STAYS, RiskKind.MAY_NOT_WAIT) else self.text

    def problem(self, module: str) -> Problem:
        return Problem(self.severity, self.message, self.actor, module, advice=self.advice)


def find_risks(
    request: ModuleRequest | None,
    report: ModuleReport | None,
    manifest: Manifest | None,
    drift: Drift,
    desired: str,
    readiness: Readiness | None,
    resources: Sequence[ObjectRef],
) -> tuple[ModuleRisk, ...]:
    """Return the risks of a module in the Kyma; `resources` are its existing CRs."""
    if request is None:
        return ()
    risks: list[ModuleRisk] = []
    if manifest is not None and request.managed:
        risks += _of_policies(request, manifest)
        if manifest.skipped:
            words, advice = paused_words(manifest), unpause(request.name)
            risks.append(ModuleRisk(RiskKind.PAUSED, words, Severity.INFO, advice=advice))
    if is_not_applied(report, manifest, drift, desired, readiness):
        risks.append(not_applied(request.name, desired))
    in_force = manifest.policy if manifest is not None else request.policy
    if request.managed and resources and in_force == Policy.IGNORE:
        risks.append(_may_not_wait(request.name))
    if not request.managed and is_still_releasing(report, manifest):
        assert manifest is not None
        risks.append(still_releasing(request.name, manifest))
    return tuple(risks)


def effective_policies(request: ModuleRequest | None, manifest: Manifest | None) -> frozenset[str]:
    """Return the policies of the Kyma and of the Manifest, which apply now or later."""
    policies = (request.policy if request is not None else "", manifest.policy if manifest is not None else "")
    return frozenset(policy for policy in policies if policy)


def _of_policies(request: ModuleRequest, manifest: Manifest) -> Iterator[ModuleRisk]:
    has = manifest.policy or Policy.CREATE_AND_DELETE
    asked = request.policy or has  # unknown if only reported
    pending = f"The Kyma has policy {asked}, but {manifest.ref} still has {has}"
    pending += f"; lifecycle-manager changes it {_PASSED_ON}"
    if asked == Policy.CREATE_AND_DELETE and has == Policy.IGNORE:
        words = (
            f"{pending}. If you disable the module before, lifecycle-manager waits for the module CR and does not "
            "delete it"
        )
        command = shell_command("kymatui", "disable", request.name, "--cascade")
        advice = Advice(AdviceKind.DELETE_BLOCKERS, "Disable the module with a command that deletes it first", command)
        yield ModuleRisk(RiskKind.CR_STAYS, words, advice=advice)
    elif asked != has:
        yield ModuleRisk(RiskKind.POLICY_PENDING, pending, Severity.INFO, Actor.KLM)
    if has == Policy.IGNORE and FINALIZER_MODULE_CR in manifest.meta.finalizers:
        words = (
            f"Deletion of {manifest.ref} will block: with policy Ignore, lifecycle-manager never removes the finalizer "
            f"{FINALIZER_MODULE_CR}"
        )
        text = "Remove it after the module's objects are deleted"
        yield ModuleRisk(RiskKind.FINALIZER_STAYS, words, advice=_finalizer_advice(manifest, text))


_MAY_NOT_WAIT = (
    "With policy Ignore, a lifecycle-manager that started before the CRD was installed deletes the CRD with all "
    "objects of its kind and does not wait for them. kymatui checks for them first"
)


def _may_not_wait(module: str) -> ModuleRisk:
    command = shell_command("kymatui", "disable", module)
    advice = Advice(AdviceKind.DISABLE, "Use no other tool to uninstall the module", command)
    return ModuleRisk(RiskKind.MAY_NOT_WAIT, _MAY_NOT_WAIT, Severity.INFO, advice=advice)


def is_not_applied(
    report: ModuleReport | None, manifest: Manifest | None, drift: Drift, desired: str, readiness: Readiness | None
) -> bool:
    """Return whether a version is reported Ready that the settled workload does not have.

    Every upgrade has this for some seconds too, and the cluster does not tell since when.
    """
    if drift.kind is not DriftKind.BEHIND or report is None:
        return False
    if report.state != State.READY or not same_version(report.version, desired):
        return False
    if manifest is not None and (manifest.meta.deleting or manifest.skipped):
        return False
    return readiness is not None and readiness.ready and not readiness.rolling


def not_applied(module: str, desired: str) -> ModuleRisk:
    words = f"The Kyma reports {desired} as Ready, but the workload still has another version"
    text = "lifecycle-manager applies it with its next reconciliation; if it does not, list what is stuck in deletion"
    advice = Advice(AdviceKind.WAIT, text, shell_command("kymatui", "finalizers", module))
    return ModuleRisk(RiskKind.NOT_APPLIED, words, actor=Actor.KLM, advice=advice)


def is_still_releasing(report: ModuleReport | None, manifest: Manifest | None) -> bool:
    """Return whether Unmanaged is reported while the Manifest exists; removing the entry would uninstall."""
    return report is not None and report.state == State.UNMANAGED and manifest is not None


def still_releasing(module: str, manifest: Manifest) -> ModuleRisk:
    words = (
        f"The Kyma reports Unmanaged, but {manifest.ref} still exists: lifecycle-manager has not released everything"
    )
    text, actor = "Keep the module's entry in the Kyma until the Manifest is gone", Actor.KLM
    advice = Advice(AdviceKind.KEEP_ENTRY, text)
    if manifest.skipped:
        paused, actor = f"{text}. The skip label pauses the Manifest; remove it to continue", Actor.YOU
        advice = unpause(module, paused)
    return ModuleRisk(RiskKind.STILL_RELEASING, words, actor=actor, advice=advice)


NOT_RELEASED: Final = "lifecycle-manager has not released the module yet"
KEEP_ENTRY: Final = Advice(AdviceKind.KEEP_ENTRY, "Keep its entry in the Kyma until its state is Unmanaged")


def unreleased_words(reported: str, foreseen: Iterable[ModuleRisk]) -> str:
    """Return why an unmanaged module is not released yet, "" if it is; `reported` is its state in the Kyma."""
    if reported != State.UNMANAGED:
        return with_advice(NOT_RELEASED, KEEP_ENTRY)
    return next((risk.text for risk in foreseen if risk.risk is RiskKind.STILL_RELEASING), "")


def risks_of_policy(policy: str) -> Iterator[str]:
    """Yield notes for the user before a policy is set."""
    yield f"the new policy takes effect only {_PASSED_ON}: until then the Manifest keeps the old one"
    if policy == Policy.IGNORE:
        yield (
            f"after the next version change the Manifest may keep the finalizer {FINALIZER_MODULE_CR} and block "
            "deletion; delete the module CR, or set the policy back, before you delete the module"
        )
        yield _MAY_NOT_WAIT


_REMOVED: Final = frozenset({FINALIZER, OLD_FINALIZER, LABEL_FINALIZER, FINALIZER_MODULE_CR})
"""What lifecycle-manager removes from a Manifest that it has uninstalled."""


def stuck_finalizers(manifest: Manifest) -> tuple[str, ...]:
    """Return what blocks a Manifest's deletion once lifecycle-manager has removed its own: what it never removes."""
    owners = {name: by for name, by in finalizer_owners(manifest.raw).items() if name not in GARBAGE_COLLECTION}
    forgotten = {FINALIZER_MODULE_CR} if manifest.policy == Policy.IGNORE else set[str]()
    removed = {name for name, owner in owners.items() if name in _REMOVED or is_keeper(owner)} - forgotten
    return tuple(owners) if manifest.meta.deleting and not removed else ()


def stuck_words(manifest: Manifest) -> str:
    names = stuck_finalizers(manifest)
    never = "never removes with policy Ignore" if FINALIZER_MODULE_CR in names else "does not remove"
    finalizers = f"{'finalizers' if len(names) > 1 else 'finalizer'} {', '.join(names)}"
    return f"deletion of {manifest.ref} is blocked by {finalizers}, which lifecycle-manager {never}"


def stuck_advice(manifest: Manifest) -> Advice:
    first = stuck_finalizers(manifest)[0]
    text = "Remove the finalizer" if first == FINALIZER_MODULE_CR else "Remove the finalizer, unless its owner does"
    return _finalizer_advice(manifest, text, first)


def _finalizer_advice(manifest: Manifest, text: str, finalizer: str = FINALIZER_MODULE_CR) -> Advice:
    return remove_finalizer(manifest.module or manifest.meta.name, manifest.ref, finalizer, text)


def paused_words(manifest: Manifest) -> str:
    return f"{manifest.ref} is paused by the label skip-reconciliation"


def taken_over_words(name: str, creator: str) -> str:
    """Return what happens to a user's template with the name of a synced one."""
    return (
        f"{name}, created by {creator}, has the same name as a template of the control plane: the catalog sync "
        "overwrites it and deletes it with that template"
    )


def taken_over_advice(template: ObjectRef) -> Advice:
    words = ("kubectl", "delete", "moduletemplate", template.name, "-n", template.namespace)
    text = "Apply yours under another name, then delete this one"
    return Advice(AdviceKind.RENAME, text, shell_command(*words), in_runtime=True)


NO_ACCESS: Final = "skr client context not found"
"""What lifecycle-manager reports of a Kyma and its modules while it cannot reach the runtime, whatever the cause."""


def kyma_error_words(state: str, operation: str, modules: Iterable[State | str]) -> str:
    """Return why a Kyma itself, and no module of it, is in Error or Warning; "" if it is not.

    `operation` is the Kyma's own message, `modules` the states that it reports of them.
    """
    if state == State.ERROR and NO_ACCESS in operation:
        return f"lifecycle-manager has no access to the runtime ({NO_ACCESS})"
    if state not in (State.ERROR, State.WARNING) or not all(module_state in _SETTLED for module_state in modules):
        return ""
    return f"the Kyma itself is in {state}: {operation or 'lifecycle-manager gives no reason'}"


def kyma_error_advice(operation: str, runtime: str) -> Advice | None:
    """Return the advice for a Kyma whose own message it is; None where the message is all that is known."""
    if NO_ACCESS not in operation:
        return None
    text = "Repair its access Secret; the audit names what is wrong with it"
    return Advice(AdviceKind.REPAIR, text, shell_command("kymatui", "audit", "--remote", runtime))


_SETTLED: Final = (State.READY, State.UNMANAGED)


def kyma_deletion_words(modules: Iterable[str]) -> str:
    """Return what deleting the runtime's Kyma causes; `modules` are requested there only, or may be."""
    names = ", ".join(sorted(modules))
    gone = f", and uninstalls what only the runtime's Kyma requests: {names}"
    return f"lifecycle-manager creates the runtime's Kyma again from the control plane's spec{gone if names else ''}"


def kyma_deletion_advice(modules: Iterable[str]) -> Advice | None:
    names = sorted(modules)
    text = "Enable them again after that"
    return Advice(AdviceKind.ENABLE, text, shell_command("kymatui", "enable", *names)) if names else None
