"""Errors of template execution, chained as in Go and formatted as in Helm.

In Go, every failing call of `include` or `template` puts its own line in front of the inner message. Helm's engine
splits the chain and writes one paragraph per link, unless the innermost error is not a template's own (a function's,
say); then Go's single line stays. Source: helm v4 pkg/engine/engine.go.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from kymatui.errors import nearest_names
from kymatui.helm.govalues.text import runes
from kymatui.helm.govalues.types import FunctionError, describe_type

WARN_START: Final = "HELM_ERR_START"
WARN_END: Final = "HELM_ERR_END"
_WARNING: Final = re.compile(WARN_START + r"(.*)" + WARN_END, re.DOTALL)


class ParseError(Exception):
    """A template that does not parse; the message is text/template's, "template: NAME:LINE: …"."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint


class TooDeepError(Exception):
    """A template nested deeper than Python's compiler allows."""


class EvalError(Exception):
    """A failed evaluation; the message is Go's after "at <…>: "."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint


class MethodError(Exception):
    """A failed method that was called as a field; errors name the method."""

    def __init__(self, method: str, cause: FunctionError) -> None:
        super().__init__(method)
        self.method = method
        self.cause = cause


PIPE_HINT: Final = "A pipe passes its value as the last argument: {{ .Values.name | trunc 63 }}."
RECURSION: Final = 200
"""Calls of `tpl` within each other from which a text calls itself: no chart nests them so deeply."""


class WrappedError(FunctionError):
    """An error with a prefix to another error's message (Go's %w); the text is built on demand."""

    def __init__(self, head: str, cause: FunctionError | None = None) -> None:
        super().__init__(head)
        self.head = head
        self.cause = cause

    def links(self) -> list[WrappedError]:
        """Return this error and its causes that wrap others, outermost first."""
        links: list[WrappedError] = []
        current: FunctionError | None = self
        while isinstance(current, WrappedError):
            links.append(current)
            current = current.cause
        return links

    def __str__(self) -> str:
        links = self.links()
        cause = links[-1].cause
        return "".join(link.head for link in links) + ("" if cause is None else str(cause))


class TplError(WrappedError):
    """A text failed in `tpl`."""


class ExecError(WrappedError):
    """A template failed to execute: Go's ExecError.

    `expression` is what failed, if it is the evaluation of the expression itself; `hint` says what to do.
    """

    def __init__(self, head: str, cause: FunctionError | None = None, *, expression: str = "", hint: str = "") -> None:
        super().__init__(head, cause)
        self.expression = expression
        self.hint = hint

    def own_text(self) -> str:
        """Return the text that Helm parses: an inner template error is cut off after its first word."""
        return self.head + "template: " if isinstance(self.cause, ExecError) else str(self)


class NoTemplateError(FunctionError):
    """`include` of an undefined name; Helm treats its message as a template's own."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message)
        self.hint = hint


class MissingValue(FunctionError):
    """A message of `required`."""


def advice(error: ExecError, values: Mapping[str, object]) -> str:
    """Return what to do about a failed template, "" if only its message says it; `values` are those of its chart."""
    innermost = [link for link in error.links() if isinstance(link, ExecError)][-1]
    cause = error.links()[-1].cause
    if isinstance(cause, NoTemplateError):
        return cause.hint
    if isinstance(cause, MissingValue):
        return "Set the value with --set, or in a file with -f."
    return innermost.hint or value_advice(innermost.expression, values)


_VALUES: Final = ".Values."


def value_advice(expression: str, values: Mapping[str, object]) -> str:
    """Return what is wrong with the value of an expression such as `.Values.image.tag`, "" if it is another one."""
    if not expression.startswith(_VALUES) or not expression.removeprefix(_VALUES).replace(".", "").isidentifier():
        return ""
    current: object = values
    path = ""
    for name in expression.removeprefix(_VALUES).split("."):
        if not isinstance(current, Mapping):
            return f"The value {path} is {describe_type(current)}, which has no field {name}."
        if current.get(name) is None:
            near = nearest_names(name, current, 1)
            meant = f" Did you mean {'.'.join(filter(None, (path, near[0])))}?" if near else ""
            return f"The value {'.'.join(filter(None, (path, name)))} is not set.{meant}"
        current, path = current[name], ".".join(filter(None, (path, name)))
    return f"The value {path} is {describe_type(current)}."


def describe(file: str, error: ExecError) -> str:
    """Return Helm's message for a failed template: reformatExecErrorMsg; a short one for an endless recursion."""
    calls = sum(isinstance(link, TplError) for link in error.links())
    if calls > RECURSION:
        first = _parse(str(ExecError(error.head, FunctionError("")))) or ("", "", "")
        return _paragraph(first[0], first[1], f"it calls itself without an end ({calls} calls deep)").strip()
    message = str(error)
    tokens = message.split(": ", 2)
    if len(tokens) != 3:
        return f"execution error in ({file}): {message}"
    if warning := _WARNING.search(tokens[2]):
        return f"execution error at ({tokens[1]}): {warning[1]}"
    locations: list[tuple[str, str, str]] = []
    current: FunctionError | None = error
    while current is not None:
        location = _parse(current.own_text() if isinstance(current, ExecError) else str(current))
        if location is None:
            return message
        if not locations or locations[-1] != location:
            locations.append(location)
        current = current.cause if isinstance(current, WrappedError) else None
    return "".join([_paragraph(*entry) for entry in locations]).strip()


def _paragraph(location: str, executed: str, message: str) -> str:
    return (
        (f"{location}\n  " if location else "")
        + (f"{executed}\n    " if executed else "")
        + (f"{message}\n" if message else "")
    )


def _parse(text: str) -> tuple[str, str, str] | None:
    """Return location, expression and message of one link, None for a message of another origin."""
    if not text.startswith("template: "):
        return None
    rest = text[len("template: ") :]
    if rest.startswith("no template "):
        return "", "", text
    if (executing := _parse_executing(rest)) is not None:
        return executing
    location, separator, message = rest.rpartition(": ")
    return (location, "", message.partition(" template:")[0]) if separator else None


_EXECUTING: Final = re.compile(r'"([^"]*)" at <(.*?)>: (.*)', re.DOTALL)


def _parse_executing(rest: str) -> tuple[str, str, str] | None:
    location, separator, after = rest.partition(": executing ")
    match = _EXECUTING.match(after) if separator else None
    if match is None:
        return None
    message = match[3].partition(" template:")[0]
    return location, f'executing "{match[1]}" at <{match[2]}>:', message


def describe_parse_error(file: str, text: str) -> str:
    """Return Helm's message for a template that does not parse: cleanupParseError."""
    tokens = text.split(": ")
    if len(tokens) == 1:
        return f"parse error in ({file}): {runes(text)}"
    return f"parse error at ({tokens[1]}): {runes(tokens[-1])}"
