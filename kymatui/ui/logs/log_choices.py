"""What a person chooses of logs: whose, since when, and which instance; and the questions about it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from kymatui.domain.kubernetes.terminal_text import format_count
from kymatui.domain.logs.log_query import LogOptions
from kymatui.domain.logs.log_sources import LogSource, PodContainer, choose_sources
from kymatui.ui.viewmodels.questions import ChoiceOption, Question

EVERY: Final = "*"
MANAGER, MODULE = "manager", "module"
TAIL: Final = 1000  # lines of each container that are read at first

_SINCE: Final[Mapping[str, tuple[str, int | None, int | None]]] = {
    "tail": (f"last {TAIL:,} lines", TAIL, None),
    "1m": ("last minute", None, 60),
    "5m": ("last 5 minutes", None, 300),
    "15m": ("last 15 minutes", None, 900),
    "1h": ("last hour", None, 3600),
    "6h": ("last 6 hours", None, 21600),
    "all": ("everything", None, None),
}
SINCE: Final = tuple(_SINCE)


class LogChoice(Struct, frozen=True):
    """`pods` is MANAGER or MODULE; `container` a name, EVERY, or "" for the default container of each Pod."""

    pods: str = MANAGER
    container: str = ""
    since: str = "tail"
    previous: bool = False

    @property
    def options(self) -> LogOptions:
        _, tail, since = _SINCE[self.since]
        return LogOptions(follow=not self.previous, previous=self.previous, tail=tail, since=since)

    def sources(self, containers: Sequence[PodContainer]) -> list[LogSource]:
        return choose_sources(containers, self.container, whole=self.container == EVERY)

    def answered(self, answers: Mapping[str, str]) -> LogChoice:
        """Return the choice with the answers of a dialog."""
        pods, container = answers.get("pods", self.pods), answers.get("container", self.container)
        return replace(self, pods=pods, container=container, since=answers.get("since", self.since))


def source_questions(choice: LogChoice, containers: Sequence[PodContainer], *, of_module: bool) -> list[Question]:
    """Return the questions whose logs are read; Pods can be chosen only of a module."""
    pods = (
        ChoiceOption(MANAGER, "Manager", "Pods of the module's manager"),
        ChoiceOption(MODULE, "All Pods", "every Pod in the tree of the module"),
    )
    names: dict[str, list[PodContainer]] = {}
    for one in containers:
        names.setdefault(one.source.container, []).append(one)
    options = [
        ChoiceOption("", "Default", "the default container of each Pod"),
        ChoiceOption(EVERY, "All containers", format_count(len(containers), "container")),
        *(ChoiceOption(name, name, _note(found)) for name, found in sorted(names.items())),
    ]
    return [
        *([Question("pods", "Pods", pods, choice.pods)] if of_module else []),
        Question("container", "Container", tuple(options), choice.container),
    ]


def _note(found: Sequence[PodContainer]) -> str:
    """Return what the Pods report of the containers of one name."""
    restarts = sum(one.restarts for one in found)
    states = ", ".join(dict.fromkeys(one.state for one in found if one.state))
    parts = [f"{found[0].role} of {format_count(len(found), 'Pod')}", states]
    return " · ".join(part for part in (*parts, format_count(restarts, "restart") if restarts else "") if part)


def since_question(choice: LogChoice) -> Question:
    return Question("since", "Since", tuple(ChoiceOption(key, _SINCE[key][0]) for key in SINCE), choice.since)
