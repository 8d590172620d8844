"""Sets of templates: parsed once, rendered many times."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from kymatui.errors import HelmError, nearest_names
from kymatui.helm.govalues.budget import CALL, LimitError, RenderBudget
from kymatui.helm.govalues.printing import format_printable
from kymatui.helm.govalues.quoting import quote
from kymatui.helm.govalues.text import MAX_TEXT, check_size, normalize, runes
from kymatui.helm.govalues.types import ANY, INVALID, Function, FunctionError
from kymatui.helm.language.builtins import BUILTINS
from kymatui.helm.language.environment import Environment
from kymatui.helm.language.faults import (
    WARN_END,
    WARN_START,
    EvalError,
    ExecError,
    MissingValue,
    NoTemplateError,
    ParseError,
    TplError,
    advice,
    describe,
    describe_parse_error,
)
from kymatui.helm.language.runtime import NAMES, printed
from kymatui.helm.language.units import Entry, Runner, Template, Unit

ROOT_NAME: Final = "gotpl"
"""The name that Helm gives the set, and the text of every `tpl`."""

RECURSION_LIMIT: Final = 1000
"""How often one name may be included within itself (Helm's recursionMaxNums)."""

# After a number of nested templates, the next one runs in a new thread with a fresh stack: Python's recursion limit
# is per thread, and the caller's limit stays unchanged.
THREAD_DEPTH: Final = 25

MOST_TEXTS: Final = 4096
"""How many texts given to `tpl` a set remembers."""

KEPT_TEXTS: Final = 256
"""How many of them a cache keeps: those of most charts are the same in every rendering."""


class RenderState(RenderBudget):
    """The resources used by one rendering, shared by all of its scopes."""

    __slots__ = ("depth", "environment", "included", "most_output", "output", "steps")

    def __init__(self, environment: Environment) -> None:
        super().__init__(environment.limits, environment.monotonic)
        self.environment = environment
        self.depth = 0
        self.steps = 0
        self.output = 0
        self.most_output = environment.limits.output
        self.included: dict[str, int] = {}


class Scope:
    """The templates defined at a point of a rendering (`tpl` adds its own), and the rendering's state."""

    __slots__ = ("environment", "set", "state", "steps", "templates", "took")

    def __init__(self, owner: TemplateSet, templates: dict[str, Template], state: RenderState) -> None:
        self.set = owner
        self.templates = templates
        self.state = state
        self.environment = state.environment
        self.took = state.took
        self.steps = state.environment.limits.steps

    def spend(self, steps: int) -> None:
        """Count steps. Raise LimitError beyond the limits of steps, time or memory."""
        state = self.state
        state.steps += steps
        if state.steps > self.environment.limits.steps:
            raise LimitError(
                f"templates took more than {self.environment.limits.steps} steps",
                hint="Look for a loop that never ends.",
            )
        state.check_below += CALL
        if steps > CALL or state.memory < state.check_below:
            state.check()

    def write(self, size: int) -> None:
        """Count output. Raise LimitError beyond the limit."""
        self.state.output += size
        if self.state.output > self.environment.limits.output:
            raise LimitError(f"templates wrote more than {self.environment.limits.output} characters")

    def print(self, w: Callable[[str], object], value: Any) -> None:
        """Write an action's addressable value."""
        self.print_copy(w, value if value.__class__ is str else printed(value))

    def print_copy(self, w: Callable[[str], object], value: Any) -> None:
        """Write an action's value that a function returned."""
        text = value if value.__class__ is str else "<no value>" if value is None else format_printable(value)
        state = self.state
        state.output += len(text)
        if state.output > state.most_output:
            self.write(0)
        w(text)

    def call(self, template: Template, w: Callable[[str], object], dot: Any) -> None:
        """Run a template with its argument."""
        state = self.state
        state.depth += 1
        state.steps += 1
        state.check_below += CALL
        if state.memory < state.check_below or state.steps > self.steps:
            self.spend(0)
        if state.depth > self.environment.limits.depth:
            raise EvalError(f"exceeded maximum template depth ({self.environment.limits.depth})")
        if dot is None:
            dot = INVALID
        if state.depth % THREAD_DEPTH:
            template.run(self, w, dot)
        else:
            _in_thread(template.run, self, w, dot)
        state.depth -= 1

    def capture(self, template: Template, dot: Any) -> str:
        pieces: list[str] = []
        self.call(template, pieces.append, dot)
        size = sum(map(len, pieces))
        self.state.memory -= size
        if size > MAX_TEXT:
            self.state.check()
            if size > self.environment.limits.output:
                self.write(size)
        text = "".join(pieces)
        return text if text.isascii() else normalize(text)

    def find(self, name: str) -> Template:
        """Return the template of a {{template}} action. Raise EvalError."""
        template = self.templates.get(name)
        if template is None:
            raise EvalError(f"template {quote(name)} not defined")
        return template


def _in_thread(run: Runner, scope: Scope, w: Callable[[str], object], dot: Any) -> None:
    failures: list[BaseException] = []

    def target() -> None:
        try:
            with scope.state:
                run(scope, w, dot)
        except BaseException as error:  # noqa: BLE001 - raised again where the thread is waited for
            failures.append(error)

    thread = threading.Thread(target=target, name="template", daemon=True)
    thread.start()
    thread.join()
    if failures:
        raise failures[0]


def include(scope: Scope, name: str, data: Any) -> str:
    """Return Helm's include: the output of a template, with Helm's recursion limit."""
    included = scope.state.included
    count = included.get(name, 0)
    if count > RECURSION_LIMIT:
        raise FunctionError(f"rendering template has a nested reference name: {name}: unable to execute template")
    template = scope.templates.get(name)
    if template is None:
        near = nearest_names(name, scope.templates, 1)
        hint = f"Did you mean {quote(near[0])}?" if near else "Define it in a file of templates/, such as _helpers.tpl."
        raise NoTemplateError(f"template: no template {quote(name)} associated with template {quote(ROOT_NAME)}", hint)
    included[name] = count + 1
    text = scope.capture(template, data)
    if len(text) > MAX_TEXT:
        check_size(len(text))
    included[name] = count
    return text


def tpl(scope: Scope, text: str, values: Any) -> str:
    """Return Helm's tpl: a text rendered as template, which sees all templates and can define more."""
    if "{{" not in text:
        return text.replace("<no value>", "")
    try:
        unit = scope.set.text_unit(text)
    except ParseError as error:
        raise FunctionError(f"cannot parse template {quote(text)}: {error}") from None
    templates = dict(scope.templates)
    within = Scope(scope.set, templates, scope.state)
    own = install(templates, unit)
    try:
        written = within.capture(own, values)
    except FunctionError as error:
        raise TplError(f"error during tpl function execution for {quote(text)}: ", error) from None
    check_size(len(written))
    return written.replace("<no value>", "")


def required(environment: Environment, warning: str, value: Any) -> Any:
    """Return Helm's required."""
    if value is None or value == "":
        if environment.lint:
            return ""
        raise MissingValue(f"{WARN_START}{warning}{WARN_END}")
    return value


def fail(environment: Environment, message: str) -> str:
    """Run Helm's fail."""
    if environment.lint:
        return ""
    raise FunctionError(f"{WARN_START}{message}{WARN_END}")


def lookup(environment: Environment, version: str, kind: str, namespace: str, name: str) -> dict[str, Any]:
    """Return Helm's lookup: the result of the Environment's function, {} without one."""
    if environment.lookup is None or environment.lint:
        return {}
    return environment.lookup(version, kind, namespace, name)


ENGINE: Final[Mapping[str, Function]] = {
    function.name: function
    for function in (
        Function("include", ("string", ANY), False, include),
        Function("tpl", ("string", ANY), False, tpl),
        Function("required", ("string", ANY), False, required, True),
        Function("fail", ("string",), False, fail, True),
        Function("lookup", ("string",) * 4, False, lookup, True),
    )
}


def install(templates: dict[str, Template], unit: Unit) -> Template:
    """Add the definitions of a unit and return its own template.

    An empty definition does not replace another.
    """
    for template in unit.templates:
        if template.name not in templates or not template.empty:
            templates[template.name] = template
    return next(template for template in unit.templates if template.name == unit.name)


class Layers(Mapping[str, Function]):
    """Functions of several tables by precedence; it accesses a table only when necessary."""

    def __init__(self, tables: tuple[Mapping[str, Function], ...]) -> None:
        self.tables = tables
        self.known = frozenset(name for table in tables for name in table)

    def __getitem__(self, name: str) -> Function:
        for table in self.tables:
            if name in table:
                return table[name]
        raise KeyError(name)

    def __contains__(self, name: object) -> bool:
        return name in self.known

    def __iter__(self) -> Iterator[str]:
        return iter(self.known)

    def __len__(self) -> int:
        return len(self.known)


class TemplateSet:
    """All templates of a chart and its dependencies, parsed into one set as in Helm.

    `order` lists all files in Helm's order of execution; `key` is the cache key. A set is immutable, so threads may
    render from it in parallel.
    """

    def __init__(self, functions: Mapping[str, Function]) -> None:
        self.functions = Layers((ENGINE, functions, BUILTINS))
        self.names: dict[str, Any] = {**NAMES, "FIND": Scope.find}
        self.key = ""
        self.order: list[str] = []
        self.templates: dict[str, Template] = {}
        self.units: list[Unit] = []
        self._texts: dict[str, Unit] = {}
        self._known: dict[str, list[Entry]] = {}

    @classmethod
    def parse(
        cls,
        files: Mapping[str, str],
        functions: Mapping[str, Function],
        entries: Mapping[str, list[Entry]] | None = None,
        texts: Mapping[str, list[Entry]] | None = None,
    ) -> TemplateSet:
        """Parse {path: text}. Raise HelmError with Helm's message.

        `entries` of the same files replace the parsing; `texts` are those of earlier texts for `tpl`.
        """
        templates = cls(functions)
        templates._known = dict(texts or {})
        templates.order = sort_templates(files)
        for file in templates.order:
            try:
                unit = Unit(file, files[file], templates.functions, templates.names, entries[file] if entries else None)
            except ParseError as error:
                raise HelmError(describe_parse_error(file, str(error)), hint=error.hint) from None
            install(templates.templates, unit)
            templates.units.append(unit)
        return templates

    def text_unit(self, text: str) -> Unit:
        """Return a text for `tpl`, parsed once."""
        unit = self._texts.get(text)
        if unit is None:
            unit = Unit(ROOT_NAME, text, self.functions, self.names, self._known.get(text))
            if len(self._texts) >= MOST_TEXTS:
                self._texts.clear()
            self._texts[text] = unit
        return unit

    def entries(self) -> dict[str, list[Entry]]:
        """Return the compiled templates of every file for a cache."""
        return {unit.name: [template.entry for template in unit.templates] for unit in self.units}

    def text_entries(self) -> dict[str, list[Entry]]:
        """Return the compiled templates of the last texts for `tpl`."""
        last = list(self._texts.items())[-KEPT_TEXTS:]
        return {text: [template.entry for template in unit.templates] for text, unit in last}

    def start(self, state: RenderState) -> Rendering:
        """Return a rendering of the chart, whose files share limits and counts."""
        return Rendering(self, state)

    def execute(self, name: str, root: dict[str, Any], environment: Environment) -> str:
        """Render one file on its own."""
        return self.start(RenderState(environment)).execute(name, root)


class Rendering:
    """One rendering of a set's files."""

    def __init__(self, owner: TemplateSet, state: RenderState) -> None:
        self.scope = Scope(owner, owner.templates, state)

    def execute(self, name: str, root: dict[str, Any]) -> str:
        """Return a file's output without `<no value>`, as in Helm. Raise HelmError with Helm's message."""
        template = self.scope.templates.get(name)
        if template is None:
            raise HelmError(f"template: no template {quote(name)} associated with template {quote(ROOT_NAME)}")
        self.scope.state.depth = 0
        try:
            with self.scope.state:
                return runes(self.scope.capture(template, root).replace("<no value>", ""))
        except ExecError as error:
            raise HelmError(runes(describe(name, error)), hint=advice(error, _values(root))) from None
        except (FunctionError, EvalError) as error:
            raise HelmError(f"template: {name}: {error}") from None
        except RecursionError:
            raise HelmError(f"{name}: values or templates are nested too deeply") from None
        except MemoryError:
            raise HelmError(f"{name}: templates took more memory than there is") from None
        except LimitError as error:
            raise error if error.placed else LimitError(f"template: {name}: {error}", hint=error.hint) from None
        except HelmError:
            raise
        except Exception as error:
            # Helm converts panics of its engine to this message; a rendering raises nothing but HelmError.
            raise HelmError(f"rendering template failed: {type(error).__name__}: {error}") from error


def _values(root: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the values of a file's chart."""
    values = root.get("Values")
    return values if isinstance(values, Mapping) else {}


def sort_templates(files: Mapping[str, str]) -> list[str]:
    """Return Helm's order: deep paths before shallow ones, then reverse alphabetical."""
    return sorted(files, key=lambda path: (path.count("/"), path.encode("utf-8", "surrogateescape")), reverse=True)
