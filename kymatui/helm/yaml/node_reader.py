"""The reader of one pass over a YAML text: libyaml's events become values, by go-yaml's rules and within limits."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import cached_property
from typing import Any, Final

import yaml as pyyaml

from kymatui.helm.govalues.budget import charge
from kymatui.helm.yaml.conversions import (
    CONVERTING,
    EXACT,
    allowed_alias_ratio,
    copy_plain,
    count_characters,
    decode_binary,
    syntax_error,
)
from kymatui.helm.yaml.errors import BadKey, YamlError, YamlLimitError
from kymatui.helm.yaml.limits import MAX_DEPTH, NODE, NODES, YamlBudget
from kymatui.helm.yaml.misreading import (
    COLON,
    HIDDEN_MARK,
    bracket_problem,
    empty_key_problem,
    repair_syntax,
    repair_tag,
    scalar_problem,
)
from kymatui.helm.yaml.resolving import (
    BINARY,
    HINTS,
    MAX_INT,
    TIMESTAMP,
    Scalar,
    is_merge,
    resolve_plain,
    resolve_tagged,
)
from kymatui.json_input import levels_of

try:
    from yaml._yaml import CParser as _Parser
except ImportError:  # PyYAML without libyaml: the same events, ten times slower

    class _Parser(pyyaml.reader.Reader, pyyaml.scanner.Scanner, pyyaml.parser.Parser):  # type: ignore[no-redef]
        def __init__(self, stream: bytes) -> None:
            pyyaml.reader.Reader.__init__(self, stream)
            pyyaml.scanner.Scanner.__init__(self)
            pyyaml.parser.Parser.__init__(self)


_TOO_DEEP: Final = f"{CONVERTING}yaml: exceeded max depth of {MAX_DEPTH}"
_TOO_DEEP_PROBLEM: Final = f"it is nested in more than {MAX_DEPTH} levels"
_TOO_DEEP_FOR_LIBYAML: Final = "exceeded maximum nesting depth"
"""The problem of libyaml from 0.2.6 on, which reads ahead and stops at 1,000."""

_NONE: Final = type(None)
_NO_KEY: Final = object()
_MERGE_KEY: Final = object()
END: Final = object()
"""What stands after the last document."""
_MOST_REPEATED_KEYS: Final = 100  # in a message
_ODD: Final = (b"?", b"\\/", COLON.encode())


class _EarlyEndError(Exception):
    """`[]: x` and `{}: x` at the root end the document after the brackets in go-yaml."""

    def __init__(self, value: Any) -> None:
        super().__init__()
        self.value = value


class _Never:
    """A class without instances."""


class _Anchored:
    """The target of an anchor: its value, number of nodes, and whether it is complete."""

    __slots__ = ("characters", "complete", "count", "levels", "value")

    def __init__(self, value: Any, count: int, complete: bool) -> None:
        self.value = value
        self.count = count
        self.complete = complete
        self.characters = self.levels = -1

    def measure(self) -> None:
        """Count characters and levels when the first alias needs them."""
        if self.characters < 0:
            self.characters, self.levels = count_characters(self.value), levels_of(self.value)


class MissingValues:
    """The keys of maps that have no value in the text (`key:`), unlike `key: null`; both are read as None.

    Of other values that are no text, it has the spelling.
    """

    def __init__(self) -> None:
        self._keys: dict[int, tuple[dict[str, Any], dict[str, str]]] = {}  # a map that is referenced keeps its identity

    def add(self, mapping: dict[str, Any], key: str, spelling: str) -> None:
        self._keys.setdefault(id(mapping), (mapping, {}))[1][key] = spelling

    def has(self, mapping: dict[str, Any], key: str) -> bool:
        return self.spelling(mapping, key) == "" and mapping[key] is None

    def spelling(self, mapping: dict[str, Any], key: str) -> str | None:
        entry = self._keys.get(id(mapping))
        return None if entry is None else entry[1].get(key)

    def forget(self, node: Any) -> None:
        """Forget the keys of a value and of everything in it."""
        waiting = [node] if self._keys else []
        while waiting:
            part = waiting.pop()
            if isinstance(part, dict):
                self._keys.pop(id(part), None)
                waiting += part.values()
            elif isinstance(part, list):
                waiting += part


class NodeReader:
    """One pass over the events of a text, without recursion so that deep nesting is harmless."""

    def __init__(
        self, data: bytes, strict: bool, budget: YamlBudget, *, keeps_integers: bool = False, hides_marks: bool = False
    ) -> None:
        self.whole: Any = _Never if keeps_integers else int
        self.data = data
        self.budget = budget
        self.most = budget.nodes
        self.strict = strict
        self.hides_marks = hides_marks
        self.odd = hides_marks or any(mark in data for mark in _ODD)
        self.root_at = self.key_at = -1
        self.anchors: dict[str, _Anchored] = {}
        self.unclean = False
        self.failure: YamlError | None = None
        self.repeated: list[str] = []
        self.repeated_at: Any = None
        self.decoded = self.uncounted = 0
        self.aliased = 0
        self.words_of_text: frozenset[str] = frozenset()
        self.missing: MissingValues | None = None
        try:
            self.parser = _Parser(data or b"\n")
        except pyyaml.YAMLError as error:
            raise syntax_error(error) from error

    @cached_property
    def text(self) -> str:
        """Return the text in which libyaml's marks count characters."""
        return self.data.decode("utf-8-sig", "replace")

    def charge(self) -> None:
        """Take what was read from the budget of the source."""
        self.budget.nodes = max(self.most - self.decoded, 0)

    def next_document(self) -> Any:
        self.anchors.clear()
        try:
            event = self.parser.get_event()
            if isinstance(event, pyyaml.StreamStartEvent):
                event = self.parser.get_event()
            if event is None or isinstance(event, pyyaml.StreamEndEvent):
                return END
            if getattr(event, "version", None) not in (None, (1, 1)):
                problem = "found incompatible YAML document"
                raise YamlError(f"{CONVERTING}yaml: {problem}", problem=problem)
            value = self._node()
            self.parser.get_event()
        except _EarlyEndError as end:
            with suppress(pyyaml.YAMLError):  # the next document begins behind what is left of this one
                while not isinstance(self.parser.get_event(), (pyyaml.DocumentEndEvent, pyyaml.StreamEndEvent, _NONE)):
                    pass
            return end.value
        except pyyaml.YAMLError as error:
            if getattr(error, "problem", None) == _TOO_DEEP_FOR_LIBYAML:
                raise YamlLimitError(_TOO_DEEP, problem=_TOO_DEEP_PROBLEM) from error
            repair_syntax(error, self)
            missing = bracket_problem(error, self, _Parser)
            if missing is not None:
                raise YamlError(f"{CONVERTING}yaml: {missing}", problem=missing) from error
            raise syntax_error(error) from error
        except UnicodeError as error:
            raise YamlError(
                f"{CONVERTING}yaml: invalid Unicode character", problem="it has an invalid Unicode character"
            ) from error
        self._refuse()
        if self.unclean:
            from kymatui.helm.yaml.printing import check_clean

            check_clean(value)
        return value

    def _refuse(self) -> None:
        if self.failure is None:
            self._check_aliasing()
        if self.failure is not None:
            raise self.failure
        if self.repeated:
            raise YamlError(
                f"{CONVERTING}yaml: unmarshal errors:\n  " + "\n  ".join(self.repeated),
                problem="a key is repeated",
                mark=self.repeated_at,
            )

    def _fail(self, message: str, problem: str, event: Any = None) -> None:
        """Record the first failure; a later syntax error wins, since Go parses all before it decodes."""
        if self.failure is None:
            mark = event.start_mark if event is not None else None
            self.failure = YamlError(f"{CONVERTING}yaml: {message}", problem=problem, mark=mark)

    def _count(self, event: Any) -> None:
        """Charge nodes to the rendering that reads them, if any. Raise YamlLimitError, LimitError."""
        if self.decoded > self.most:
            raise self.failure or YamlLimitError(
                f"{CONVERTING}yaml: exceeded max count of {self.budget.most} nodes",
                problem=f"it has more than {self.budget.most} values",
                mark=event.start_mark,
            )
        charge(NODE * (self.decoded - self.uncounted + NODES))
        self.uncounted = min(self.decoded + NODES, self.most)

    def _node(self) -> Any:
        get_event: Callable[[], Any] = self.parser.get_event
        stack: list[tuple[Any, Any, _Anchored | None, int, bool]] = []
        container: Any = None
        key: Any = _NO_KEY
        anchored: _Anchored | None = None
        started = 0
        flow = False
        integer_class = self.whole
        scalar = self._scalar
        while True:
            event = get_event()
            kind = type(event)
            from_alias = False
            if kind is pyyaml.ScalarEvent:
                value: Any = scalar(event, flow, type(container) is dict, key is _NO_KEY)
                if value is _MERGE_KEY:
                    key = _MERGE_KEY
                    continue
            elif kind is pyyaml.MappingStartEvent or kind is pyyaml.SequenceStartEvent:
                self.decoded += 1
                if self.decoded > self.uncounted:
                    self._count(event)
                if event.tag is not None and event.flow_style:
                    repair_tag(event, self.text)
                self._open(event, len(stack))
                stack.append((container, key, anchored, started, flow))
                container, key, anchored, started = {} if kind is pyyaml.MappingStartEvent else [], _NO_KEY, None, 0
                flow = event.flow_style
                if event.anchor is not None:
                    anchored, started = _Anchored(container, 0, False), self.decoded - 1
                    self.anchors[event.anchor] = anchored
                continue
            elif kind is pyyaml.MappingEndEvent or kind is pyyaml.SequenceEndEvent:
                value = container
                if anchored is not None:
                    anchored.count, anchored.complete = self.decoded - started, True
                container, key, anchored, started, flow = stack.pop()
            else:
                value = self._alias(event, len(stack))
                from_alias = True
            if container is None:
                return float(value) if value.__class__ is integer_class else value
            if type(container) is list:
                container.append(float(value) if value.__class__ is integer_class else value)
            elif key is _NO_KEY:
                if value.__class__ in (dict, list) and not value and not from_alias:
                    self._empty_key(value, event, (stack[-1][0], container), flow)
                key = value if value.__class__ is str else self._key(value, event)
            elif key is _MERGE_KEY:
                self._merge(container, value, from_alias, event)
                key = _NO_KEY
            else:
                if self.strict and key in container:
                    line = event.start_mark.line + 1
                    self.repeated_at = self.repeated_at or event.start_mark
                    if len(self.repeated) < _MOST_REPEATED_KEYS:
                        self.repeated.append(f'line {line}: key "{key}" already set in map')
                else:
                    container[key] = float(value) if value.__class__ is integer_class else value
                    if self.missing is not None and kind is pyyaml.ScalarEvent and value.__class__ is not str:
                        self.missing.add(container, key, event.value)
                key = _NO_KEY

    def _scalar(self, event: Any, flow: bool, in_map: bool, is_key: bool) -> Any:
        """Return a scalar's value; _MERGE_KEY for `<<` as a map's key."""
        self.decoded += 1
        if self.decoded > self.uncounted:
            self._count(event)
        if self.odd:
            self._examine(event, flow, in_map)
        if event.tag is not None:
            if is_key and in_map and is_merge(event):
                return _MERGE_KEY
            if flow:
                repair_tag(event, self.text)
            value: Any = self._tagged(event)
        elif not event.implicit[0]:
            value = event.value
        else:
            text = event.value
            if text and text[0] not in HINTS:
                if text == "<<" and is_key and in_map:
                    return _MERGE_KEY
                value = text
            else:
                value = text if text in self.words_of_text else resolve_plain(text)[1]
                if value.__class__ in _NUMBERS and not -EXACT < value < EXACT:
                    self.unclean = True
        if event.anchor is not None:
            self.anchors[event.anchor] = _Anchored(value, 1, True)
        return value

    def _open(self, event: Any, depth: int) -> None:
        if depth >= MAX_DEPTH:
            raise YamlLimitError(_TOO_DEEP, problem=_TOO_DEEP_PROBLEM, mark=event.start_mark)
        if depth == 0:
            self.root_at, self.key_at = event.start_mark.index, -1
        elif depth == 1 and self.key_at == -1:
            self.key_at = event.start_mark.index if event.tag is None and event.anchor is None else -2

    def _examine(self, event: Any, flow: bool, mapping: bool) -> None:
        r"""Handle what go-yaml scans differently: `?` in flow, `\/` in quotes, the substitute characters."""
        text: str = event.value
        if COLON in text:
            event.value = text.replace(COLON, ":")
        if self.hides_marks:
            event.value = event.value.replace(HIDDEN_MARK, "\ufeff")
        if problem := scalar_problem(event, self, flow, mapping):
            raise YamlError(f"{CONVERTING}yaml: {problem}", problem=problem)

    def _tagged(self, event: Any) -> Scalar:
        tag: str = event.tag
        try:
            resolved_tag, value = resolve_tagged(tag, event.value)
            if resolved_tag == BINARY:
                return decode_binary(event.value)
        except ValueError as error:
            self._fail(str(error), "a value does not fit its tag", event)
            return None
        if resolved_tag == TIMESTAMP:
            return str(event.value)
        if value.__class__ in _NUMBERS and not -EXACT < value < EXACT:
            self.unclean = True
        return value

    def _alias(self, event: Any, depth: int) -> Any:
        anchored = self.anchors.get(event.anchor)
        if anchored is None:
            raise YamlError(
                f"{CONVERTING}yaml: unknown anchor '{event.anchor}' referenced",
                problem="an alias has no anchor",
                mark=event.start_mark,
            )
        if not anchored.complete:
            self._fail(f"anchor '{event.anchor}' value contains itself", "an anchor contains itself", event)
            return None
        self.decoded += 1 + anchored.count
        self.aliased += anchored.count
        self._check_aliasing(event)
        if self.failure:
            return None
        anchored.measure()
        self.budget.characters -= anchored.characters
        if self.decoded > self.most or self.budget.characters < 0:
            self._fail(_ALIASING, _ALIASING, event)
            return None
        if depth + anchored.levels > MAX_DEPTH:
            raise YamlLimitError(_TOO_DEEP, problem=_TOO_DEEP_PROBLEM, mark=event.start_mark)
        self._count(event)
        return copy_plain(anchored.value)

    def _check_aliasing(self, event: Any = None) -> None:
        if (
            self.aliased > 100
            and self.decoded > 1000
            and self.aliased / self.decoded > allowed_alias_ratio(self.decoded)
        ):
            self._fail(_ALIASING, _ALIASING, event)

    def _empty_key(self, value: Any, event: Any, containers: tuple[Any, Any], flow: bool) -> None:
        """Handle `[]` or `{}` as a key: go-yaml no longer accepts them as one when the colon comes."""
        parent, container = containers
        if parent is None and not container and self.key_at == self.root_at:
            raise _EarlyEndError(value)
        if problem := empty_key_problem(event, self.text, parent if not container and not flow else container, flow):
            raise YamlError(f"{CONVERTING}yaml: {problem}", problem=problem)

    def _key(self, value: Any, event: Any) -> Any:
        if isinstance(value, (dict, list)):
            if self.failure is None:
                from kymatui.helm.yaml.printing import shown_key

                self._fail(f"invalid map key: {shown_key(value)}", "a map or a list is a key", event)
            return ""
        if isinstance(value, bool):
            return "true" if value else "false"
        if isinstance(value, float):
            from kymatui.helm.yaml.printing import float_key

            return float_key(value)
        if isinstance(value, int) and value <= MAX_INT:
            return str(value)
        self.unclean = True
        return BadKey(value)

    def _merge(self, target: dict[str, Any], value: Any, from_alias: bool, event: Any) -> None:
        """Merge: a merge key overrides keys before it and is overridden by keys after it."""
        parts = [value] if isinstance(value, dict) else value
        if not isinstance(parts, list) or (from_alias and parts is value):
            self._fail(_MERGING, _MERGING, event)
            return
        for part in reversed(parts):
            if not isinstance(part, dict):
                self._fail(_MERGING, _MERGING, event)
                return
            target.update(part)


_ALIASING: Final = "document contains excessive aliasing"
_MERGING: Final = "map merge requires map or sequence of maps as the value"
_NUMBERS: Final = (int, float)
