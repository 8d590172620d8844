"""Compiler from parse trees to Python functions.

Each template becomes one function `t(R, w, dot)`: R is the scope (definitions, limits, environment), w accepts pieces
of output, dot is the template's argument. The code nests no deeper than the template's blocks, and very deep blocks
become separate functions. The code runs without builtins and can access only the names in `runtime`.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import CodeType
from typing import Final

from kymatui.helm.govalues.budget import charge
from kymatui.helm.govalues.types import Function
from kymatui.helm.language.emitting import Emitter
from kymatui.helm.language.expressions import Expressions, Local, Value
from kymatui.helm.language.nodes import ActionNode, Branch, Call, Jump, ListNode, Node, Text

# Python limits the nesting of blocks and indents; deeper blocks become separate functions.
EXTRACTED_DEPTH: Final = 12

CHARACTER: Final = 60
"""Bytes that Python's compiler takes for each character."""


def compile_template(name: str, tree: ListNode, functions: Mapping[str, Function]) -> tuple[CodeType, Emitter]:
    """Return code that defines a template's function `t`, and the emitter with the origins of its lines."""
    emitter = Emitter()
    _Compiler(emitter, functions).template(tree)
    charge(emitter.size * CHARACTER)
    return compile(emitter.source(), f"<template {name}>", "exec", dont_inherit=True), emitter


class _Compiler(Expressions):
    def __init__(self, emitter: Emitter, functions: Mapping[str, Function]) -> None:
        super().__init__(emitter, functions)
        self.depth = 0
        self.loops = 0
        self.returned = ""

    def template(self, tree: ListNode) -> None:
        self.out.lines, self.out.indent = [], 2
        self.locals = [Local("$", "dot")]
        self.block(tree)
        body = self.out.lines or [("  pass", None)]
        self.out.finish(
            [
                ("def t(R, w, dot):", None),
                (" try:", None),
                *body,
                (" except FAULTS as error:", None),
                ("  raise FAULT(TEMPLATE, error)", None),
            ]
        )

    def block(self, block: ListNode) -> None:
        for node in block.nodes:
            self.node(node)

    def node(self, node: Node) -> None:
        self.current = node
        if isinstance(node, Text):
            self.out.line(f"w({node.value!r})")
        elif isinstance(node, ActionNode):
            value = self.pipe(node.pipe)
            if not node.pipe.variables:
                self.print(node, value)
        elif isinstance(node, Branch):
            mark = len(self.locals)
            if node.word == "range":
                self.range(node)
            else:
                self.condition(node)
            del self.locals[mark:]
        elif isinstance(node, Call):
            self.call_template(node)
        elif isinstance(node, Jump):
            self.jump(node)

    def print(self, node: Node, value: Value) -> None:
        self.current = node
        self.out.line(f"R.{'print' if value.addressable else 'print_copy'}(w, {value.code})", self.origin())

    def jump(self, node: Jump) -> None:
        if self.loops:
            self.out.line(node.word)
        else:
            self.out.line(f"return {node.word!r}, {self.returned}")

    def call_template(self, node: Call) -> None:
        value = Value("INVALID")
        self.out.line(f"y = FIND(R, {node.name!r})", self.origin())
        if node.pipe is not None:
            value = self.pipe(node.pipe)
        self.out.line(f"R.call(y, w, {value.code})", self.origin())

    def condition(self, node: Branch) -> None:
        value = self.pipe(node.pipe)
        around = self.dot
        code = value.code if value.code.isidentifier() else self.store(value.code)
        self.out.line(f"if {code}:")
        if node.word == "with":
            self.dot = Value(code)
        self.nested(node.body)
        self.dot = around
        if node.otherwise is not None and node.otherwise.nodes:
            self.out.line("else:")
            self.nested(node.otherwise)

    def range(self, node: Branch) -> None:
        value = self.pipe(node.pipe, declares=False)
        container = self.store(value.code)
        pairs = len(node.pipe.variables) > 1
        items = self.store(f"RANGE{2 if pairs else 1}(R, {container})")
        element = Value(self.out.name("e"), container=container)
        targets = [Value(self.out.name("i")), element] if pairs else [element]
        loop_locals = self.loop_locals(node, value)
        # Many items look at the clock while they are taken.
        self.out.line(f"for {', '.join([target.code for target in targets])} in {items}:", self.origin())
        self.out.indent += 1
        for local, target in zip(loop_locals, targets, strict=False):
            self.out.line(f"{local.code} = {target.code}")
            local.container = target.container
        self.out.indent -= 1
        around, self.dot = self.dot, element
        self.loops += 1
        self.nested(node.body)
        self.loops -= 1
        self.dot = around
        if node.otherwise is not None:
            self.out.line(f"if not {items}:")
            self.nested(node.otherwise)

    def loop_locals(self, node: Branch, value: Value) -> list[Local]:
        """Return the locals of a range's variables.

        Go first sets each to the whole value, visible in {{else}}.
        """
        loop_locals = []
        for variable in node.pipe.variables:
            name = variable.names[0]
            if node.pipe.assigns:
                self.assign(name, value)
            elif node.otherwise is not None:
                self.declare(name, value)
            else:
                self.locals.append(Local(name, self.out.name("v")))
            local = self.find(name)
            if local is not None:
                loop_locals.append(local)
        return loop_locals

    def nested(self, block: ListNode) -> None:
        """Emit a block within a block, as a separate function if it would nest too deep."""
        mark = len(self.locals)
        self.depth += 1
        self.out.indent += 1
        start = len(self.out.lines)
        if self.depth % EXTRACTED_DEPTH:
            self.block(block)
        else:
            self.extracted(block)
        if len(self.out.lines) == start:
            self.out.line("pass")
        self.out.indent -= 1
        self.depth -= 1
        del self.locals[mark:]

    def extracted(self, block: ListNode) -> None:
        """Emit the block as a function that receives the visible locals and returns the changed ones."""
        function = self.out.name("b")
        visible = [*self.locals, Local("", self.dot.code, self.dot.container)]
        taken = sorted(({local.code for local in visible} | {local.container for local in visible}) - {"C"})
        changed = ", ".join(sorted({local.code for local in self.locals[1:]}))
        returned = f"({changed},)" if changed else "()"
        around = self.out.lines, self.out.indent, self.loops, self.returned
        self.out.lines, self.out.indent, self.loops, self.returned = [], 1, 0, returned
        self.block(block)
        self.out.line(f"return None, {returned}")
        self.out.finish([(f"def {function}(R, w, {', '.join(taken)}):", None), *self.out.lines])
        self.out.lines, self.out.indent, self.loops, self.returned = around
        result = self.out.name("x")
        self.out.line(f"{result}, y = {function}(R, w, {', '.join(taken)})", self.origin())
        if changed:
            self.out.line(f"{changed}, = y")
        self.leave(result)

    def leave(self, result: str) -> None:
        """Emit the exit of the enclosing loop after a break or continue in an extracted block."""
        if self.loops:
            self.out.line(f"if {result} == 'break': break")
            self.out.line(f"if {result} == 'continue': continue")
        elif self.returned:
            self.out.line(f"if {result}: return {result}, {self.returned}")
