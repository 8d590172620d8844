"""Declared, observed and reported side by side, why it is so, and the newest events."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static

from kymatui.domain.rows import Row
from kymatui.domain.snapshots import Snapshot
from kymatui.ui.panes.pane import Pane
from kymatui.ui.presenters import events, module
from kymatui.ui.presenters.catalog import Why, why
from kymatui.ui.widgets.facts import Facts
from kymatui.ui.widgets.scrolling import Reading
from kymatui.ui.widgets.tones import toned

SIDE_BY_SIDE = {"declared": "declared", "observed": "observed", "reported": "reported by"}
CONDITIONS = {"manifest-says": "conditions of the Manifest", "resource-says": "conditions of the resource"}
BELOW = {
    "tail": "newest events",
    "resources": "resources, worst first",
    "evidence": "evidence for the version",
}


class OverviewPane(Pane):
    """What there is nothing to say of is left out."""

    TITLE: ClassVar[str] = "overview"

    _said: tuple[Why, bool] | None = None

    def compose(self) -> ComposeResult:
        with Reading(id="overview-scroll"):
            yield Static(id="why")
            with Horizontal(id="panels"):
                for name, title in SIDE_BY_SIDE.items():
                    yield Facts(id=name, classes="panel", title=title)
            yield Facts(id="findings", classes="panel", title="findings")
            with Horizontal(id="conditions"):
                for name, title in CONDITIONS.items():
                    yield Facts(id=name, classes="panel", title=title)
            for name, title in BELOW.items():
                yield Facts(id=name, classes="panel", title=title)

    def target(self) -> Widget:
        return self.query_one("#overview-scroll")

    def draw(self, row: Row, snapshot: Snapshot) -> None:
        app = self.kymatui
        now, catalog = app.clock(), app.catalog
        assert catalog is not None
        facts = {
            "declared": module.declared(row, catalog),
            "observed": module.observed(row, now),
            "reported": module.reported(row),
            "manifest-says": module.manifest_conditions(row, snapshot, now),
            "resource-says": module.resource_conditions(row, snapshot, now),
            "findings": module.findings(row),
            "tail": events.tail(row, snapshot, now),
            "resources": module.resources(row),
            "evidence": module.evidence(row),
        }
        for name, found in facts.items():
            panel = self.query_one(f"#{name}", Facts)
            panel.show(found)
            panel.display = bool(panel.facts) or name in SIDE_BY_SIDE
        self._draw_why(row, gone=catalog.row(row.name) is None)

    def _draw_why(self, row: Row, *, gone: bool) -> None:
        reason = why(row)
        if (reason, gone) == self._said:
            return
        self._said = reason, gone
        parts = [toned(reason.text, reason.tone, bold=True)]
        if reason.actor:
            parts.append(Content.styled(f"   {reason.actor}", "bold $text-accent"))
        if gone:
            parts.insert(0, toned("not in the catalog any more: ", "warning", bold=True))
        self.query_one("#why", Static).update(Content.assemble(*parts))
