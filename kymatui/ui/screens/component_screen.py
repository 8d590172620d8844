"""A component version and the content of its layers, read from a registry in a thread."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import ClassVar

from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content

from kymatui.domain.kubernetes.json_reader import JsonReader
from kymatui.domain.kubernetes.terminal_text import sanitize
from kymatui.domain.kyma.module_templates import ModuleTemplate, read_template
from kymatui.domain.snapshot.snapshots import Snapshot
from kymatui.errors import ConfigurationError, DefectError, KymatuiError
from kymatui.ui.base.framed_screen import FramedScreen
from kymatui.ui.connection.component_reader import ReadComponent
from kymatui.ui.connection.remote_reading import read_remote
from kymatui.ui.navigation.history import (
    ScreenStep,
    component_of_content,
    content_step,
    is_component_reference,
    template_name,
)
from kymatui.ui.presenters.module import version_rows
from kymatui.ui.terminal.plain_widgets import Static, with_tone
from kymatui.ui.widgets.document import Document, TextScroll
from kymatui.ui.widgets.fact_list import Facts
from kymatui.ui.widgets.live_table import LiveTable
from kymatui.ui.widgets.row_table import RowTable


class _ReadingScreen(FramedScreen):
    """Base of the screens about one component: reads it once, and again on ctrl-r."""

    def __init__(self, step: ScreenStep) -> None:
        super().__init__()
        self._step = step
        self._component = step.about

    @property
    def step(self) -> ScreenStep:
        return self._step

    def on_mount(self) -> None:
        super().on_mount()
        self.set_focus(self.main_widget())
        self._show_message("loading", "processing")
        self._load()

    def ask_again(self) -> None:
        self.kymatui.view.component_reader(self.kymatui.settings).forget()
        self._show_message("loading", "processing")
        self._load()

    @work(exclusive=True, group="component", exit_on_error=False)
    async def _load(self) -> None:
        """Read in a thread; leaving the screen cancels it."""
        try:
            read = self._reader()
            components = await read_remote(lambda: self.prepare(read()))
        except KymatuiError as error:
            self._fail(error)
        except Exception as error:  # noqa: BLE001 (else the screen would load for ever)
            self._fail(DefectError(error))
        else:
            if self.is_mounted:
                self._show_message("", "")
                self.take(components)

    def _reader(self) -> Callable[[], ReadComponent]:
        """Return what reads the component in a thread. Raise ConfigurationError for a template that is gone."""
        view = self.kymatui.view
        reader = view.component_reader(self.kymatui.settings)
        if is_component_reference(self._component):
            return lambda: reader.of_reference(self._component)
        snapshot = view.snapshot
        template = _find_template(snapshot, *template_name(self._component)) if snapshot is not None else None
        if snapshot is None or template is None:
            raise ConfigurationError(f"ModuleTemplate {self._component} does not exist")
        return lambda: reader.of_template(template, snapshot)

    def prepare(self, component: ReadComponent) -> tuple[ReadComponent, str]:
        """Return what the screen displays; called in a thread."""
        raise AssertionError(f"{type(self).__name__} displays nothing")

    def take(self, components: tuple[ReadComponent, str]) -> None:
        raise AssertionError(f"{type(self).__name__} displays nothing")

    def _fail(self, error: KymatuiError) -> None:
        if self.is_mounted:
            self._show_message(f"{error}{f'; {error.hint}' if error.hint else ''}", "error")

    def _show_message(self, text: str, tone: str) -> None:
        message = self.query_one("#component-state", Static)
        message.update(with_tone(sanitize(text), tone))
        message.display = bool(text)


def _find_template(snapshot: Snapshot, namespace: str, name: str) -> ModuleTemplate | None:
    for raw in (*snapshot.templates, *snapshot.outside):
        metadata = JsonReader(raw).child("metadata")
        if (metadata.text("namespace"), metadata.text("name")) == (namespace, name):
            template = read_template(raw)
            return template if isinstance(template, ModuleTemplate) else None
    return None


class ComponentScreen(_ReadingScreen):
    """Descriptor, resources, signatures and templates of a component, as `kymatui bundle show` prints them."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y", "descriptor", "YAML of the descriptor", id="component.descriptor")
    ]

    name_in_help: ClassVar[str] = "Component"

    def body(self) -> ComposeResult:
        yield Static("", id="component-state", classes="object-state")
        with TextScroll(id="component-box"):
            yield Facts(id="component-facts")
        yield LiveTable(version_rows.COLUMNS, id="component-resources", copied="place")

    def main_widget(self) -> LiveTable:
        return self.query_one(LiveTable)

    def prepare(self, component: ReadComponent) -> tuple[ReadComponent, str]:
        return component, ""

    def take(self, components: tuple[ReadComponent, str]) -> None:
        component, _ = components
        self.query_one(Facts).show(version_rows.facts(component.shown, component.signature))
        self.main_widget().show(version_rows.resource_rows(component.shown))
        self.refresh_bindings()

    def why_off(self, action: str, choice: object = "") -> str:
        if action == "descriptor" and self.is_mounted and not self.query_one(Facts).facts:
            return "nothing was read"
        return super().why_off(action, choice)

    def action_descriptor(self) -> None:
        self.kymatui.ways.open(content_step(self._component, None))

    @on(RowTable.Chosen)
    def _chosen(self, event: RowTable.Chosen) -> None:
        number, _, _ = event.key.partition(" ")
        self.kymatui.ways.open(content_step(self._component, int(number)))


class ContentScreen(_ReadingScreen):
    """Files of a layer, the manifest of an image, or the descriptor."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("c", "copy", "Copy text", id="content.copy")]

    name_in_help: ClassVar[str] = "Content of a component"

    def __init__(self, step: ScreenStep) -> None:
        super().__init__(step)
        self._component, self._number = component_of_content(step)

    def body(self) -> ComposeResult:
        yield Static("", id="component-name", classes="object-name")
        yield Static("", id="component-state", classes="object-state")
        yield Document(id="component-content")

    def main_widget(self) -> Document:
        return self.query_one(Document)

    def prepare(self, component: ReadComponent) -> tuple[ReadComponent, str]:
        return component, component.text(self._number)

    def take(self, components: tuple[ReadComponent, str]) -> None:
        component, text = components
        resources = component.shown.resources
        what = "descriptor" if self._number is None else resources[self._number].name
        where = component.shown.component.location
        self.query_one("#component-name", Static).update(Content(sanitize(f"{where}   {what}")))
        self.main_widget().show(text)

    def exports(self) -> Mapping[str, Callable[[], str]]:
        return {**dict.fromkeys(("yaml", "txt"), lambda: self.main_widget().text), **super().exports()}

    def action_copy(self) -> None:
        self.main_widget().copy()
