"""Compiler from parse trees to Python functions.

Each template becomes one function `t(R, w, dot)`: R is the scope (definitions, limits, environment), w accepts pieces
of output, dot is the template's argument. The code nests no deeper than the template's blocks, and very deep blocks
become separate functions. The code runs without builtins and can access only the names in `runtime`.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import CodeType
from typing import Final, NamedTuple

from kymatui.helm.govalues.budget import charge
from kymatui.helm.govalues.naming import can_be_nil, type_kind
from kymatui.helm.govalues.types import ANY, LIST, MAP, REFLECT, Function
from kymatui.helm.language.builtins import BUILTINS, UNCOUNTED
from kymatui.helm.language.emitting import Emitter, LineOrigin
from kymatui.helm.language.faults import PIPE_HINT
from kymatui.helm.language.nodes import (
    ActionNode,
    Bool,
    Branch,
    Call,
    Chain,
    CommandNode,
    Dot,
    Field,
    Identifier,
    Jump,
    ListNode,
    Nil,
    Node,
    Number,
    Pipe,
    String,
    Text,
    Variable,
)
from kymatui.helm.language.numbers import ideal

# Compiler of expressions to lines of Python: pipelines, commands, fields, functions, variables.
#
# A pipeline becomes a sequence of assignments to locals. The compiler tracks the node that Go's executor would name in
# an error at each point (`self.current`, as exec.go's `s.at`); where a short circuit decides, a local holds it.


SCOPED: Final = frozenset({"include", "tpl"})
"""Functions that take the scope as their first argument."""

_CLASSES: Final = {"string": "str", "bool": "bool", "int": "int", "float64": "float", MAP: "dict", LIST: "list"}
_RESULTS: Final = {
    **dict.fromkeys(("include", "tpl", "printf", "print", "println", "html", "js", "urlquery"), "str"),
    **dict.fromkeys(("eq", "ne", "lt", "le", "gt", "ge", "not"), "bool"),
    "len": "int",
}


class Value(NamedTuple):
    """The value of an expression: a local or a literal.

    cls        the known Python class, or ""
    container  the local that contained the value ("C": none), for type names
    pipelined  it left a pipeline: None is Go's zero Value
    addressable  it is the original, not a copy from a function: a struct then has its pointer's
                 methods, such as String()
    """

    code: str
    cls: str = ""
    container: str = "C"
    pipelined: bool = False
    addressable: bool = True


class Local:
    """A variable of the template: its name, its Python local, and the container it ranges over.

    `skippable`: a short circuit may skip its declaration, so that it is undefined when read.
    """

    __slots__ = ("code", "container", "name", "skippable")

    def __init__(self, name: str, code: str, container: str = "C", skippable: bool = False) -> None:
        self.name = name
        self.code = code
        self.container = container
        self.skippable = skippable


class Expressions:
    """Compiles the expressions of one template."""

    def __init__(self, emitter: Emitter, functions: Mapping[str, Function]) -> None:
        self.out = emitter
        self.functions = functions
        self.locals: list[Local] = []
        self.dot = Value("dot")
        self.current: Node | str = Dot(0)
        self.circuits = 0

    # --- lines

    def origin(self, called: str = "") -> LineOrigin:
        return LineOrigin(self.current, called)

    def store(self, code: str, called: str = "") -> str:
        """Store the code's value in a new local; an error in it names the current node."""
        local = self.out.name("x")
        self.out.line(f"{local} = {code}", self.origin(called))
        return local

    def fail(self, text: str, hint: str = "") -> Value:
        """Emit an error at this point of the evaluation."""
        self.out.line(f"raise EVAL({text!r}, {hint!r})" if hint else f"raise EVAL({text!r})", self.origin())
        return Value("None")

    # --- variables

    def find(self, name: str) -> Local | None:
        return next((local for local in reversed(self.locals) if local.name == name), None)

    def declare(self, name: str, value: Value) -> None:
        local = Local(name, self.out.name("v"), value.container, self.circuits > 0)
        self.out.line(f"{local.code} = {self.settled(value)}")
        self.locals.append(local)

    def assign(self, name: str, value: Value) -> None:
        local = self.find(name)
        if local is None:
            self.fail(f"undefined variable: {name}")
            return
        self.out.line(f"{local.code} = {self.settled(value)}")
        if local.container != value.container:
            local.container = "C"

    def bind(self, name: str, value: Value, assigns: bool) -> None:
        if assigns:
            self.assign(name, value)
        else:
            self.declare(name, value)

    def settled(self, value: Value) -> str:
        """Return the value with INVALID for a pipeline's nil."""
        if value.pipelined and not value.cls:
            return f"INVALID if {value.code} is None else {value.code}"
        return value.code

    # --- pipelines

    def pipe(self, pipe: Pipe, *, declares: bool = True) -> Value:
        self.current = pipe
        value: Value | None = None
        for command in pipe.commands:
            output = self.command(command, value)
            value = Value(output.code, output.cls, pipelined=True, addressable=output.addressable)
        result = value or Value("INVALID")
        if declares:
            for variable in pipe.variables:
                self.bind(variable.names[0], result, pipe.assigns)
        return result

    def command(self, command: CommandNode, final: Value | None) -> Value:
        first = command.args[0]
        if isinstance(first, Field):
            return self.field(first, command.args, final)
        if isinstance(first, Chain):
            return self.chain(first, command.args, final)
        if isinstance(first, Identifier):
            return self.function(first, command, command.args[1:], final)
        if isinstance(first, Variable):
            return self.variable(first, command.args, final)
        if not isinstance(first, Pipe):
            self.current = first
        if len(command.args) > 1 or final is not None:
            return self.fail(f"can't give argument to non-function {first.text()}")
        if isinstance(first, Pipe):
            return self.pipe(first)
        if isinstance(first, Nil):
            return self.fail("nil is not a command")
        return self.constant(first)

    def constant(self, node: Node) -> Value:
        """Return a literal or dot, without a required type."""
        self.current = node
        if isinstance(node, Dot):
            return self.dot
        if isinstance(node, Bool):
            return Value(repr(node.value), "bool")
        if isinstance(node, String):
            return Value(repr(node.value), "str")
        if isinstance(node, Number):
            number = ideal(node)
            if number is None:
                return self.fail(f"{node.source} overflows int")
            # A literal is no object expression: (1).__class__ needs the parentheses.
            return Value(f"({number!r})", type(number).__name__)
        return self.fail(f"can't evaluate command {node.text()}")

    # --- fields

    def field(self, node: Field, args: list[Node], final: Value | None) -> Value:
        self.current = node
        return self.fields(self.dot, node, node.names, args, final)

    def variable(self, node: Variable, args: list[Node], final: Value | None) -> Value:
        self.current = node
        local = self.find(node.names[0])
        if local is None:
            return self.fail(f"undefined variable: {node.names[0]}")
        value = Value(local.code, container=local.container)
        if len(node.names) > 1:
            return self.fields(value, node, node.names[1:], args, final)
        if len(args) > 1 or final is not None:
            return self.fail(f"can't give argument to non-function {node.text()}")
        return value._replace(code=self.store(local.code)) if local.skippable else value

    def chain(self, node: Chain, args: list[Node], final: Value | None) -> Value:
        self.current = node
        if isinstance(node.node, Nil):
            return self.fail(f"indirection through explicit nil in {node.text()}")
        if isinstance(node.node, Pipe):
            value = self.pipe(node.node)
        elif isinstance(node.node, Identifier):
            value = self.function(node.node, node.node, [], None)
        else:
            value = self.constant(node.node)
        if value.pipelined and not value.cls:
            value = Value(self.store(self.settled(value)))
        return self.fields(value, node, node.names, args, final)

    def fields(self, value: Value, node: Node, names: list[str], args: list[Node], final: Value | None) -> Value:
        """Emit `.a.b.c`; the last name receives the command's arguments."""
        if len(args) <= 1 and final is None:
            return Value(self.store(f"CHAIN({value.code}, {value.container}, {tuple(names)!r})"))
        for name in names[:-1]:
            value = Value(self.store(f"F({value.code}, {name!r}, {value.container})"), container=value.code)
        return self.method(value, node, names[-1], args[1:], final)

    def method(self, value: Value, node: Node, name: str, args: list[Node], final: Value | None) -> Value:
        """Emit a method call with arguments; the method and its parameters are known only at run time."""
        count = len(args) + (final is not None)
        method = self.store(f"METHOD({value.code}, {name!r}, {value.container}, {len(args)}, {count})")
        values = []
        for index, arg in enumerate(args):
            argument, is_constant = self.method_argument(arg)
            values.append(self.store(f"ARGUMENT({method}, {index}, {argument}, {is_constant})"))
        if final is not None:
            values.append(self.store(f"ARGUMENT({method}, {len(args)}, {self.settled(final)}, '')"))
        result = self.out.name("x")
        self.out.line(f"{result} = CALL({method}, {value.code}, [{', '.join(values)}])", LineOrigin(node, name))
        return Value(result)

    def method_argument(self, arg: Node) -> tuple[str, str]:
        """Return the argument's code, and its text in errors if it is a constant."""
        if isinstance(arg, Nil):
            self.current = arg
            return "INVALID", "'nil'"
        if isinstance(arg, (Bool, String, Number)):
            self.current = arg
            number = (arg.integer, arg.unsigned, arg.real) if isinstance(arg, Number) else None
            code = repr((number, ideal(arg))) if isinstance(arg, Number) else self.constant(arg).code
            return code, repr((type(arg).__name__, arg.text()))
        return self.settled(self.evaluated(arg)), "''"

    def evaluated(self, arg: Node) -> Value:
        """Return the value of a non-constant argument."""
        self.current = arg
        if isinstance(arg, Dot):
            return self.dot
        if isinstance(arg, Field):
            return self.field(arg, [arg], None)
        if isinstance(arg, Variable):
            return self.variable(arg, [], None)
        if isinstance(arg, Pipe):
            return self.pipe(arg)
        if isinstance(arg, Identifier):
            return self.function(arg, arg, [], None)
        if isinstance(arg, Chain):
            return self.chain(arg, [], None)
        return self.constant(arg)

    # --- functions

    def function(self, node: Identifier, origin: Node, args: list[Node], final: Value | None) -> Value:
        self.current = node
        function = self.functions[node.name]
        count = len(args) + (final is not None)
        expected = len(function.params)
        if function.variadic and count < expected - 1:
            return self.fail(
                f"wrong number of args for {node.name}: want at least {expected - 1} got {len(args)}", PIPE_HINT
            )
        if not function.variadic and count != expected:
            return self.fail(f"wrong number of args for {node.name}: want {expected} got {count}", PIPE_HINT)
        if function in (BUILTINS["and"], BUILTINS["or"]):
            return self.short_circuit(node.name, args, final)
        if function is BUILTINS["index"] and count == 1:
            return self.unindexed(final or self.evaluated_any(args[0]), LineOrigin(origin, node.name))
        codes = [self.argument(arg, function.parameter(index)) for index, arg in enumerate(args)]
        if final is not None:
            codes.append(self.converted(final, function.parameter(len(args))))
        if function is BUILTINS["call"]:
            codes.insert(0, repr(args[0].text()) if args else "''")
        result = self.out.name("x")
        code = self.invocation(node.name, function, codes)
        if not _is_cheap(node.name, args):
            code = f"R.took({code})"
        self.out.line(f"{result} = {code}", LineOrigin(origin, node.name))
        known = node.name in SCOPED or function is BUILTINS.get(node.name)
        return Value(result, _RESULTS.get(node.name, "") if known else "", addressable=False)

    def unindexed(self, value: Value, origin: LineOrigin) -> Value:
        """Emit `index` without index: the value itself, still addressable."""
        result = self.out.name("x")
        self.out.line(f"{result} = f_index({self.converted(value, REFLECT)})", origin)
        return Value(result, addressable=value.addressable)

    def invocation(self, name: str, function: Function, codes: list[str]) -> str:
        if function is BUILTINS["not"]:
            return f"not {codes[0]}"
        if function in (BUILTINS["eq"], BUILTINS["ne"]) and len(codes) == 2:
            first, second = codes
            inline = f"{first} {'==' if name == 'eq' else '!='} {second}"
            return f"({inline}) if {first}.__class__ is {second}.__class__ is str else f_{name}({first}, {second})"
        if name in SCOPED:
            codes = ["R", *codes]
        elif function.takes_environment:
            codes = ["R.environment", *codes]
        return f"f_{name}({', '.join(codes)})"

    def short_circuit(self, word: str, args: list[Node], final: Value | None) -> Value:
        """Emit `and` and `or`: each argument is nested in the test of the one before."""
        result, variable = self.out.name("x"), self.out.name("k")
        indent = self.out.indent
        self.circuits += 1
        for index, arg in enumerate(args):
            if index:
                self.out.line(f"if {result}:" if word == "and" else f"if not {result}:")
                self.out.indent += 1
            value = self.evaluated_any(arg)
            self.out.line(f"{result} = {self.settled(value)}")
            self.remember(variable)
        if final is not None:
            if args:
                self.out.line(f"if {result}:" if word == "and" else f"if not {result}:")
                self.out.indent += 1
            self.out.line(f"{result} = {self.settled(final)}")
            self.remember(variable)
        self.out.indent = indent
        self.circuits -= 1
        self.current = variable
        return Value(result)

    def remember(self, variable: str) -> None:
        current = self.current if isinstance(self.current, str) else str(self.out.number(self.current))
        self.out.line(f"{variable} = {current}")

    def evaluated_any(self, arg: Node) -> Value:
        if isinstance(arg, Nil):
            self.current = arg
            return Value("INVALID")
        return self.evaluated(arg)

    def argument(self, arg: Node, kind: str) -> str:
        """Return the code of an argument for a parameter type."""
        if isinstance(arg, Nil):
            self.current = arg
            return f"ZERO({kind!r})" if can_be_nil(kind) else self.fail(f"cannot assign nil to {kind}").code
        if isinstance(arg, (Bool, String, Number)) and kind not in (ANY, REFLECT):
            self.current = arg
            return self.typed_constant(arg, kind)
        return self.converted(self.evaluated(arg), kind)

    def typed_constant(self, node: Bool | String | Number, kind: str) -> str:
        """Return the code of a literal for a parameter type, or an error if it does not fit."""
        expected_kind = type_kind(kind)
        code: str | None = None
        expected = ""
        if expected_kind == "bool":
            expected, code = "bool", repr(node.value) if isinstance(node, Bool) else None
        elif expected_kind == "string":
            expected, code = "string", repr(node.value) if isinstance(node, String) else None
        elif expected_kind.startswith("int") and expected_kind != "interface":
            expected, number = "integer", node.integer if isinstance(node, Number) else None
            code = None if number is None else f"({number!r})"
        elif expected_kind.startswith("uint"):
            expected, number = "unsigned integer", node.unsigned if isinstance(node, Number) else None
            code = None if number is None else f"({number!r})"
        elif expected_kind.startswith("float"):
            expected, real = "float", node.real if isinstance(node, Number) else None
            code = None if real is None else f"({real!r})"
        else:
            return self.fail(f"can't handle {node.text()} for arg of type {kind}").code
        if code is None:
            return self.fail(f"expected {expected}; found {node.text()}").code
        return code if kind in _CLASSES else f"TYPED({code}, {kind!r})"

    def converted(self, value: Value, kind: str) -> str:
        """Return the code of a value for a parameter type; a type mismatch fails at the current node."""
        code = value.code
        if kind == REFLECT:
            return code if not value.pipelined or value.cls else f"({self.settled(value)})"
        if kind == ANY:
            return code if value.cls else f"(None if {code} is INVALID else {code})"
        expected = _CLASSES.get(kind, "")
        if expected and value.cls == expected:
            return code
        if value.pipelined and not value.cls:
            convert = f"CONVERT(INVALID if {code} is None else {code}, {kind!r})"
        else:
            convert = f"CONVERT({code}, {kind!r})"
        return self.store(f"{code} if {code}.__class__ is {expected} else {convert}" if expected else convert)


def _is_cheap(name: str, args: list[Node]) -> bool:
    """Return whether a call needs no counting; comparing with a literal takes no longer than the literal is."""
    return name in UNCOUNTED or (name in ("eq", "ne") and any(isinstance(arg, (String, Number, Bool)) for arg in args))


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
