"""One module from every side: what is declared, observed and reported; its checks, versions, events and objects."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.content import Content
from textual.widget import Widget
from textual.widgets import ContentSwitcher, Input, Static

from kymatui.domain.comparing import compare
from kymatui.domain.paths import look
from kymatui.domain.refs import ObjectRef
from kymatui.domain.rows import Checked, Row
from kymatui.domain.snapshots import Snapshot
from kymatui.domain.statechecks import Mode
from kymatui.domain.templates import Template, read_template
from kymatui.ui.presenters import checks, events, module, versions
from kymatui.ui.presenters.catalog import Words, why
from kymatui.ui.presenters.documents import as_yaml
from kymatui.ui.presenters.module import Fact
from kymatui.ui.screens.framed import FramedScreen
from kymatui.ui.widgets.document import Document
from kymatui.ui.widgets.row_table import RowTable
from kymatui.ui.widgets.tones import toned
from kymatui.ui.widgets.view_tabs import Tab, ViewTabs

TABS = (
    Tab("1", "overview"),
    Tab("2", "checks"),
    Tab("3", "versions"),
    Tab("4", "events"),
    Tab("5", "yaml"),
)


class ModuleScreen(FramedScreen):
    """Follows one module while it changes; a module that goes away says so and stays readable."""

    BINDINGS: ClassVar[list[BindingType]] = [
        *(
            Binding(tab.key, f"tab({n})", tab.label.capitalize(), show=False, id=f"module.tab-{tab.key}")
            for n, tab in enumerate(TABS)
        ),
        Binding("d", "tab(0)", "Overview", id="module.overview"),
        Binding("x", "tab(1)", "Checks", id="module.checks"),
        Binding("v", "tab(2)", "Versions", id="module.versions"),
        Binding("e", "tab(3)", "Events", id="module.events"),
        Binding("y", "tab(4)", "YAML", id="module.yaml"),
        Binding("m", "mode", "Mode klm/strict", show=False, id="module.mode"),
        Binding("o", "other", "Next object", show=False, id="module.other"),
        Binding("t", "try_path", "Try a path", show=False, id="module.try"),
    ]

    name_in_help: ClassVar[str] = "Module"

    def __init__(self, name: str, tab: int = 0) -> None:
        super().__init__()
        self._module_name = name
        self._tab = tab
        self._mode = Mode.KLM
        self._object = 0
        self._last: Row | None = None
        self._search = ""

    @property
    def trail(self) -> tuple[str, ...]:
        return ("modules", self._module_name)

    def body(self) -> ComposeResult:
        yield ViewTabs(id="views")
        with ContentSwitcher(initial="overview", id="module-tabs"):
            with VerticalScroll(id="overview"):
                with Horizontal(id="panels"):
                    for name in ("declared", "observed", "reported"):
                        yield _panel(name)
                yield Static(id="why")
                for name in ("findings", "resources", "evidence"):
                    yield _panel(name)
            with Vertical(id="checks"):
                yield Static(id="headline")
                yield RowTable(checks.COLUMNS, id="rules")
                yield Input(
                    placeholder="a path to look at, as in status.state", id="path", classes="typing", compact=True
                )
                yield Static(id="found")
            with Vertical(id="versions"):
                yield RowTable(versions.COLUMNS, id="offers")
                with VerticalScroll(id="changes-box"):
                    yield Static(id="changes")
            yield RowTable(events.COLUMNS, id="events")
            yield Document(id="yaml")

    def on_mount(self) -> None:
        super().on_mount()
        self.action_tab(self._tab)

    def on_unmount(self) -> None:
        self.kymatui.follow_events(self, ())

    def main_widget(self) -> Widget:
        targets = ("#overview", "#rules", "#offers", "#events", "#yaml")
        return self.query_one(targets[self._tab])

    # what is shown

    @property
    def module(self) -> Row | None:
        """The row as it is now, or as it was last."""
        catalog = self.kymatui.catalog
        found = catalog.row(self._module_name) if catalog is not None else None
        self._last = found or self._last
        return self._last

    def show_catalog(self) -> None:
        """Draws the tab that is open; the others are drawn when they are opened."""
        row, snapshot = self.module, self.kymatui.snapshot
        if not self.query(ViewTabs) or row is None or snapshot is None:
            return
        self.kymatui.follow_events(self, events.objects_of(row))
        note = f"{self._mode} mode" if self._tab == 1 else ""
        self.query_one(ViewTabs).show(TABS, TABS[self._tab].label, note)
        draw = (self._overview, self._checks, self._versions, self._events, self._yaml)[self._tab]
        draw(row, snapshot)

    def _words(self) -> Words:
        return Words(self.kymatui.clock(), self.kymatui.glyphs)

    def _overview(self, row: Row, snapshot: Snapshot) -> None:
        catalog, words = self.kymatui.catalog, self._words()
        assert catalog is not None
        self._fill("declared", module.declared(row, catalog))
        self._fill("observed", module.observed(row, words))
        self._fill("reported", module.reported(row, words))
        self._fill("findings", module.findings(row))
        self._fill("resources", module.resources(row, words))
        self._fill("evidence", module.evidence(row))
        reason = why(row)
        parts = [toned(reason.text, reason.tone, bold=True)]
        if reason.actor:
            parts.append(Content.styled(f"   {reason.actor}", "bold $text-accent"))
        if catalog.row(self._module_name) is None:
            parts.insert(0, toned("not in the catalog any more: ", "warning", bold=True))
        self.query_one("#why", Static).update(Content.assemble(*parts))

    def _fill(self, name: str, facts: Iterable[Fact]) -> None:
        panel = self.query_one(f"#{name}", Static)
        lines = fact_lines(facts)
        panel.display = bool(lines) or name in ("declared", "observed", "reported")
        panel.update(lines)

    def _checked(self, row: Row) -> Checked | None:
        return row.checked[self._object % len(row.checked)] if row.checked else None

    def _checks(self, row: Row, snapshot: Snapshot) -> None:
        checked = self._checked(row)
        facts = checks.headline(row, checked, self._mode)
        facts += [Fact("lint", line, "warning") for line in checks.lint_lines(row)]
        self.query_one("#headline", Static).update(fact_lines(facts))
        self.query_one("#rules", RowTable).set_rows(checks.rule_lines(row, checked, self._mode))
        self._look(self.query_one("#path", Input).value)

    def _versions(self, row: Row, snapshot: Snapshot) -> None:
        self.query_one("#offers", RowTable).set_rows(versions.offer_lines(row))
        self._compare()

    def _events(self, row: Row, snapshot: Snapshot) -> None:
        self.query_one("#events", RowTable).set_rows(events.event_lines(row, snapshot, self.kymatui.clock()))

    def _yaml(self, row: Row, snapshot: Snapshot) -> None:
        documents = list(self._documents(row, snapshot))
        if documents:
            name, body = documents[self._object % len(documents)]
            note = f"{name}   o: next of {len(documents)}"
            self.query_one(ViewTabs).show(TABS, TABS[self._tab].label, note)
            self.query_one(Document).show(as_yaml(body))

    def _documents(self, row: Row, snapshot: Snapshot) -> Iterator[tuple[str, Mapping[str, Any]]]:
        """The module's resources, its template, its Manifest and its manager: all that the watches hold."""
        for checked in row.checked:
            body = find_object(snapshot, checked.resource)
            if body is not None:
                yield str(checked.resource), body
        for ref in (row.template, row.manifest, row.manager):
            body = find_object(snapshot, ref) if ref is not None else None
            if ref is not None and body is not None:
                yield str(ref), body

    # tabs and what works in them

    def action_tab(self, number: int) -> None:
        self._tab = number
        self.query_one(ContentSwitcher).current = TABS[number].label
        self.show_catalog()
        self.main_widget().focus()

    @on(ViewTabs.Chosen)
    def _tab_chosen(self, event: ViewTabs.Chosen) -> None:
        self.action_tab(event.number)

    def action_mode(self) -> None:
        """Lifecycle-manager's way of evaluating, or the documented one."""
        self._mode = Mode.STRICT if self._mode is Mode.KLM else Mode.KLM
        self.show_catalog()

    def action_other(self) -> None:
        self._object += 1
        self.show_catalog()

    def action_try_path(self) -> None:
        self.action_tab(1)
        self.query_one("#path", Input).focus()

    @on(Input.Changed, "#path")
    def _path_typed(self, event: Input.Changed) -> None:
        self._look(event.value)

    @on(Input.Submitted, "#path")
    def _path_done(self) -> None:
        self.query_one("#rules").focus()

    def _look(self, path: str) -> None:
        row, snapshot = self.module, self.kymatui.snapshot
        checked = self._checked(row) if row is not None else None
        body = find_object(snapshot, checked.resource) if checked is not None and snapshot is not None else None
        facts = []
        if path:
            facts = (
                [checks.try_words(look(path, body))] if body is not None else [Fact("found", "no resource", "muted")]
            )
        self.query_one("#found", Static).update(fact_lines(facts))

    @on(RowTable.Highlighted, "#offers")
    def _compare(self) -> None:
        row, snapshot = self.module, self.kymatui.snapshot
        key = self.query_one("#offers", RowTable).cursor_key
        if row is None or snapshot is None or key is None:
            return
        here = _template(snapshot, _base(row))
        there = _template(snapshot, key)
        facts = versions.change_facts(compare(here, there)) if here is not None and there is not None else []
        self.query_one("#changes", Static).update(fact_lines(facts))

    # search

    @property
    def filter_text(self) -> str:
        return self._search

    def filter_changed(self, text: str) -> str:
        """In documents a filter marks and never hides."""
        self._search = text
        return self.query_one(Document).find(text) if self._tab == 4 else ""

    def why_off(self, action: str) -> str:
        if action == "filter" and self._tab != 4:
            return "only the YAML tab can be searched"
        return ""


def _panel(name: str) -> Static:
    panel = Static(id=name, classes="panel")
    panel.border_title = {"reported": "reported by", "resources": "resources, worst first"}.get(name, name)
    return panel


def fact_lines(facts: Iterable[Fact]) -> Content:
    """`label  text`, aligned."""
    listed = [fact for fact in facts if fact.text]
    width = min(max((len(fact.label) for fact in listed), default=0), 44)
    lines = [
        Content.assemble(Content.styled(f"{fact.label:<{width}}  ", "$foreground-muted"), toned(fact.text, fact.tone))
        for fact in listed
    ]
    return Content("\n").join(lines)


def find_object(snapshot: Snapshot, ref: ObjectRef) -> Mapping[str, Any] | None:
    """An object that the watches hold; None where they do not."""
    everything: Iterable[Mapping[str, Any]] = (
        *(one for found in snapshot.module_resources.values() for one in found),
        *snapshot.templates,
        *snapshot.outside,
        *snapshot.manifests,
        *snapshot.workloads,
    )
    for body in everything:
        metadata = body.get("metadata")
        if not isinstance(metadata, Mapping) or body.get("kind") != ref.kind.kind:
            continue
        if metadata.get("name") == ref.name and (metadata.get("namespace") or "") == ref.namespace:
            return body
    return None


def _base(row: Row) -> str:
    """The template to compare with: the one that is resolved, else the newest."""
    if row.template is not None:
        return f"{row.template.namespace}/{row.template.name}"
    lines = versions.offer_lines(row)
    return lines[0].key if lines else ""


def _template(snapshot: Snapshot, key: str) -> Template | None:
    for body in (*snapshot.templates, *snapshot.outside):
        read = read_template(body)
        if isinstance(read, Template) and f"{read.ref.namespace}/{read.ref.name}" == key:
            return read
    return None
