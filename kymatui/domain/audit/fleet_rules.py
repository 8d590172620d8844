"""Rules about a control plane and its runtimes: unreachable runtimes, differences, broken chains."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from kymatui.domain.audit.findings import AuditFinding, AuditRule
from kymatui.domain.kubernetes.refs import ObjectRef
from kymatui.domain.kyma.problems import Actor, Severity
from kymatui.domain.remote.differences import LineArea, LineVerdict
from kymatui.domain.remote.side_by_side import SideBySide
from kymatui.domain.remote.watcher_chains import ChainLink, LinkHealth, WatcherChain

UNREACHED = AuditRule(
    "runtime.unreached",
    "a runtime could not be looked at",
    Severity.ERROR,
    "Nothing is known of what runs there, and lifecycle-manager may not reach it either.",
    "Look at its API server, and at what lies between.",
)
ACCESS = AuditRule(
    "runtime.access",
    "a runtime's access Secret is of no use",
    Severity.ERROR,
    "Nobody gets into the runtime by it, lifecycle-manager neither: its modules are not kept as they should be.",
    "Whoever makes the access Secrets has to make it again; of several delete those that are old.",
)
ORPHAN_SECRET = AuditRule(
    "access.orphan",
    "an access Secret belongs to no Kyma",
    Severity.WARNING,
    "It still opens a cluster that this control plane has nothing to do with any more, or never had.",
    "Find out whether the runtime is gone; then delete the Secret.",
)
CHAIN = AuditRule(
    "watcher.broken",
    "what changes in a runtime does not reach its control plane at once",
    Severity.WARNING,
    "Lifecycle-manager hears of changes only when it looks by itself, and so acts minutes or hours late.",
    "`kymatui watchers RUNTIME` shows every link; lifecycle-manager makes those in the runtime again.",
)
CHAIN_UNKNOWN = AuditRule(
    "watcher.unknown",
    "nobody can tell whether changes reach the control plane",
    Severity.INFO,
    "A link that may not be read may be broken.",
    "Give the auditor the right to read it.",
)
DIFFERS = AuditRule(
    "runtime.differs",
    "a runtime is not what its control plane says",
    Severity.WARNING,
    "Whoever looks at one side only is misled.",
    "`kymatui compare RUNTIME` shows both sides with what explains the difference.",
)
RULES = (UNREACHED, ACCESS, ORPHAN_SECRET, CHAIN, CHAIN_UNKNOWN, DIFFERS)
_BY_HEALTH = {LinkHealth.BROKEN: CHAIN, LinkHealth.UNKNOWN: CHAIN_UNKNOWN}
_OF_RUNTIMES = ("webhook", "Deployment", "Secret")
_BY_OTHER_RULES = (LineArea.MODULE, LineArea.RESOURCE)
"""Differences that the rules about modules report."""


def unreached_finding(runtime: str, why: str, *, access: bool = False) -> AuditFinding:
    """Return the finding for an unreachable runtime; `access` means that its access Secret is the cause."""
    return AuditFinding(ACCESS if access else UNREACHED, why, actor=Actor.CLUSTER, runtime=runtime)


def orphan_secret_finding(secret: ObjectRef, kyma: str) -> AuditFinding:
    """Return the finding for an access Secret whose Kyma does not exist."""
    words = f"it is labelled with the Kyma {kyma}, which is not there"
    return AuditFinding(ORPHAN_SECRET, words, "", str(secret), "metadata.labels", kyma, actor=Actor.CLUSTER)


def chain_findings(chains: Iterable[WatcherChain], runtime: str = "") -> Iterator[AuditFinding]:
    """Yield a finding for each broken or unknown link of the Watcher chains.

    With `runtime`, check the links inside the runtime, else those of the control plane. A link that several
    Watchers share yields one finding.
    """
    seen: set[ChainLink] = set()
    for chain in chains:
        for link in chain.links:
            rule = _BY_HEALTH.get(link.health)
            if rule is None or link in seen or (link.what in _OF_RUNTIMES) != bool(runtime):
                continue
            seen.add(link)
            name = f"{link.what} {link.object}".strip()
            of = f" (of Watcher {chain.watcher})" if chain.watcher and link.what != "Watcher" else ""
            yield AuditFinding(rule, f"{name}{of}: {link.why}", "", name, actor=Actor.KLM, runtime=runtime)


def difference_findings(found: SideBySide) -> Iterator[AuditFinding]:
    """Yield a finding for each field on which the control plane and the runtime wrongly differ."""
    for line in found.lines:
        if line.verdict is LineVerdict.WRONG and line.area not in _BY_OTHER_RULES:
            sides = f"{line.control or 'nothing'} on the control plane, {line.runtime or 'nothing'} in the runtime"
            words = f"{line.subject} {line.field}: {sides}; {line.why}"
            name = f"{line.area.value} {line.subject}"
            yield AuditFinding(DIFFERS, words, "", name, line.field, actor=line.actor, runtime=found.name)
