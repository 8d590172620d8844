"""What is wrong in the sources of a module, by file and line."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec import Struct

from kymatui.domain.kyma.problems import Severity
from kymatui.errors import ConfigurationError


class SourceProblem(Struct, frozen=True):
    """A problem at a line (from 1; 0 if it concerns the whole file); `rule` is a stable name, `field` the wrong one."""

    file: str
    line: int
    message: str
    rule: str = "config"
    severity: Severity = Severity.ERROR
    field: str = ""

    def __str__(self) -> str:
        location = f"{self.file}:{self.line}" if self.line else self.file
        return f"{location}: {self.message}"


class SourceProblemsError(ConfigurationError):
    """The sources of a module have errors; `problems` are all of them."""

    def __init__(self, problems: Sequence[SourceProblem]) -> None:
        super().__init__("\n".join(map(str, problems)), hint="`kymatui bundle lint` reports every problem")
        self.problems = tuple(problems)


def require_no_errors(problems: Iterable[SourceProblem]) -> None:
    """Raise SourceProblemsError if there are errors."""
    errors = [problem for problem in problems if problem.severity is Severity.ERROR]
    if errors:
        raise SourceProblemsError(errors)
