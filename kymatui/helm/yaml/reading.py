"""YAML reader as in Helm: sigs.k8s.io/yaml, that is go-yaml v2, then JSON, then Go values.

All numbers are float, all keys str, dates str, aliases copies. Only the first document is read, as in Go; `documents`
reads all. PyYAML's parser (libyaml) provides the events; everything else is implemented here, because no resolver of
PyYAML agrees with Go's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

import yaml as pyyaml

from kymatui.helm.govalues.text import to_bytes
from kymatui.helm.yaml.conversions import (
    CONVERTING,
    EXACT,
    allowed_alias_ratio,
    check_clean,
    copy_plain,
    decode_binary,
    float_key,
    printed_digits,
    syntax_error,
)
from kymatui.helm.yaml.errors import BadKey, YamlError
from kymatui.helm.yaml.misreading import (
    COLON,
    HIDDEN_MARK,
    UnexpectedCharacterError,
    bracket_problem,
    empty_key_problem,
    hide_marks,
    repair_syntax,
    repair_tag,
    scalar_problem,
    shown_key,
)
from kymatui.helm.yaml.resolving import (
    BINARY,
    HINTS,
    MAX_INT,
    OLD_BOOLEANS,
    TIMESTAMP,
    Scalar,
    is_merge,
    resolve_plain,
    resolve_tagged,
)

try:
    from yaml._yaml import CParser as _Parser
except ImportError:  # PyYAML without libyaml: the same events, ten times slower

    class _Parser(pyyaml.reader.Reader, pyyaml.scanner.Scanner, pyyaml.parser.Parser):  # type: ignore[no-redef]
        def __init__(self, stream: bytes) -> None:
            pyyaml.reader.Reader.__init__(self, stream)
            pyyaml.scanner.Scanner.__init__(self)
            pyyaml.parser.Parser.__init__(self)


MAX_DEPTH: Final = 500
"""Collections within collections; Go allows 10,000, Python's stack does not."""

_TOO_DEEP: Final = f"{CONVERTING}yaml: exceeded max depth of {MAX_DEPTH}"
_TOO_DEEP_FOR_LIBYAML: Final = "exceeded maximum nesting depth"
"""The problem of libyaml from 0.2.6 on, which reads ahead and stops at 1,000."""

_NO_KEY: Final = object()
_MERGE_KEY: Final = object()
_END: Final = object()
_MAX_COLONS: Final = 100
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

    __slots__ = ("complete", "count", "value")

    def __init__(self, value: Any, count: int, complete: bool) -> None:
        self.value = value
        self.count = count
        self.complete = complete


def load_yaml(text: str | bytes, *, strict: bool = False) -> Any:
    """Return the first document (None if there is none): None, bool, float, str, list, dict.

    With `strict`, a duplicate key is an error (else the last one wins). Raise YamlError with Go's message.
    """
    return _load(text, strict)[0]


def load_exactly(text: str | bytes, *, strict: bool = False) -> Any:
    """Return the first document with whole numbers as int; `strict` as in `load_yaml`.

    go-yaml writes 20240101 into a string field differently from 20240101.0.
    """
    return _load(text, strict, whole=True)[0]


def load_as_json(text: str | bytes) -> Any:
    """Return the first document as a JSON parser reads Go's output: integers from 2**53 to 1e21 are int.

    Go prints the shortest digits of the same float, so 9223372036854775807 becomes 9223372036854776000.
    """
    value, large = _load(text, strict=False)
    return printed_digits(value) if large else value


def _load(text: str | bytes, strict: bool, *, whole: bool = False) -> tuple[Any, bool]:
    data, hides_marks = hide_marks(to_bytes(text) if isinstance(text, str) else text)
    for _ in range(_MAX_COLONS):
        reader = _Reader(data, strict, whole=whole, hides_marks=hides_marks)
        try:
            value = reader.next_document()
        except UnexpectedCharacterError as found:
            data = found.repaired
        else:
            return None if value is _END else value, reader.unclean
    raise YamlError(f"{CONVERTING}yaml: found unexpected ':'")


def documents(text: str | bytes, *, whole: bool = False, old_words: bool = True) -> Iterator[Any]:
    """Yield the value of each document, as the stream decoder of k8s.io/apimachinery. Raise YamlError.

    whole: whole numbers are int, as in load_exactly; objects of a cluster have int64.
    old_words: yes, no, on, off, y and n are booleans; in go-yaml v3 they are text.
    """
    data = to_bytes(text) if isinstance(text, str) else text
    yielded = 0
    for attempt in range(_MAX_COLONS):
        reader = _Reader(data, strict=False, whole=whole)
        reader.words_of_text = frozenset() if old_words else OLD_BOOLEANS
        position = 0
        try:
            while (value := reader.next_document()) is not _END:
                position += 1
                if position > yielded:
                    yielded = position
                    yield value
        except UnexpectedCharacterError as found:
            if attempt == _MAX_COLONS - 1:
                raise syntax_error(found.error) from found.error
            data = found.repaired
        else:
            return


class _Reader:
    """One pass over the events of a text, without recursion so that deep nesting is harmless."""

    def __init__(self, data: bytes, strict: bool, *, whole: bool = False, hides_marks: bool = False) -> None:
        self.whole: Any = _Never if whole else int
        self.data = data
        self.strict = strict
        self.hides_marks = hides_marks
        self.odd = hides_marks or any(mark in data for mark in _ODD)
        self.root_at = self.key_at = -1
        self.anchors: dict[str, _Anchored] = {}
        self.unclean = False
        self.failure: str | None = None
        self.repeated: list[str] = []
        self.decoded = 0
        self.aliased = 0
        self.words_of_text: frozenset[str] = frozenset()
        try:
            self.parser = _Parser(data or b"\n")
        except pyyaml.YAMLError as error:
            raise syntax_error(error) from error

    def next_document(self) -> Any:
        self.anchors.clear()
        try:
            event = self.parser.get_event()
            if isinstance(event, pyyaml.StreamStartEvent):
                event = self.parser.get_event()
            if event is None or isinstance(event, pyyaml.StreamEndEvent):
                return _END
            if getattr(event, "version", None) not in (None, (1, 1)):
                raise YamlError(f"{CONVERTING}yaml: found incompatible YAML document")
            value = self._node()
            self.parser.get_event()
        except _EarlyEndError as end:
            return end.value
        except pyyaml.YAMLError as error:
            if getattr(error, "problem", None) == _TOO_DEEP_FOR_LIBYAML:
                raise YamlError(_TOO_DEEP) from error
            repair_syntax(error, self.data)
            if (problem := bracket_problem(error, self.data, _Parser)) is not None:
                raise YamlError(f"{CONVERTING}yaml: {problem}") from error
            raise syntax_error(error) from error
        except UnicodeError as error:
            raise YamlError(f"{CONVERTING}yaml: invalid Unicode character") from error
        self._refuse()
        if self.unclean:
            check_clean(value)
        return value

    def _refuse(self) -> None:
        if self.failure is None:
            self._check_aliasing()
        if self.failure is not None:
            raise YamlError(f"{CONVERTING}yaml: {self.failure}")
        if self.repeated:
            raise YamlError(f"{CONVERTING}yaml: unmarshal errors:\n  " + "\n  ".join(self.repeated))

    def _fail(self, words: str) -> None:
        """Record the first failure; a later syntax error wins, since Go parses all before it decodes."""
        if self.failure is None:
            self.failure = words

    def _node(self) -> Any:
        get_event: Callable[[], Any] = self.parser.get_event
        stack: list[tuple[Any, Any, _Anchored | None, int, bool]] = []
        container: Any = None
        key: Any = _NO_KEY
        anchored: _Anchored | None = None
        started = 0
        flow = False
        whole = self.whole
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
                if event.tag is not None and event.flow_style:
                    repair_tag(event, self.data)
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
                value = self._alias(event)
                from_alias = True
            if container is None:
                return float(value) if value.__class__ is whole else value
            if type(container) is list:
                container.append(float(value) if value.__class__ is whole else value)
            elif key is _NO_KEY:
                if value.__class__ in (dict, list) and not value and not from_alias:
                    self._empty_key(value, event, (stack[-1][0], container), flow)
                key = value if value.__class__ is str else self._key(value)
            elif key is _MERGE_KEY:
                self._merge(container, value, from_alias)
                key = _NO_KEY
            else:
                if self.strict and key in container:
                    line = event.start_mark.line + 1
                    self.repeated.append(f'line {line}: key "{key}" already set in map')
                else:
                    container[key] = float(value) if value.__class__ is whole else value
                key = _NO_KEY

    def _scalar(self, event: Any, flow: bool, in_map: bool, is_key: bool) -> Any:
        """Return a scalar's value; _MERGE_KEY for `<<` as a map's key."""
        self.decoded += 1
        if self.odd:
            self._examine(event, flow, in_map)
        if event.tag is not None:
            if is_key and in_map and is_merge(event):
                return _MERGE_KEY
            if flow:
                repair_tag(event, self.data)
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
            raise YamlError(_TOO_DEEP)
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
        if problem := scalar_problem(event, self.data, flow, mapping):
            raise YamlError(f"{CONVERTING}yaml: {problem}")

    def _tagged(self, event: Any) -> Scalar:
        tag: str = event.tag
        try:
            found, value = resolve_tagged(tag, event.value)
            if found == BINARY:
                return decode_binary(event.value)
        except ValueError as error:
            self._fail(str(error))
            return None
        if found == TIMESTAMP:
            return str(event.value)
        if value.__class__ in _NUMBERS and not -EXACT < value < EXACT:
            self.unclean = True
        return value

    def _alias(self, event: Any) -> Any:
        anchored = self.anchors.get(event.anchor)
        if anchored is None:
            raise YamlError(f"{CONVERTING}yaml: unknown anchor '{event.anchor}' referenced")
        if not anchored.complete:
            self._fail(f"anchor '{event.anchor}' value contains itself")
            return None
        self.decoded += 1 + anchored.count
        self.aliased += anchored.count
        self._check_aliasing()
        return None if self.failure else copy_plain(anchored.value)

    def _check_aliasing(self) -> None:
        if (
            self.aliased > 100
            and self.decoded > 1000
            and self.aliased / self.decoded > allowed_alias_ratio(self.decoded)
        ):
            self._fail("document contains excessive aliasing")

    def _empty_key(self, value: Any, event: Any, containers: tuple[Any, Any], flow: bool) -> None:
        """Handle `[]` or `{}` as a key: go-yaml no longer accepts them as one when the colon comes."""
        parent, container = containers
        if parent is None and not container and self.key_at == self.root_at:
            raise _EarlyEndError(value)
        if problem := empty_key_problem(event, self.data, parent if not container and not flow else container, flow):
            raise YamlError(f"{CONVERTING}yaml: {problem}")

    def _key(self, value: Any) -> Any:
        if isinstance(value, (dict, list)):
            self._fail(f"invalid map key: {shown_key(value)}")
            return ""
        if isinstance(value, bool):
            return "true" if value else "false"
        if isinstance(value, float):
            return float_key(value)
        if isinstance(value, int) and value <= MAX_INT:
            return str(value)
        self.unclean = True
        return BadKey(value)

    def _merge(self, target: dict[str, Any], value: Any, from_alias: bool) -> None:
        """Merge: a merge key overrides keys before it and is overridden by keys after it."""
        parts = [value] if isinstance(value, dict) else value
        if not isinstance(parts, list) or (from_alias and parts is value):
            self._fail("map merge requires map or sequence of maps as the value")
            return
        for part in reversed(parts):
            if not isinstance(part, dict):
                self._fail("map merge requires map or sequence of maps as the value")
                return
            target.update(part)


_NUMBERS: Final = (int, float)
