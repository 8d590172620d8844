"""What is doubtful in a template's `customStateCheck`, before any resource is looked at."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from kymatui.domain.kyma.module_templates import StateCheckRule
from kymatui.domain.kyma.states import PRECEDENCE_WORDS
from kymatui.domain.modules.status_paths import extended_steps


class LintKind(StrEnum):
    """What is doubtful."""

    NO_READY = "no rule maps to Ready"
    NO_ERROR = "no rule maps to Error"
    UNKNOWN_STATE = "is no state"
    NO_EFFECT = "has no effect"
    NOT_PLAIN = "lifecycle-manager reads the path otherwise"
    NOT_A_PATH = "is not a path"
    SAME_PATH = "two values for one path can never both match"
    DUPLICATE = "the rule is there twice"


@dataclass(frozen=True, slots=True)
class LintFinding:
    """One doubt; `index` is the rule's place, None where it concerns all of them."""

    kind: LintKind
    index: int | None = None
    subject: str = ""

    @property
    def harmless(self) -> bool:
        """Whether the rules mean the same without the rule that it is about."""
        return self.kind in (LintKind.NO_EFFECT, LintKind.DUPLICATE)

    def __str__(self) -> str:
        where = f"customStateCheck[{self.index}]" if self.index is not None else "customStateCheck"
        return f"{where}: {f'{self.subject!r}: ' if self.subject else ''}{self.kind.value}"


def lint_rules(rules: Sequence[StateCheckRule]) -> tuple[LintFinding, ...]:
    """Every doubt about a set of rules; nothing where there are none."""
    if not rules:
        return ()
    found = []
    mapped = {rule.mapped_state for rule in rules}
    if "Ready" not in mapped:
        found.append(LintFinding(LintKind.NO_READY))
    if "Error" not in mapped:
        found.append(LintFinding(LintKind.NO_ERROR))
    seen: dict[tuple[str, str], str] = {}
    for index, rule in enumerate(rules):
        found += _lint_rule(index, rule)
        earlier = seen.setdefault((rule.mapped_state, rule.path), rule.value)
        if earlier != rule.value:
            found.append(LintFinding(LintKind.SAME_PATH, index, rule.path))
        elif rule in rules[:index]:
            found.append(LintFinding(LintKind.DUPLICATE, index, rule.path))
    return tuple(found)


def _lint_rule(index: int, rule: StateCheckRule) -> list[LintFinding]:
    found = []
    if rule.mapped_state == "Processing":
        found.append(LintFinding(LintKind.NO_EFFECT, index, rule.mapped_state))
    elif rule.mapped_state not in PRECEDENCE_WORDS:
        found.append(LintFinding(LintKind.UNKNOWN_STATE, index, rule.mapped_state))
    steps = extended_steps(rule.path)
    if steps is None:
        found.append(LintFinding(LintKind.NOT_A_PATH, index, rule.path))
    elif steps != tuple(rule.path.split(".")):
        found.append(LintFinding(LintKind.NOT_PLAIN, index, rule.path))
    return found
