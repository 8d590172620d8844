"""`:copy` and `Y`: what a line is about, in the form that the next tool reads."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from shlex import quote

from msgspec import Struct

from kymatui.domain.kubernetes.object_meta import read_ref
from kymatui.domain.kubernetes.refs import ObjectRef
from kymatui.domain.kubernetes.terminal_text import format_count
from kymatui.ui.dialogs.choice_dialog import ChoiceScreen
from kymatui.ui.flows.flow_app import FlowApp
from kymatui.ui.navigation.command_table import ScreenCommand, unknown_name
from kymatui.ui.presenters.catalog.problem_rows import problem_of
from kymatui.ui.presenters.module.yaml_documents import as_yaml
from kymatui.ui.presenters.plans.deletion_stages import deletion_subject
from kymatui.ui.screens.deletion_screen import DeletionScreen
from kymatui.ui.screens.module_action_screen import ModuleActionScreen
from kymatui.ui.screens.module_screen import ModuleScreen
from kymatui.ui.screens.object_screen import ObjectScreen
from kymatui.ui.screens.problems_screen import ProblemsScreen
from kymatui.ui.terminal.file_saving import copy_text
from kymatui.ui.viewmodels.display_text import ChoiceOption, Question
from kymatui.ui.viewmodels.row_list import EMPTY
from kymatui.ui.viewmodels.table_export import export_table
from kymatui.ui.widgets.live_table import LiveTable

FORMS = ("name", "kubectl", "path", "yaml", "line", "table")
_LABELS = {
    "name": "Name",
    "kubectl": "kubectl command",
    "path": "JSON path",
    "yaml": "YAML",
    "line": "Line",
    "table": "Table",
}


def commands(app: FlowApp) -> Iterator[ScreenCommand]:
    yield ScreenCommand(
        f"copy [{'|'.join(FORMS)}]",
        "copy the line: its name, kubectl command, JSON path, YAML, or the table",
        lambda words: _copy(app, words),
        arguments=lambda: FORMS,
    )


class _Line(Struct, frozen=True):
    """The line under the cursor; `texts` are the forms that need no server."""

    texts: Mapping[str, str]
    ref: ObjectRef | None

    @property
    def forms(self) -> tuple[str, ...]:
        return tuple(form for form in FORMS if self.texts.get(form) or (form == "yaml" and self.ref is not None))


def _copy(app: FlowApp, words: Sequence[str]) -> None:
    line = _line(app)
    if not line.forms:
        app.problem("this line has nothing to copy")
    elif not words:
        app.jobs.run_flow(_ask(app, line))
    elif words[0] in line.forms:
        app.jobs.run_flow(_take(app, line, words[0]))
    elif words[0] in FORMS:
        app.problem(f"this line has no {_LABELS[words[0]]}")
    else:
        app.problem(unknown_name("form", words[0], FORMS, f"copy [{'|'.join(FORMS)}]"))


async def _ask(app: FlowApp, line: _Line) -> None:
    notes = {form: line.texts.get(form, "").partition("\n")[0] for form in line.forms}
    notes |= {"yaml": f"of {line.ref}"} if line.ref is not None else {}
    notes |= {"table": "tab-separated, for spreadsheets"}
    options = tuple(ChoiceOption(form, _LABELS[form], notes[form]) for form in line.forms)
    answer = await app.push_screen_wait(ChoiceScreen("Copy", [Question("form", "Form", options, line.forms[0])]))
    if answer is not None:
        await _take(app, line, answer["form"])


async def _take(app: FlowApp, line: _Line, form: str) -> None:
    text = line.texts.get(form, "")
    ref, session = line.ref, app.view.session
    if form == "yaml" and ref is not None and session is not None:
        body = app.view.locations.whole(ref)
        text = as_yaml(body if body is not None else await app.jobs.in_thread(lambda: session.read(ref)))
    copy_text(app, text, format_count(len(text.splitlines()), "line") if "\n" in text else text)


def _line(app: FlowApp) -> _Line:
    screen = app.shown
    table = screen.filter_line.table if screen is not None else None
    subject = _subject(app, table)
    texts = {"name": subject.name, "kubectl": subject.kubectl, "path": subject.path} if subject is not None else {}
    if table is not None and table.current is not None:
        cells = (table.current.cells.get(column.id, EMPTY).text for column in table.grid.columns)
        texts["line"] = "\t".join(cells).strip()
        texts["table"] = export_table(table.grid.columns, table.rows, "tsv")
    return _Line(texts, subject.ref if subject is not None else None)


def _subject(app: FlowApp, table: LiveTable | None) -> LineSubject | None:
    """Return what the line under the cursor is about, None for lines about neither object nor module."""
    screen, context = app.shown, _context(app)
    key = table.cursor_key if table is not None else None
    if isinstance(screen, ObjectScreen):
        return object_subject(screen.ref, context)
    if isinstance(screen, ModuleScreen):
        pane = screen.pane
        ref = pane.entry() if pane is not None else None
        if pane is None or ref is None:
            return _module(app, screen.step.about, context)
        return object_subject(ref, context, pane.entry_path())
    if key is None:
        return None
    if isinstance(screen, DeletionScreen):
        state = screen.reader.state
        ref = deletion_subject(state, key) if state is not None else None
        return object_subject(ref, context) if ref is not None else None
    if isinstance(screen, ProblemsScreen):
        problem = problem_of(app.catalog, key)
        if problem is not None and problem.ref is not None:
            return object_subject(problem.ref, context)
        return _module(app, problem.module, context) if problem is not None and problem.module else None
    return _module(app, key, context) if isinstance(screen, ModuleActionScreen) else None


def _module(app: FlowApp, name: str, context: str) -> LineSubject | None:
    row = app.catalog.row(name) if app.catalog is not None else None
    if row is None:
        return None
    kymas = app.view.kymas
    cr = row.checked[0].resource if row.checked else row.manager
    return module_subject(name, read_ref(kymas[0]) if len(kymas) == 1 else None, cr, context)


def _context(app: FlowApp) -> str:
    """Return the context for kubectl; "" for a runtime, to which no context of the control plane leads."""
    session = app.view.session
    return "" if session is None or session.target.has_control_plane else session.name


# What can be copied of a line: its object's name, a kubectl command, a JSON path.


class LineSubject(Struct, frozen=True):
    """What a line is about; `ref` is the object whose YAML can be copied, None without one."""

    name: str
    kubectl: str = ""
    path: str = ""
    ref: ObjectRef | None = None


def object_subject(ref: ObjectRef, context: str, path: str = "") -> LineSubject:
    """Return the subject of a line about an object, or about the field of it at `path` ("status.state").

    Without a field, the path finds the object in a list. `context` is "" where no context leads to the cluster.
    """
    if path:
        field = "{." + path.removeprefix("$").removeprefix(".") + "}"
        return LineSubject(path, f"{_get(ref, context)} -o jsonpath={quote(field)}", field, ref)
    return LineSubject(
        ref.name, f"{_get(ref, context)} -o yaml", f"{{.items[?(@.metadata.name=={_text(ref.name)})]}}", ref
    )


def module_subject(module: str, kyma: ObjectRef | None, cr: ObjectRef | None, context: str) -> LineSubject:
    """Return the subject of a line about a module: its status in the Kyma, and the YAML of its module CR."""
    path = f"{{.status.modules[?(@.name=={_text(module)})]}}"
    command = f"{_get(kyma, context)} -o jsonpath={quote(path)}" if kyma is not None else ""
    return LineSubject(module, command, path if kyma is not None else "", cr)


def _get(ref: ObjectRef, context: str) -> str:
    words = ["kubectl"]
    words += ["--context", quote(context)] if context else []
    words += ["-n", quote(ref.namespace)] if ref.namespace else []
    kind = f"{ref.kind.kind.lower()}.{ref.kind.group}" if ref.kind.group else ref.kind.kind.lower()
    return " ".join([*words, "get", quote(kind), quote(ref.name)])


def _text(name: str) -> str:
    """Return a name as kubectl's JSONPath reads it, in double quotes."""
    return json.dumps(name, ensure_ascii=False)
