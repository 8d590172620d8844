"""What every tab of the module's screen is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, ClassVar, cast

from textual.containers import Vertical
from textual.message import Message
from textual.widget import Widget

from kymatui.domain.catalog.module_events import module_objects
from kymatui.domain.catalog.rows import ModuleRow
from kymatui.domain.kubernetes.refs import ObjectRef
from kymatui.domain.snapshot.snapshots import Snapshot
from kymatui.ui.connection.cluster_link import FollowedObjects
from kymatui.ui.navigation.history import object_step

if TYPE_CHECKING:
    from kymatui.ui.base.screen_app import ScreenApp


class Pane(Vertical):
    """Made when its tab is opened for the first time, and drawn only while it is seen."""

    TITLE: ClassVar[str] = ""

    TABLE_OPENS: ClassVar[bool] = True
    """Whether enter is the table's own key; False where the tab binds enter itself."""

    LISTS_OBJECTS: ClassVar[bool] = False
    """Whether the lines of the tab are about objects, which enter and y open."""

    class Noted(Message):
        """The note at the right of the tabs is another one."""

    def draw(self, row: ModuleRow, snapshot: Snapshot) -> None:
        """Shows the module as it is now."""
        raise AssertionError(f"{type(self).__name__} does not say")

    def target(self) -> Widget:
        """What takes the keyboard."""
        raise AssertionError(f"{type(self).__name__} does not say")

    def ask_again(self) -> None:
        """Read again what is not watched; for tabs that show such things."""

    def entry(self) -> ObjectRef | None:
        """Return the object under the cursor; None where the line is about none."""
        return None

    def open_entry(self) -> None:
        """Open the object under the cursor on a screen of its own, above this one."""
        ref = self.entry()
        if ref is None:
            self.notify("this line is about no object", timeout=3)
        else:
            self.kymatui.ways.open(object_step(ref))

    def looks(self, row: ModuleRow) -> FollowedObjects:
        """What has to be followed for it; the events on every tab, so that they are there when one turns to them."""
        return FollowedObjects(module_objects(row))

    @property
    def note(self) -> str:
        """What stands at the right of the tabs."""
        return ""

    def exports(self) -> Mapping[str, Callable[[], str]]:
        """What can be saved besides tables and pictures, by the ending of the file's name."""
        return {}

    @property
    def kymatui(self) -> ScreenApp:
        return cast("ScreenApp", self.app)
