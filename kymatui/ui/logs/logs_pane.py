"""Logs of a module's manager, or of the Pods of one object, as they are written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar, Final

from msgspec import Struct
from msgspec.structs import replace
from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content

from kymatui.actions.session import Session
from kymatui.domain.kubernetes.refs import ObjectRef
from kymatui.domain.kubernetes.terminal_text import format_count, sanitize
from kymatui.domain.logs.log_lines import format_line
from kymatui.domain.logs.log_query import LogOptions
from kymatui.domain.logs.log_sources import LogSource, ModuleLogs, PodContainer, choose_sources, find_logs, log_roots
from kymatui.errors import KymatuiError
from kymatui.ui.base.screen_app import ScreenPart
from kymatui.ui.connection.cluster_link import FollowedObjects
from kymatui.ui.dialogs.choice_dialog import ChoiceScreen
from kymatui.ui.logs.log_labels import LogCounts, missing_words, reading_words, source_labels, state_words
from kymatui.ui.logs.log_link import LogLink
from kymatui.ui.logs.log_text import LogText
from kymatui.ui.terminal.file_saving import copy_text
from kymatui.ui.terminal.plain_widgets import Static, Vertical
from kymatui.ui.viewmodels.display_text import ChoiceOption, Question


class LogsPane(ScreenPart, Vertical):
    """Reads in threads of its own, which end with it. Without `ref` it is about the module."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("o", "containers", "Containers", id="logs.containers"),
        Binding("f", "follow", "Follow", id="logs.follow"),
        Binding("p", "previous", "Previous", id="logs.previous"),
        Binding("s", "since", "Since", id="logs.since"),
        Binding("w", "wrap", "Wrap", id="logs.wrap"),
        Binding("t", "times", "Timestamps", id="logs.times"),
        Binding("c", "copy", "Copy the lines on the screen", show=False, id="logs.copy"),
    ]

    def __init__(self, module: str, ref: ObjectRef | None) -> None:
        super().__init__()
        self._module = module
        self._ref = ref
        self._link = LogLink(self.show_lines)
        self._choice = LogChoice()
        self._found = ModuleLogs()
        self._sources: list[LogSource] = []
        self._has_roots = False
        self._error = ""
        self._left_out = 0
        self._session: Session | None = None

    def compose(self) -> ComposeResult:
        yield Static("", id="logs-title")
        yield LogText(self._link, id="log")
        yield Static("", id="logs-state")

    def on_mount(self) -> None:
        self._link.open()

    def on_unmount(self) -> None:
        self.kymatui.view.follow(self, FollowedObjects())
        self._link.close()

    @property
    def text(self) -> LogText:
        return self.query_one(LogText)

    # what is read

    def draw(self) -> None:
        """Find the containers of the Pods as they are now, and read those of new Pods, too."""
        snapshot = self.kymatui.view.snapshot
        if snapshot is None or not self.query(LogText):
            return
        roots = self._roots()
        self.kymatui.view.follow(self, FollowedObjects((), roots))
        self._has_roots = bool(roots)
        self._found = find_logs(roots, snapshot, self.kymatui.view.locations)
        self._sources = self._choice.sources(self._found.containers)
        if self._sources and not (self._link.is_reading and self._session in (None, self.kymatui.view.session)):
            self._start()  # also with another session after ctrl-r or :ns, since the former one is closed
        self._left_out = self._link.follow(self._sources)
        self.text.label(source_labels(self._sources))
        self.show_lines()

    def _roots(self) -> tuple[ObjectRef, ...]:
        app = self.kymatui
        if self._ref is not None:
            return (self._ref,)
        row = app.catalog.row(self._module) if app.catalog is not None else None
        return log_roots(row, app.view.locations, all_objects=self._choice.pods == MODULE) if row is not None else ()

    def _start(self) -> None:
        session = self.kymatui.view.session
        try:
            if session is not None:
                self._session = session
                self._link.start(session.cluster, self._choice.options)
                self._error = ""
        except KymatuiError as error:  # the runtime is not connected
            self._error = str(error)

    def _choose(self, choice: LogChoice) -> None:
        """Read with other options, from the start."""
        if choice != self._choice:
            self._choice = choice
            self._link.stop()
            self.text.action_scroll_end()
            self.draw()

    # display

    @on(LogText.Moved)
    def show_lines(self) -> None:
        """Display the lines that arrived."""
        if not self.query(LogText):
            return
        text, link = self.text, self._link
        text.refresh()
        with link.lock:
            counts = LogCounts(len(link.ring.shown), len(link.ring.lines), link.ring.dropped, self._left_out)
            states = dict(link.states)
        missing = self._error
        if not missing and not self._sources:
            missing = missing_words(self._found, self._module, self._ref, has_roots=self._has_roots)
        title = sanitize(missing) if missing else reading_words(self._sources, self._choice.options)
        self.query_one("#logs-title", Static).update(Content(title))
        words = state_words(counts, text.marks, states, self._sources)
        self.query_one("#logs-state", Static).update(Content(words))

    def whole_text(self) -> str:
        """Return every line that the filter accepts, as it is displayed."""
        with self._link.lock:
            lines = list(self._link.ring.shown)
        prefix, times = len(self._sources) > 1, self.text.window.has_times
        return "".join(f"{format_line(line, prefix=prefix, timestamps=times)}\n" for line in lines)

    # keys

    def action_follow(self) -> None:
        window = self.text.window
        with self._link.lock:
            if window.is_following:
                window.stop_following()
            else:
                window.last()
        self.show_lines()

    def action_wrap(self) -> None:
        self.text.window.is_wrapped = not self.text.window.is_wrapped
        self.show_lines()

    def action_times(self) -> None:
        self.text.window.has_times = not self.text.window.has_times
        self.show_lines()

    def action_previous(self) -> None:
        """Switch between the present instance of each container and the one before its last restart."""
        self._choose(replace(self._choice, previous=not self._choice.previous))

    def action_containers(self) -> None:
        self._ask("Containers", source_questions(self._choice, self._found.containers, of_module=self._ref is None))

    def action_since(self) -> None:
        self._ask("Since when", [since_question(self._choice)])

    @work
    async def _ask(self, title: str, questions: list[Question]) -> None:
        answer = await self.app.push_screen_wait(ChoiceScreen(title, questions))
        if answer is not None:
            self._choose(self._choice.answered(answer))

    def action_copy(self) -> None:
        copy_text(self.app, self.text.visible_text(), "the lines on the screen")


# What a person chooses of logs: whose, since when, and which instance; and the questions about it.


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
        return choose_sources(containers, self.container, all_containers=self.container == EVERY)

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
    for container in containers:
        names.setdefault(container.source.container, []).append(container)
    options = [
        ChoiceOption("", "Default", "the default container of each Pod"),
        ChoiceOption(EVERY, "All containers", format_count(len(containers), "container")),
        *(ChoiceOption(name, name, _note(members)) for name, members in sorted(names.items())),
    ]
    return [
        *([Question("pods", "Pods", pods, choice.pods)] if of_module else []),
        Question("container", "Container", tuple(options), choice.container),
    ]


def _note(containers: Sequence[PodContainer]) -> str:
    """Return what the Pods report of the containers of one name."""
    restarts = sum(container.restarts for container in containers)
    states = ", ".join(dict.fromkeys(container.state for container in containers if container.state))
    parts = [f"{containers[0].role} of {format_count(len(containers), 'Pod')}", states]
    return " · ".join(part for part in (*parts, format_count(restarts, "restart") if restarts else "") if part)


def since_question(choice: LogChoice) -> Question:
    return Question("since", "Since", tuple(ChoiceOption(key, _SINCE[key][0]) for key in SINCE), choice.since)
