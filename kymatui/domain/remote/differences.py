"""A line of a comparison: one thing on both sides, and what to think of it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from enum import StrEnum

from kymatui.domain.kyma.problems import Actor

NOTHING = ""


class LineArea(StrEnum):
    """What a line is about."""

    KYMA = "Kyma"
    SPEC = "spec"
    LABEL = "label"
    STATUS = "status"
    CONDITION = "condition"
    MODULE = "module"
    RESOURCE = "resource"
    TEMPLATE = "template"
    RELEASE = "release meta"


class LineVerdict(StrEnum):
    """What to think of it; in the order in which people want to see it."""

    WRONG = "not intended"
    UNKNOWN = "unknown"  # one side cannot be read
    UNDER_WAY = "under way"  # the sides will agree by themselves in a moment
    INTENDED = "intended"
    SAME = "same"


@dataclass(frozen=True, slots=True)
class ComparisonLine:
    """One thing; `control` and `runtime` are what the two sides have, "" for nothing.

    `why` explains the verdict, `actor` is who has to act where the difference is not intended.
    """

    area: LineArea
    subject: str
    field: str
    control: str
    runtime: str
    verdict: LineVerdict
    why: str = ""
    actor: Actor = Actor.NOBODY

    @property
    def differs(self) -> bool:
        return self.verdict is not LineVerdict.SAME


_VERDICTS, _AREAS = tuple(LineVerdict), tuple(LineArea)


def sort_key(line: ComparisonLine) -> tuple[int, int, str, str]:
    """What differs first, and of that what nobody intended."""
    return _VERDICTS.index(line.verdict), _AREAS.index(line.area), line.subject, line.field


def format_json(value: object) -> str:
    """A JSON value in one line."""
    if value is None:
        return NOTHING
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, sort_keys=True)
