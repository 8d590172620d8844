"""A control plane and its runtimes: what could not be looked at, what differs and should not, and what is left over."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from kymatui.domain.audits.findings import Finding, Rule
from kymatui.domain.pairs.comparing import SideBySide
from kymatui.domain.pairs.differences import Area, Verdict
from kymatui.domain.problems import Actor, Severity
from kymatui.domain.refs import ObjectRef
from kymatui.domain.watcher_chains import Chain, Health, Link

UNREACHED = Rule(
    "runtime.unreached",
    "a runtime could not be looked at",
    Severity.ERROR,
    "Nothing is known of what runs there, and lifecycle-manager may not reach it either.",
    "Look at its API server, and at what lies between.",
)
ACCESS = Rule(
    "runtime.access",
    "a runtime's access Secret is of no use",
    Severity.ERROR,
    "Nobody gets into the runtime by it, lifecycle-manager neither: its modules are not kept as they should be.",
    "Whoever makes the access Secrets has to make it again; of several delete those that are old.",
)
LEFT_SECRET = Rule(
    "access.orphan",
    "an access Secret belongs to no Kyma",
    Severity.WARNING,
    "It still opens a cluster that this control plane has nothing to do with any more, or never had.",
    "Find out whether the runtime is gone; then delete the Secret.",
)
CHAIN = Rule(
    "watcher.broken",
    "what changes in a runtime does not reach its control plane at once",
    Severity.WARNING,
    "Lifecycle-manager hears of changes only when it looks by itself, and so acts minutes or hours late.",
    "`kymatui watchers RUNTIME` shows every link; lifecycle-manager makes those in the runtime again.",
)
CHAIN_UNKNOWN = Rule(
    "watcher.unknown",
    "nobody can tell whether changes reach the control plane",
    Severity.INFO,
    "A link that may not be read may be broken.",
    "Give the auditor the right to read it.",
)
DIFFERS = Rule(
    "runtime.differs",
    "a runtime is not what its control plane says",
    Severity.WARNING,
    "Whoever looks at one side only is misled.",
    "`kymatui compare RUNTIME` shows both sides with what explains the difference.",
)
RULES = (UNREACHED, ACCESS, LEFT_SECRET, CHAIN, CHAIN_UNKNOWN, DIFFERS)
_BY_HEALTH = {Health.BROKEN: CHAIN, Health.UNKNOWN: CHAIN_UNKNOWN}
_OF_RUNTIMES = ("webhook", "Deployment", "Secret")
_BY_OTHER_RULES = (Area.MODULE, Area.RESOURCE)
"""What modules are in is found by the rules about modules."""


def unreached(runtime: str, why: str, *, access: bool = False) -> Finding:
    """A runtime that nobody could look at; `why` in a sentence. `access` says that its Secret is to blame."""
    return Finding(ACCESS if access else UNREACHED, why, actor=Actor.CLUSTER, runtime=runtime)


def left_secret(secret: ObjectRef, kyma: str) -> Finding:
    """An access Secret whose Kyma is not there."""
    words = f"it is labelled with the Kyma {kyma}, which is not there"
    return Finding(LEFT_SECRET, words, "", str(secret), "metadata.labels", kyma, actor=Actor.CLUSTER)


def broken_links(chains: Iterable[Chain], runtime: str = "") -> Iterator[Finding]:
    """Of Watchers' chains the links that are not whole: those in `runtime`, or without one those of the control plane.

    What several Watchers share is told once.
    """
    seen: set[Link] = set()
    for chain in chains:
        for link in chain.links:
            rule = _BY_HEALTH.get(link.health)
            if rule is None or link in seen or (link.what in _OF_RUNTIMES) != bool(runtime):
                continue
            seen.add(link)
            name = f"{link.what} {link.object}".strip()
            of = f" (of Watcher {chain.watcher})" if chain.watcher and link.what != "Watcher" else ""
            yield Finding(rule, f"{name}{of}: {link.why}", "", name, actor=Actor.KLM, runtime=runtime)


def differences(found: SideBySide) -> Iterator[Finding]:
    """What both sides should agree on, and do not."""
    for line in found.lines:
        if line.verdict is Verdict.WRONG and line.area not in _BY_OTHER_RULES:
            sides = f"{line.control or 'nothing'} on the control plane, {line.runtime or 'nothing'} in the runtime"
            words = f"{line.subject} {line.field}: {sides}; {line.why}"
            name = f"{line.area.value} {line.subject}"
            yield Finding(DIFFERS, words, "", name, line.field, actor=line.actor, runtime=found.name)
