"""What an examination says, and what it is about."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from pathlib import Path
from typing import Any

from kymatui.helm.archives import ChartFile
from kymatui.helm.charts import Chart, load_files


class LintSeverity(IntEnum):
    """How bad it is, as helm ranks it."""

    INFO = 1
    WARNING = 2
    ERROR = 3


@dataclass(frozen=True, slots=True)
class Message:
    """One line of the report: `where` is a file of the chart, or "" for all of it."""

    severity: LintSeverity
    where: str
    text: str

    def __str__(self) -> str:
        return f"[{self.severity.name}] {self.where}: {self.text}"


@dataclass(frozen=True, slots=True)
class LintResult:
    """Everything that was found; `problem` says why a path is no chart at all."""

    messages: tuple[Message, ...] = ()
    problem: str = ""

    @property
    def is_noticed(self) -> bool:
        """Whether there is anything worse than information."""
        return bool(self.problem) or any(message.severity > LintSeverity.INFO for message in self.messages)

    def failed(self, *, strict: bool = False) -> bool:
        """Whether the chart fails; with `strict`, warnings are enough."""
        lowest = LintSeverity.WARNING if strict else LintSeverity.ERROR
        return bool(self.problem) or any(message.severity >= lowest for message in self.messages)

    def lines(self, *, quiet: bool = False) -> Iterator[str]:
        """The report as helm prints it."""
        if self.problem:
            yield f"Error {self.problem}"
        for message in self.messages:
            if not quiet or message.severity > LintSeverity.INFO:
                yield str(message)


@dataclass(frozen=True, slots=True)
class Linting:
    """For which namespace and which Kubernetes ("" for helm's own default) a chart is examined."""

    namespace: str = "default"
    kube_version: str = ""
    check_schema: bool = True


@dataclass(slots=True)
class Examination:
    """One chart under examination."""

    path: Path
    files: dict[str, bytes]
    values: Mapping[str, Any]
    linting: Linting
    messages: list[Message] = field(default_factory=list)

    def say(self, severity: LintSeverity, where: str, text: str) -> None:
        self.messages.append(Message(severity, where, text))

    def load(self) -> Chart:
        return load_files([ChartFile(name, data) for name, data in self.files.items()])
