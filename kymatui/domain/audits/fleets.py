"""A control plane and its runtimes: what could not be looked at, and what differs and should not."""

from __future__ import annotations

from collections.abc import Iterator

from kymatui.domain.audits.findings import Finding, Rule
from kymatui.domain.pairs.comparing import SideBySide
from kymatui.domain.pairs.differences import Area, Verdict
from kymatui.domain.problems import Actor, Severity

UNREACHED = Rule(
    "runtime.unreached",
    "a runtime could not be looked at",
    Severity.ERROR,
    "Nothing is known of what runs there, and lifecycle-manager may not reach it either.",
    "Look at its access Secret, then at its API server.",
)
DIFFERS = Rule(
    "runtime.differs",
    "a runtime is not what its control plane says",
    Severity.WARNING,
    "Whoever looks at one side only is misled.",
    "`kymatui compare RUNTIME` shows both sides with what explains the difference.",
)
RULES = (UNREACHED, DIFFERS)
_BY_OTHER_RULES = (Area.MODULE, Area.RESOURCE)
"""What modules are in is found by the rules about modules."""


def unreached(runtime: str, why: str) -> Finding:
    """A runtime that nobody could look at; `why` in a sentence."""
    return Finding(UNREACHED, why, actor=Actor.CLUSTER, runtime=runtime)


def differences(found: SideBySide) -> Iterator[Finding]:
    """What both sides should agree on, and do not."""
    for line in found.lines:
        if line.verdict is Verdict.WRONG and line.area not in _BY_OTHER_RULES:
            sides = f"{line.control or 'nothing'} on the control plane, {line.runtime or 'nothing'} in the runtime"
            words = f"{line.subject} {line.field}: {sides}; {line.why}"
            name = f"{line.area.value} {line.subject}"
            yield Finding(DIFFERS, words, "", name, line.field, actor=line.actor, runtime=found.name)
