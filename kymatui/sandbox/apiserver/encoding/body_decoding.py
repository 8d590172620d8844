"""Decoding of JSON and YAML bodies into objects of a resource's kind, with the server's messages."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import msgspec
import yaml

from kymatui.errors import HelmError
from kymatui.helm.yaml.errors import YamlError
from kymatui.helm.yaml.reading import compose_yaml, load_as_json
from kymatui.sandbox.apimachinery.exchange import ServerRequest
from kymatui.sandbox.apimachinery.statuses import StatusError, bad_request, invalid
from kymatui.sandbox.apiserver.encoding.content_negotiation import YAML, body_type
from kymatui.sandbox.apiserver.encoding.protobuf_decoding import PROTOBUF, ProtobufError, decode_protobuf
from kymatui.sandbox.apiserver.resources.resource import DecodingError, Object, ServedResource
from kymatui.schemas.values.field_errors import quoted

SCHEME = 'in scheme "pkg/runtime/scheme.go:111"'
TYPE_STRUCT = 'struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }'
_QUOTED = 30
_GO_KINDS: tuple[tuple[type, str], ...] = (
    (bool, "bool"),
    (str, "string"),
    (list, "array"),
    (int, "number"),
    (float, "number"),
)


class UnreadableYamlError(StatusError):
    """A 400 for a body that is not YAML; the text is the YAML reader's."""

    def __init__(self, why: str) -> None:
        super().__init__(bad_request(f"error converting YAML to JSON: {why}").status)
        self.args = (why,)

    def __str__(self) -> str:
        return str(self.args[0])


def go_type_name(value: Any) -> str:
    """Return the JSON type of a value as encoding/json names it."""
    return next((name for kind, name in _GO_KINDS if isinstance(value, kind)), "object")


def parse_json(data: bytes) -> Any:
    """Return JSON as Go decodes it. Raise ValueError with Go's message."""
    try:
        return msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        # json accepts what encoding/json does and msgspec does not (lone surrogates, large numbers).
        text = data.decode("utf-8", "replace")
        complaint = go_json_error(text)
        if complaint:
            raise ValueError(complaint) from None
        return json.loads(text, parse_constant=_no_constant)


def _no_constant(name: str) -> Any:
    raise ValueError(f"invalid character '{name[0]}' looking for beginning of value")


def parse_yaml(data: bytes) -> Any:
    """Return YAML as the server reads it: via JSON, with whole numbers as integers. Raise HelmError."""
    return _whole_numbers(load_as_json(data) if (value := _plain_json(data)) is None else value)


def _plain_json(data: bytes) -> Any:
    """Return JSON text that YAML reads the same way, as clients of JSON objects write it; else None.

    Text that encodes to the same bytes again has no duplicate key and nothing that JSON and YAML read differently,
    except for merge keys, characters that YAML forbids, and numbers with too many digits for Go.
    """
    if not data.startswith(b"{") or not data.isascii() or _DOUBTFUL.search(data):
        return None
    try:
        value = msgspec.json.decode(data)
    except (msgspec.DecodeError, RecursionError):
        return None
    return value if msgspec.json.encode(value) == data else None


_DOUBTFUL = re.compile(rb'"<<"|\x7f|[0-9]{16}|"[^"]{1000,}":')


def _whole_numbers(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _whole_numbers(part) for name, part in value.items()}
    if isinstance(value, list):
        return [_whole_numbers(part) for part in value]
    if isinstance(value, float) and value.is_integer() and abs(value) < 1 << 63:
        return int(value)
    return value


def as_json(request: ServerRequest) -> bytes:
    """Return the body as JSON. Raise StatusError 400, 415."""
    form = body_type(request)
    try:
        if form == PROTOBUF:
            return msgspec.json.encode(decode_protobuf(request.body))
        if form == YAML:
            return msgspec.json.encode(parse_yaml(request.body))
    except ProtobufError as error:
        raise bad_request(str(error)) from None
    except HelmError as error:
        raise UnreadableYamlError(str(error).removeprefix("error converting YAML to JSON: ")) from None
    return request.body


def decode_body(request: ServerRequest, resource: ServedResource) -> Object:
    """Return the object of a POST or PUT with checked `kind` and `apiVersion`.

    Raise StatusError 400, 415, 422.
    """
    try:
        data = as_json(request)
    except UnreadableYamlError as error:
        raise unrecognized(resource, str(error), request.body, binary=True) from None
    is_yaml = data is not request.body
    try:
        value = parse_json(data)
    except ValueError as error:
        raise unrecognized(resource, f"couldn't get version/kind; json parse error: {error}", data) from None
    if value is None:
        value = {}
    if not isinstance(value, dict):
        why = f"json: cannot unmarshal {go_type_name(value)} into Go value of type {TYPE_STRUCT}"
        raise unrecognized(resource, f"couldn't get version/kind; json parse error: {why}", request.body, binary=True)
    problem = type_fields_problem(value)
    if problem:
        raise unrecognized(resource, problem, request.body, binary=is_yaml)
    return value


def type_fields_problem(value: Object) -> str:
    """Return the message for an `apiVersion` or `kind` that is no string, "" if both are."""
    for name in ("apiVersion", "kind"):
        field_value = value.get(name)
        if field_value is not None and not isinstance(field_value, str):
            return (
                "couldn't get version/kind; json parse error: json: cannot unmarshal "
                f"{go_type_name(field_value)} into Go struct field .{name} of type string"
            )
    return ""


def unrecognized(resource: ServedResource, why: str, data: bytes, *, binary: bool = False) -> StatusError:
    """Return the 400 for a body of unknown kind; it quotes the start of the body as the server does."""
    text = data.decode("utf-8", "replace")
    if not text:
        shown = "<empty>"
    elif binary or not text.lstrip().startswith("{"):
        shown = data.hex() if len(data) <= 32 else data[:32].hex() + " ..."
    else:
        shown = text if len(text) <= _QUOTED else text[:_QUOTED] + " ..."
    return bad_request(f"the object provided is unrecognized (must be of type {resource.kind}): {why} ({shown})")


def check_kind(value: Object, resource: ServedResource, registered: Callable[[str, str], bool], data: bytes) -> None:
    """Raise StatusError if the object is not of the resource's kind; fill both fields of built-in kinds."""
    api_version, kind = value.get("apiVersion") or "", value.get("kind") or ""
    if resource.custom:
        _check_custom_kind(value, resource, api_version, kind, data)
        return
    api_version = api_version or resource.api_version
    kind = kind or resource.kind
    value["apiVersion"], value["kind"] = api_version, kind
    if (api_version, kind) == (resource.api_version, resource.kind):
        return
    version = api_version.rpartition("/")[2]
    if registered(api_version, kind):
        why = f"converting ({version}.{kind}) to ({_internal(resource)}): unknown conversion"
    else:
        why = f'no kind "{kind}" is registered for version "{api_version}" {SCHEME}'
    raise cannot_handle(kind, version, resource.kind, why)


def _internal(resource: ServedResource) -> str:
    group = resource.group.split(".")[0] or "core"
    return f"{group}.{resource.kind}"


def _check_custom_kind(value: Object, resource: ServedResource, api_version: str, kind: str, data: bytes) -> None:
    if not kind:
        text = data.decode("utf-8", "replace")
        raise unrecognized(resource, f"Object 'Kind' is missing in '{text}'", data)
    if api_version != resource.api_version:
        raise bad_request(
            f"the API version in the data ({api_version}) does not match the expected API version "
            f"({resource.api_version})"
        )
    if kind != resource.kind:
        name = (value.get("metadata") or {}).get("name") or ""
        message = f'Invalid value: "{kind}": must be {resource.kind}'
        cause = {"reason": "FieldValueInvalid", "message": message, "field": "kind"}
        raise invalid(f"{kind}.{resource.group}", name, [cause])


def cannot_handle(kind: str, version: str, expected: str, why: str) -> StatusError:
    return bad_request(f'{kind} in version "{version}" cannot be handled as a {expected}: {why}')


class _Doubled(dict[str, Any]):
    """An object with duplicate fields."""

    names: tuple[str, ...] = ()


def duplicate_fields(data: bytes) -> list[str]:
    """Return the strict-decoding messages for duplicate fields."""
    if not data:
        return []
    if not data.lstrip().startswith((b"{", b"[")):
        return _doubled_in_yaml(data)
    doubled_fields: list[_Doubled] = []

    def gather(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        value = dict(pairs)
        if len(value) == len(pairs):
            return value
        doubled = _Doubled(value)
        doubled.names = tuple(name for name, count in Counter(name for name, _ in pairs).items() if count > 1)
        doubled_fields.append(doubled)
        return doubled

    try:
        value = json.loads(data, object_pairs_hook=gather)
    except (ValueError, RecursionError):
        return []
    return [f'duplicate field "{location}"' for location in _doubled_places(value, "")] if doubled_fields else []


def _doubled_in_yaml(data: bytes) -> list[str]:
    """Return the YAML library's single message that lists all duplicate keys by line."""
    try:
        root = compose_yaml(data)
    except YamlError:
        return []
    lines = [f"  line {line}: key {quoted(key)} already set in map" for line, key in _doubled_keys(root)]
    return ["yaml: unmarshal errors:\n" + "\n".join(lines)] if lines else []


def _doubled_keys(root: yaml.Node | None) -> Iterator[tuple[int, str]]:
    """Yield (line, key) of every key that is repeated in its mapping."""
    if isinstance(root, yaml.SequenceNode):
        for item in root.value:
            yield from _doubled_keys(item)
    elif isinstance(root, yaml.MappingNode):
        keys: set[str] = set()
        for key, value in root.value:
            if isinstance(key, yaml.ScalarNode):
                if key.value in keys:
                    yield key.start_mark.line + 1, key.value
                keys.add(key.value)
            yield from _doubled_keys(value)


def _doubled_places(value: Any, location: str) -> Iterator[str]:
    if isinstance(value, dict):
        if isinstance(value, _Doubled):
            yield from (f"{location}{name}" for name in value.names)
        for name, part in value.items():
            yield from _doubled_places(part, f"{location}{name}.")
    elif isinstance(value, list):
        for index, part in enumerate(value):
            yield from _doubled_places(part, f"{location.rstrip('.')}[{index}].")


def decode_typed(
    value: Object, resource: ServedResource, validation: str, doubled: Sequence[str] = ()
) -> tuple[Object, list[str]]:
    """Return the typed object with defaults, and warnings. Raise StatusError 400."""
    try:
        obj, problems = resource.semantics.decode(value)
        problems = [*doubled, *problems]
    except DecodingError as error:
        raise cannot_handle(resource.kind, resource.version, resource.kind, str(error)) from None
    if problems and validation == "Strict":
        why = "strict decoding error: " + ", ".join(problems)
        raise cannot_handle(resource.kind, resource.version, resource.kind, why)
    return obj, problems if validation == "Warn" else []


_SPACE = " \t\r\n"
_LITERALS = {"t": "true", "f": "false", "n": "null"}
_NUMBER_END = re.compile(r"[0-9]*")
_DEEPEST = 10_000
_END = "unexpected end of JSON input"


class _SyntaxError(ValueError):
    pass


def go_json_error(text: str) -> str:
    """Return Go's message for text that is not JSON, "" for JSON."""
    try:
        _Scanner(text).scan()
    except _SyntaxError as error:
        return str(error)
    return ""


def _quoted(char: str) -> str:
    if char == "'":
        return "'\\''"
    if char == '"':
        return "'\"'"
    if char in "\t\n\r\a\b\f\v\\":
        return {"\t": "'\\t'", "\n": "'\\n'", "\r": "'\\r'", "\a": "'\\a'", "\b": "'\\b'"}.get(
            char, {"\f": "'\\f'", "\v": "'\\v'", "\\": "'\\\\'"}.get(char, "")
        )
    if ord(char) < 0x20 or ord(char) == 0x7F:
        return f"'\\x{ord(char):02x}'"
    return f"'{chr(char.encode()[0])}'" if ord(char) > 0x7F else f"'{char}'"


class _Scanner:
    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._open: list[str] = []

    def scan(self) -> None:
        """Read the whole text. Raise `_SyntaxError`."""
        self._value()
        while self._open:
            self._space()
            char = self._peek()
            if self._open[-1] == "{":
                if char == ",":
                    self._at += 1
                    self._key()
                    self._value()
                elif char == "}":
                    self._close()
                else:
                    raise self._wrong("after object key:value pair")
            elif char == ",":
                self._at += 1
                self._value()
            elif char == "]":
                self._close()
            else:
                raise self._wrong("after array element")
        self._space()
        if self._at < len(self._text):
            raise self._wrong("after top-level value")

    def _peek(self) -> str:
        """Return the current character. Raise `_SyntaxError` at the end."""
        if self._at >= len(self._text):
            raise _SyntaxError(_END)
        return self._text[self._at]

    def _wrong(self, context: str) -> _SyntaxError:
        return _SyntaxError(f"invalid character {_quoted(self._peek())} {context}")

    def _space(self) -> None:
        while self._at < len(self._text) and self._text[self._at] in _SPACE:
            self._at += 1

    def _close(self) -> None:
        self._open.pop()
        self._at += 1

    def _key(self) -> None:
        self._space()
        if self._peek() != '"':
            raise self._wrong("looking for beginning of object key string")
        self._string()
        self._space()
        if self._peek() != ":":
            raise self._wrong("after object key")
        self._at += 1

    def _value(self) -> None:
        """Read a scalar, an empty collection, or all brackets in front of the first scalar."""
        while True:
            self._space()
            char = self._peek()
            if char not in "{[":
                self._scalar(char)
                return
            self._open.append(char)
            if len(self._open) > _DEEPEST:
                raise _SyntaxError("exceeded max depth")
            self._at += 1
            self._space()
            if self._peek() == ("}" if char == "{" else "]"):
                self._close()
                return
            if char == "{":
                self._key()

    def _scalar(self, char: str) -> None:
        if char == '"':
            self._string()
        elif char in _LITERALS:
            self._literal(_LITERALS[char])
        elif char == "-" or (char.isascii() and char.isdigit()):
            self._number()
        else:
            raise self._wrong("looking for beginning of value")

    def _string(self) -> None:
        self._at += 1
        while (char := self._peek()) != '"':
            if ord(char) < 0x20:
                raise self._wrong("in string literal")
            self._at += 1
            if char == "\\":
                self._escape()
        self._at += 1

    def _escape(self) -> None:
        char = self._peek()
        if char not in 'bfnrt\\/"u':
            raise self._wrong("in string escape code")
        self._at += 1
        if char == "u":
            for _ in range(4):
                if self._peek() not in "0123456789abcdefABCDEF":
                    raise self._wrong("in \\u hexadecimal character escape")
                self._at += 1

    def _literal(self, word: str) -> None:
        for expected in word:
            if self._peek() != expected:
                raise self._wrong(f"in literal {word} (expecting '{expected}')")
            self._at += 1

    def _digits(self) -> None:
        match = _NUMBER_END.match(self._text, self._at)
        self._at = match.end() if match else self._at

    def _digit(self, context: str) -> None:
        if not "0" <= self._peek() <= "9":
            raise self._wrong(context)
        self._digits()

    def _number(self) -> None:
        if self._peek() == "-":
            self._at += 1
            if not "0" <= self._peek() <= "9":
                raise self._wrong("in numeric literal")
        if self._peek() == "0":
            self._at += 1
        else:
            self._digits()
        if self._text.startswith(".", self._at):
            self._at += 1
            self._digit("after decimal point in numeric literal")
        if self._text[self._at : self._at + 1] in ("e", "E"):
            self._at += 1
            if self._peek() in "+-":
                self._at += 1
            self._digit("in exponent of numeric literal")
