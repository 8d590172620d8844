"""Base of the tabs of the module screen."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import ClassVar, cast

from msgspec.structs import replace
from textual import on
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.widget import Widget

from kymatui.domain.catalog.module_events import module_objects
from kymatui.domain.catalog.rows import ModuleRow
from kymatui.domain.kubernetes.refs import ObjectRef
from kymatui.domain.snapshot.snapshots import Snapshot
from kymatui.ui.base.framed_screen import FramedScreen
from kymatui.ui.base.screen_app import ScreenPart
from kymatui.ui.connection.cluster_link import FollowedObjects
from kymatui.ui.navigation.history import LOGS, ScreenStep, logs_step, object_step
from kymatui.ui.terminal.plain_widgets import Vertical
from kymatui.ui.widgets.live_table import LiveTable
from kymatui.ui.widgets.row_table import RowTable


class Pane(ScreenPart, Vertical):
    """Tab that is created when it is first opened, and drawn only while visible."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("l", "logs", "Logs of the line, or of the manager", show=False, id="module.logs")
    ]

    TITLE: ClassVar[str] = ""

    TABLE_OPENS: ClassVar[bool] = True
    """Whether enter is the table's own key; False where the tab binds enter itself."""

    LISTS_OBJECTS: ClassVar[bool] = False
    """Whether the lines of the tab are about objects, which enter and y open."""

    class Noted(Message):
        """Message: the note at the right of the tabs changed."""

    def draw(self, row: ModuleRow, snapshot: Snapshot) -> None:
        """Draw the current state of the module."""
        raise AssertionError(f"{type(self).__name__} does not say")

    def target(self) -> Widget:
        """Return the widget that takes the focus."""
        raise AssertionError(f"{type(self).__name__} does not say")

    def ask_again(self) -> None:
        """Read unwatched content again, for tabs that display it."""

    def entry(self) -> ObjectRef | None:
        """Return the object under the cursor; None where the line has none."""
        return None

    def entry_path(self) -> str:
        """Return the path in the object that the line under the cursor is about; "" for the whole object."""
        return ""

    def open_entry(self, tab: str = "") -> None:
        """Open the object under the cursor on a screen of its own, as YAML or described."""
        ref = self.entry()
        if ref is None:
            self.notify("this line has no object", timeout=3)
        else:
            self.kymatui.ways.open(replace(object_step(ref), tab=tab))

    def action_logs(self) -> None:
        """Open the logs of the Pods of the object under the cursor, else those of the module's manager."""
        ref, navigation = self.entry(), self.kymatui.ways
        if ref is not None and (ref.kind.group in ("apps", "batch") or (ref.kind.group, ref.kind.kind) == ("", "Pod")):
            navigation.open(logs_step(ref))
        else:
            navigation.open(ScreenStep(LOGS, cast("FramedScreen", self.screen).step.about))

    def followed_objects(self, row: ModuleRow) -> FollowedObjects:
        """Return the objects to follow; every tab follows events, so that they are loaded on a switch."""
        return FollowedObjects(module_objects(row))

    @property
    def note(self) -> str:
        """Return the note at the right of the tabs."""
        return ""

    def exports(self) -> Mapping[str, Callable[[], str]]:
        """Return the exports besides tables and pictures by file suffix."""
        return {}


class ObjectListPane(Pane):
    """Tab with one table, whose lines are about objects; subclasses keep the object of each line in `_refs`."""

    LISTS_OBJECTS: ClassVar[bool] = True

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._refs: Mapping[str, ObjectRef] = {}

    def target(self) -> LiveTable:
        return self.query_one(LiveTable)

    def entry(self) -> ObjectRef | None:
        return self._refs.get(self.target().cursor_key or "")

    @on(RowTable.Chosen)
    def _line_chosen(self, event: RowTable.Chosen) -> None:
        self.open_line(event.key)

    def open_line(self, key: str) -> None:
        """Do what enter does on a line."""
        self.open_entry()
