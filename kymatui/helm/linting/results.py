"""Messages and inputs of helm lint."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import IntEnum
from pathlib import Path
from typing import Any

from msgspec import Struct, field

from kymatui.errors import HelmError
from kymatui.helm.charts.archives import MAX_FILE, ChartFile
from kymatui.helm.charts.chart import Chart, load_files


class LintSeverity(IntEnum):
    """The severity, ranked as in helm."""

    INFO = 1
    WARNING = 2
    ERROR = 3


class Message(Struct, frozen=True):
    """One message; `where` is a file of the chart, or "" for the whole chart."""

    severity: LintSeverity
    where: str
    text: str

    def __str__(self) -> str:
        return f"[{self.severity.name}] {self.where}: {self.text}"


class LintResult(Struct, frozen=True):
    """All messages; `problem` is the reason why the path is no chart."""

    messages: tuple[Message, ...] = ()
    problem: str = ""

    @property
    def is_noticed(self) -> bool:
        """Return whether there is a message above information."""
        return bool(self.problem) or any(message.severity > LintSeverity.INFO for message in self.messages)

    def failed(self, *, strict: bool = False) -> bool:
        """Return whether the chart fails; with `strict`, warnings fail too."""
        lowest = LintSeverity.WARNING if strict else LintSeverity.ERROR
        return bool(self.problem) or any(message.severity >= lowest for message in self.messages)

    def lines(self, *, quiet: bool = False) -> Iterator[str]:
        """Yield the report as helm prints it."""
        if self.problem:
            yield f"Error {self.problem}"
        for message in self.messages:
            if not quiet or message.severity > LintSeverity.INFO:
                yield str(message)


class Linting(Struct, frozen=True):
    """Namespace and Kubernetes version ("" for helm's default) for the lint."""

    namespace: str = "default"
    kube_version: str = ""
    check_schema: bool = True


class Examination(Struct):
    """The lint of one chart in progress."""

    path: Path
    files: dict[str, bytes]
    values: Mapping[str, Any]
    linting: Linting
    messages: list[Message] = field(default_factory=list)

    def add(self, severity: LintSeverity, where: str, text: str) -> None:
        self.messages.append(Message(severity, where, text))

    def raw(self, name: str) -> bytes | None:
        """Return a file of the chart, also one that .helmignore leaves out; None without it. Raise HelmError."""
        if name in self.files or not self.path.is_dir():
            return self.files.get(name)
        file = self.path / name
        if file.is_symlink() or not file.is_file():
            return None
        if file.stat().st_size > MAX_FILE:
            raise HelmError(f"chart file {name} is larger than the maximum file size {MAX_FILE}")
        return file.read_bytes()

    def load(self) -> Chart:
        return load_files([ChartFile(name, data) for name, data in self.files.items()])
