"""Editor of a document: a form built from its schema, and YAML for all other fields.

document = await app.push_screen_wait(FormScreen("resource of keda", fields, document))     # None: cancelled
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.timer import Timer

from kymatui.domain.kubernetes.schema_forms import FormField, format_value, parse_value, value_at, with_value
from kymatui.domain.kubernetes.terminal_text import sanitize
from kymatui.engine.cluster.yaml_output import dump_yaml, parse_yaml
from kymatui.errors import InvalidError, KymatuiError
from kymatui.ui.base.first_paint import FirstPaintModal
from kymatui.ui.connection.remote_reading import LatestReading
from kymatui.ui.terminal.plain_widgets import (
    FieldLabel,
    Horizontal,
    Input,
    Static,
    TextArea,
    Vertical,
    VerticalScroll,
    with_tone,
)

Json = dict[str, Any]
_PAUSE = 0.3
"""Seconds without a key after which the YAML is checked."""


class FormScreen(FirstPaintModal[Json | None]):
    """Form that returns the edited document; it reports errors while you type and blocks until fixed."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+g", "take", "Continue", id="form.take"),
        Binding("ctrl+y", "turn", "Switch between form and YAML", id="form.turn", priority=True),
        Binding("tab", "app.focus_next", "Next field", id="form.next"),
        Binding("shift+tab", "app.focus_previous", "Previous field", id="form.before"),
        Binding("escape", "dismiss(None)", "Back", id="form.cancel", priority=True),
    ]

    def __init__(self, title: str, fields: Sequence[FormField], document: Mapping[str, Any]) -> None:
        super().__init__()
        self._title = title
        self._fields = {field.label: field for field in fields}
        self._document: Json = dict(document)
        self._shows_form = bool(fields)
        self._checking: LatestReading[str] = LatestReading(self, self._take_problem)
        self._check: Timer | None = None

    def compose(self) -> ComposeResult:
        with Vertical(id="form") as box:
            box.border_title = sanitize(self._title)
            with VerticalScroll(id="form-fields", can_focus=False):
                for field in self._fields.values():
                    with Horizontal(classes="form-row"):
                        yield FieldLabel(sanitize(field.label), classes="form-label")
                        yield Input(
                            format_value(value_at(self._document, field.path)),
                            placeholder=field.hint,
                            name=field.label,
                            classes="typing form-value",
                            compact=True,
                        )
            yield TextArea(self._yaml(), id="form-yaml", show_line_numbers=True, compact=True)
            yield Static("", id="form-about")

    def on_mount(self) -> None:
        self._show()

    def _keys(self) -> str:
        """Return the keys in the order of their use; all of them fit in 60 columns."""
        other = ("tab next · ctrl-y YAML · " if self._shows_form else "ctrl-y form · ") if self._fields else ""
        return f"{other}ctrl-g continue · esc back"

    def _yaml(self) -> str:
        return dump_yaml(self._document)

    def _show(self) -> None:
        self.query_one("#form-fields").display = self._shows_form
        self.query_one("#form-yaml").display = not self._shows_form
        self.query_one("#form").border_subtitle = self._keys()
        target = self.query(Input).first() if self._shows_form else self.query_one(TextArea)
        self.set_focus(target)
        self._show_about()

    # validation

    def _show_about(self) -> None:
        """Display the error, else the description of the field under the cursor."""
        self._show_said(self._wrong())

    def _show_said(self, message: str) -> None:
        about = "" if message else self._about() if self._fields else "the schema has no fields; edit the YAML"
        self.query_one("#form-about", Static).update(
            with_tone(sanitize(message or about), "error" if message else "muted")
        )

    def _about(self) -> str:
        field = self._fields.get(str(self.focused.name)) if isinstance(self.focused, Input) else None
        return f"{field.hint}. {field.about}" if field is not None else ""

    def _wrong(self) -> str:
        try:
            self._filled()
        except ValueError as error:
            return str(error)
        return ""

    def _filled(self) -> Json:
        """Return the document as edited.

        Raises ValueError with the problem.
        """
        return self._from_form() if self._shows_form else _parsed(self.query_one(TextArea).text, self._document)

    def _from_form(self) -> Json:
        document = self._document
        for line in self.query(Input):
            field = self._fields[str(line.name)]
            if line.value != format_value(value_at(self._document, field.path)):
                document = with_value(document, field.path, parse_value(field, line.value))
        return document

    @on(Input.Changed)
    def _changed(self) -> None:
        self._show_about()

    @on(TextArea.Changed)
    def _typed(self) -> None:
        """Check the text once no key came for a moment, in a thread: a chart's values take a second."""
        if self._check is not None:
            self._check.stop()
        self._check = self.set_timer(_PAUSE, self._check_yaml)

    def _check_yaml(self) -> None:
        if self._shows_form:
            return
        text, document = self.query_one(TextArea).text, self._document
        self._checking.ask(lambda: _problem(text, document))

    def _take_problem(self, problem: str | KymatuiError) -> None:
        if not self._shows_form:
            self._show_said(str(problem))

    def on_descendant_focus(self) -> None:
        if self._shows_form:
            self._show_about()

    # user input

    def action_turn(self) -> None:
        """Switch between form and YAML; an invalid document blocks the switch."""
        if self._shows_form and self._wrong():
            self._show_about()
            return
        try:
            self._document = self._filled()
        except ValueError:
            self._show_about()
            return
        self._shows_form = not self._shows_form and bool(self._fields)
        for line in self.query(Input):
            line.value = format_value(value_at(self._document, self._fields[str(line.name)].path))
        self.query_one(TextArea).load_text(self._yaml())
        self._show()

    def action_take(self) -> None:
        try:
            self.dismiss(self._filled())
        except ValueError:
            self._show_about()


def _parsed(text: str, document: Mapping[str, Any]) -> Json:
    """Return the edited document, its values as a cluster reads them: `12:30` and dates are texts.

    Raises ValueError with the problem.
    """
    try:
        changed = parse_yaml(text)
    except InvalidError as error:
        raise ValueError(str(error)) from None
    if changed is not None and not isinstance(changed, dict):
        raise ValueError("not a YAML mapping (name: value)")
    for name in ("apiVersion", "kind"):
        if name in document and (changed or {}).get(name) != document[name]:
            raise ValueError(f"{name} must stay {document[name]}")
    return changed or {}


def _problem(text: str, document: Mapping[str, Any]) -> str:
    try:
        _parsed(text, document)
    except ValueError as error:
        return str(error)
    return ""
