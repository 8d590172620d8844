"""One line of a comparison, with its verdict."""

from __future__ import annotations

import json
from enum import StrEnum

from msgspec import Struct

from kymatui.domain.kyma.problems import Actor

NOTHING = ""


class LineArea(StrEnum):
    """The subjects of a line."""

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
    """The verdicts on a line, in order of display."""

    WRONG = "not intended"
    UNKNOWN = "unknown"  # one side cannot be read
    UNDER_WAY = "under way"  # the sides will agree without action
    INTENDED = "intended"
    SAME = "same"


class ComparisonLine(Struct, frozen=True):
    """One compared thing; `control` and `runtime` are the values of both sides, "" for none.

    `why` explains the verdict; `actor` has to act if the difference is not intended.
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
    """Return the sort key: unintended differences first."""
    return _VERDICTS.index(line.verdict), _AREAS.index(line.area), line.subject, line.field


def format_json(value: object) -> str:
    """Return a JSON value in one line."""
    if value is None:
        return NOTHING
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, sort_keys=True)
