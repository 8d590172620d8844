"""Template files and the templates they define, each compiled on its first run.

Parser and compiler are imported on demand: a chart whose code is cached needs neither.
"""

from __future__ import annotations

import marshal
from collections.abc import Callable, Mapping
from types import CodeType
from typing import TYPE_CHECKING, Any, Protocol

from kymatui.errors import HelmError
from kymatui.helm.govalues.budget import LimitError
from kymatui.helm.govalues.text import byte_length
from kymatui.helm.govalues.types import Function
from kymatui.helm.language.faults import ParseError, TooDeepError
from kymatui.helm.language.nodes import is_empty

if TYPE_CHECKING:
    from kymatui.helm.language.emitting import Emitter, LineOrigin
    from kymatui.helm.language.nodes import ListNode, Node


class RunScope(Protocol):
    """What the code of a template writes through; the scope of a rendering."""

    def print(self, w: Callable[[str], object], value: Any) -> None: ...

    def print_copy(self, w: Callable[[str], object], value: Any) -> None: ...

    def spend(self, steps: int) -> None: ...


Runner = Callable[[RunScope, Callable[[str], object], Any], None]
Entry = tuple[str, bool, bytes | None]
"""A template as a cache keeps it: its name, whether it is empty, its marshalled code if it has been compiled."""


class Unit:
    """One file, or one text for `tpl`: its source and its definitions.

    It is parsed at once to report errors, or later if a cache knows that it parses.
    """

    __slots__ = ("_trees", "functions", "name", "names", "source", "templates")

    def __init__(
        self,
        name: str,
        source: str,
        functions: Mapping[str, Function],
        names: dict[str, Any],
        entries: list[Entry] | None = None,
    ) -> None:
        self.name = name
        self.source = source
        self.functions = functions
        self.names = names
        self._trees: dict[str, ListNode] | None = None
        if entries is None:
            entries = [(template, is_empty(tree), None) for template, tree in self.trees.items()]
        self.templates = [Template(self, template, empty, code) for template, empty, code in entries]

    @property
    def trees(self) -> dict[str, ListNode]:
        """Return the parse trees by template name. Raise ParseError with text/template's message."""
        from kymatui.helm.language.parsing import parse

        if self._trees is None:
            try:
                self._trees = parse(self.name, self.source, self.functions)
            except LimitError as error:
                raise LimitError(f"template: {self.name}: {error}", placed=True) from None
            except (RecursionError, MemoryError):
                raise ParseError(f"template: {self.name}:1: blocks are nested too deeply") from None
        return self._trees

    def place(self, position: int) -> str:
        """Return NAME:LINE:COLUMN of a character; the column is in bytes from 0, as in Go."""
        line = self.source.count("\n", 0, position)
        start = self.source.rfind("\n", 0, position) + 1
        return f"{self.name}:{line + 1}:{byte_length(self.source[start:position])}"


def _deferred(name: str, names: dict[str, Any], functions: Mapping[str, Function]) -> Callable[..., Any]:
    """Return a function that is looked up on its first call.

    Importing some families costs more than a rendering, and templates contain many calls that are never reached.
    """

    def call(*arguments: Any) -> Any:
        function = names[name] = functions[name[2:]].call
        return function(*arguments)

    return call


class Template:
    """A named template; `run(scope, write, dot)` executes it."""

    __slots__ = ("_code", "_emitter", "empty", "name", "run", "unit")

    def __init__(self, unit: Unit, name: str, empty: bool, code: bytes | None) -> None:
        self.unit = unit
        self.name = name
        self.empty = empty
        self._code: CodeType | bytes | None = code
        self._emitter: Emitter | None = None
        self.run: Runner = self._first_run

    @property
    def entry(self) -> Entry:
        code = self._code
        return self.name, self.empty, marshal.dumps(code) if isinstance(code, CodeType) else code

    def _first_run(self, scope: RunScope, write: Callable[[str], object], dot: Any) -> None:
        code = self._code
        if code is None:
            self._code, self._emitter = self._compile()
            code = self._code
        elif isinstance(code, bytes):
            code = marshal.loads(code)  # noqa: S302 - TemplateCache has checked where it comes from
        self._provide(code)
        # One dict per template: its own names here, the shared ones as its builtins.
        module: dict[str, Any] = {"__builtins__": self.unit.names, "TEMPLATE": self}
        exec(code, module)  # noqa: S102 - our own compiler wrote it, and it reaches only `names`
        run: Runner = module["t"]
        self.run = run
        run(scope, write, dot)

    def _provide(self, code: CodeType) -> None:
        """Provide the functions that the code calls."""
        names = self.unit.names
        for function in [code, *[part for part in code.co_consts if isinstance(part, CodeType)]]:
            for name in function.co_names:
                if name.startswith("f_") and name not in names:
                    names[name] = _deferred(name, names, self.unit.functions)

    def _compile(self) -> tuple[CodeType, Emitter]:
        from kymatui.helm.language.compiling import compile_template

        try:
            return compile_template(self.name, self.unit.trees[self.name], self.unit.functions)
        except (TooDeepError, RecursionError, MemoryError):
            where = f"{self.unit.name}: template {self.name!r}"
            raise HelmError(f"{where}: blocks or expressions are nested too deeply") from None

    @property
    def emitter(self) -> Emitter:
        """Return the origins of the code's lines, compiled again if the code came from a cache."""
        if self._emitter is None:
            self._emitter = self._compile()[1]
        return self._emitter

    def node(self, error: Exception) -> tuple[Node, str]:
        """Return the node of the failed line, and the function or method it calls ("" for none)."""
        trace = error.__traceback__
        if trace is None:
            raise error
        # Extracted blocks appear as further frames in the traceback.
        while (inner := trace.tb_next) and inner.tb_frame.f_globals is trace.tb_frame.f_globals:
            if not inner.tb_frame.f_code.co_name.startswith("b"):
                break
            trace = inner
        origin: LineOrigin = self.emitter.origins[trace.tb_lineno]
        if isinstance(origin.node, str):
            return self.emitter.nodes[trace.tb_frame.f_locals[origin.node]], origin.called
        return origin.node, origin.called
