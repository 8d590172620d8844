"""Rules about a control plane and its runtimes: unreachable runtimes, differences, broken chains."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from kymatui.domain.audit.findings import AuditFinding, AuditRule
from kymatui.domain.kubernetes.refs import ObjectRef
from kymatui.domain.kyma.problems import Actor, Severity
from kymatui.domain.remote.differences import LineArea, LineVerdict
from kymatui.domain.remote.side_by_side import SideBySide
from kymatui.domain.remote.watcher_chains import ChainLink, LinkHealth, WatcherChain

UNREACHABLE = AuditRule(
    "runtime.unreachable",
    "a runtime cannot be read",
    Severity.ERROR,
    "The runtime's modules are unknown, and lifecycle-manager may not reach it either.",
    "Check its API server and the network to it.",
)
ACCESS = AuditRule(
    "runtime.access",
    "a runtime's access Secret does not work",
    Severity.ERROR,
    "lifecycle-manager cannot connect to the runtime either, so it does not update or repair its modules.",
    "Create the access Secret again; if there are several, delete the old ones.",
)
CONTEXT = AuditRule(
    "context.access",
    "a context of the kubeconfig cannot be used",
    Severity.ERROR,
    "Nothing is known of its cluster.",
    "Log in, or repair the context in the kubeconfig.",
)
ORPHAN_SECRET = AuditRule(
    "access.orphan",
    "an access Secret belongs to no Kyma",
    Severity.WARNING,
    "It still gives access to a cluster that this control plane does not manage.",
    "Check that the runtime no longer exists, then delete the Secret.",
)
CHAIN = AuditRule(
    "watcher.broken",
    "changes in a runtime do not reach its control plane immediately",
    Severity.WARNING,
    "lifecycle-manager sees changes only at its next resync, minutes or hours later.",
    "Find the broken link with `kymatui watchers RUNTIME`; lifecycle-manager recreates its objects in the runtime.",
)
CHAIN_UNKNOWN = AuditRule(
    "watcher.unknown",
    "it is unknown whether changes reach the control plane",
    Severity.INFO,
    "A link that cannot be read may be broken.",
    "Give the auditor the right to read it.",
)
DIFFERS = AuditRule(
    "runtime.differs",
    "a runtime differs from its control plane",
    Severity.WARNING,
    "Either side alone is misleading.",
    "Run `kymatui compare RUNTIME` to see both sides and the reason.",
)
RULES = (UNREACHABLE, ACCESS, CONTEXT, ORPHAN_SECRET, CHAIN, CHAIN_UNKNOWN, DIFFERS)
_BY_HEALTH = {LinkHealth.BROKEN: CHAIN, LinkHealth.UNKNOWN: CHAIN_UNKNOWN}
_OF_RUNTIMES = ("webhook", "Deployment", "Secret")
_BY_OTHER_RULES = (LineArea.MODULE, LineArea.RESOURCE)
"""Differences that the rules about modules report."""


def unreachable_finding(runtime: str, why: str, *, access: bool = False) -> AuditFinding:
    """Return the finding for an unreachable runtime; `access` means that its access Secret is the cause."""
    return AuditFinding(
        ACCESS if access else UNREACHABLE, why, actor=Actor.YOU if access else Actor.CLUSTER, runtime=runtime
    )


def unread_context_finding(context: str, why: str, *, access: bool) -> AuditFinding:
    """Return the finding for a context that is not read; `access` means that its login or entry is the cause."""
    if access:
        return AuditFinding(CONTEXT, why, actor=Actor.YOU, runtime=context)
    return unreachable_finding(context, why)


def orphan_secret_finding(secret: ObjectRef, kyma: str) -> AuditFinding:
    """Return the finding for an access Secret whose Kyma does not exist."""
    words = f"its label names the Kyma {kyma}, which does not exist"
    return AuditFinding(ORPHAN_SECRET, words, "", str(secret), "metadata.labels", kyma, actor=Actor.YOU)


def chain_findings(chains: Iterable[WatcherChain], runtime: str = "") -> Iterator[AuditFinding]:
    """Yield a finding for each broken or unknown link of the Watcher chains.

    With `runtime`, check the links inside the runtime, else those of the control plane. A link that several
    Watchers share yields one finding.
    """
    links: set[ChainLink] = set()
    for chain in chains:
        for link in chain.links:
            rule = _BY_HEALTH.get(link.health)
            if rule is None or link in links or (link.what in _OF_RUNTIMES) != bool(runtime):
                continue
            links.add(link)
            name = f"{link.what} {link.object}".strip()
            of = f" (of Watcher {chain.watcher})" if chain.watcher and link.what != "Watcher" else ""
            yield AuditFinding(rule, f"{name}{of}: {link.why}", "", name, actor=Actor.KLM, runtime=runtime)


def difference_findings(comparison: SideBySide) -> Iterator[AuditFinding]:
    """Yield a finding for each field on which the control plane and the runtime wrongly differ."""
    for line in comparison.lines:
        if line.verdict is LineVerdict.WRONG and line.area not in _BY_OTHER_RULES:
            sides = f"{line.control or 'nothing'} on the control plane, {line.runtime or 'nothing'} in the runtime"
            words = f"{line.subject} {line.field}: {sides}; {line.why}"
            name = f"{line.area.value} {line.subject}"
            yield AuditFinding(DIFFERS, words, "", name, line.field, actor=line.actor, runtime=comparison.name)
