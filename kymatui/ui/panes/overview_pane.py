"""Overview: declared, observed and reported side by side, the reasons, and the newest events."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import ClassVar

from textual.app import ComposeResult
from textual.content import Content
from textual.widget import Widget

from kymatui.domain.catalog.rows import ModuleRow
from kymatui.domain.snapshot.snapshots import Snapshot
from kymatui.ui.panes.pane import Pane
from kymatui.ui.presenters.catalog.catalog_rows import Explanation, explain_row
from kymatui.ui.presenters.module import event_rows, module_facts
from kymatui.ui.terminal.plain_widgets import Horizontal, Static
from kymatui.ui.viewmodels.facts import Fact
from kymatui.ui.widgets.fact_list import Facts
from kymatui.ui.widgets.scrolling import TextScroll
from kymatui.ui.widgets.tone_styles import with_tone

SIDE_BY_SIDE = {"declared": "declared", "observed": "observed", "reported": "reported by"}
CONDITIONS = {"manifest-says": "conditions of the Manifest", "resource-says": "conditions of the module CR"}
BELOW = {
    "tail": "newest events",
    "resources": "resources, worst first",
    "evidence": "evidence for the version",
}


class OverviewPane(Pane):
    """Tab that leaves out empty sections."""

    TITLE: ClassVar[str] = "overview"

    _said: tuple[Explanation, bool] | None = None

    def compose(self) -> ComposeResult:
        with TextScroll(id="overview-scroll"):
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

    def draw(self, row: ModuleRow, snapshot: Snapshot) -> None:
        app = self.kymatui
        now, catalog = app.clock(), app.catalog
        assert catalog is not None
        links = module_facts.links_of(row, app.view.locations)
        facts: dict[str, Callable[[float], Iterable[Fact]]] = {
            "declared": lambda _: [*module_facts.declared(row, catalog), *module_facts.link_facts(links)],
            "observed": lambda at: module_facts.observed(row, at),
            "reported": lambda _: module_facts.reported(row),
            "manifest-says": lambda at: module_facts.manifest_conditions(row, snapshot, at),
            "resource-says": lambda at: module_facts.resource_conditions(row, snapshot, at),
            "findings": lambda _: module_facts.findings(row),
            "tail": lambda at: event_rows.newest_events(row, snapshot, at),
            "resources": lambda _: module_facts.resources(row),
            "evidence": lambda _: module_facts.evidence(row),
        }
        for name, found in facts.items():
            panel = self.query_one(f"#{name}", Facts)
            panel.show_at(now, found)
            panel.display = bool(panel.facts) or name in SIDE_BY_SIDE
        self._draw_why(row, gone=catalog.row(row.name) is None)

    def _draw_why(self, row: ModuleRow, *, gone: bool) -> None:
        reason = explain_row(row)
        if (reason, gone) == self._said:
            return
        self._said = reason, gone
        parts = [with_tone(reason.text, reason.tone, bold=True)]
        if reason.actor:
            parts.append(Content.styled(f"   {reason.actor}", "bold $text-accent"))
        if gone:
            parts.insert(0, with_tone("no longer in the catalog: ", "warning", bold=True))
        self.query_one("#why", Static).update(Content.assemble(*parts))
