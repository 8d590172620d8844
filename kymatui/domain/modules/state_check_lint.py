"""Lint of a template's `customStateCheck`, without any resource."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

from msgspec import Struct

from kymatui.domain.kyma.module_templates import StateCheckRule
from kymatui.domain.kyma.states import PRECEDENCE_WORDS
from kymatui.domain.modules.status_paths import extended_steps


class LintKind(StrEnum):
    """The kinds of lint findings."""

    NO_READY = "no rule maps to Ready"
    NO_ERROR = "no rule maps to Error"
    UNKNOWN_STATE = "is not a state"
    NO_EFFECT = "has no effect"
    NOT_PLAIN = "lifecycle-manager reads the path differently"
    NOT_A_PATH = "is not a path"
    SAME_PATH = "two values for one path can never both match"
    DUPLICATE = "the rule appears twice"


class LintFinding(Struct, frozen=True):
    """One lint finding; `index` is the rule's, None if it concerns all rules."""

    kind: LintKind
    index: int | None = None
    subject: str = ""

    @property
    def harmless(self) -> bool:
        """Return whether the rules mean the same without this rule."""
        return self.kind in (LintKind.NO_EFFECT, LintKind.DUPLICATE)

    def __str__(self) -> str:
        where = f"customStateCheck[{self.index}]" if self.index is not None else "customStateCheck"
        return f"{where}: {f'{self.subject!r}: ' if self.subject else ''}{self.kind.value}"


def lint_rules(rules: Sequence[StateCheckRule]) -> tuple[LintFinding, ...]:
    """Return every lint finding of a set of rules."""
    if not rules:
        return ()
    findings = []
    mapped = {rule.mapped_state for rule in rules}
    if "Ready" not in mapped:
        findings.append(LintFinding(LintKind.NO_READY))
    if "Error" not in mapped:
        findings.append(LintFinding(LintKind.NO_ERROR))
    known: dict[tuple[str, str], str] = {}
    for index, rule in enumerate(rules):
        findings += _lint_rule(index, rule)
        earlier = known.setdefault((rule.mapped_state, rule.path), rule.value)
        if earlier != rule.value:
            findings.append(LintFinding(LintKind.SAME_PATH, index, rule.path))
        elif rule in rules[:index]:
            findings.append(LintFinding(LintKind.DUPLICATE, index, rule.path))
    return tuple(findings)


def _lint_rule(index: int, rule: StateCheckRule) -> list[LintFinding]:
    findings = []
    if rule.mapped_state == "Processing":
        findings.append(LintFinding(LintKind.NO_EFFECT, index, rule.mapped_state))
    elif rule.mapped_state not in PRECEDENCE_WORDS:
        findings.append(LintFinding(LintKind.UNKNOWN_STATE, index, rule.mapped_state))
    steps = extended_steps(rule.path)
    if steps is None:
        findings.append(LintFinding(LintKind.NOT_A_PATH, index, rule.path))
    elif steps != tuple(rule.path.split(".")):
        findings.append(LintFinding(LintKind.NOT_PLAIN, index, rule.path))
    return findings
