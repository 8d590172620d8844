"""YAML reader as in Helm: sigs.k8s.io/yaml, that is go-yaml v2, then JSON, then Go values.

All numbers are float, all keys str, dates str, aliases copies. Only the first document is read, as in Go; `documents`
reads all. PyYAML's parser (libyaml) provides the events; everything else is implemented here, because no resolver of
PyYAML agrees with Go's.

All YAML from outside is read here, within the limits of `limits`: tags besides the plain ones have no effect, and no
text makes this run long, recurse, or fail with anything but YamlError.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

import yaml as pyyaml

from kymatui.helm.govalues.text import to_bytes
from kymatui.helm.yaml.conversions import CONVERTING, syntax_error
from kymatui.helm.yaml.errors import YamlError, YamlLimitError
from kymatui.helm.yaml.limits import LARGEST_REREADING, LARGEST_TEXT, MOST_TAG_DIRECTIVES, YamlBudget
from kymatui.helm.yaml.misreading import UnexpectedCharacterError, hide_marks
from kymatui.helm.yaml.node_reader import END, MissingValues, NodeReader
from kymatui.helm.yaml.resolving import OLD_BOOLEANS

_LOADER: Final[Any] = getattr(pyyaml, "CSafeLoader", pyyaml.SafeLoader)
_MAX_COLONS: Final = 100
_TAG_DIRECTIVE: Final = b"%TAG"
_WIDE_TAG_DIRECTIVE: Final = b"%\0T\0A\0G"  # UTF-16, in both orders
_TAG_DIRECTIVE_LINE: Final = rb"(?:\A|[\r\n]|\xc2\x85|\xe2\x80[\xa8\xa9])%TAG"


def load_yaml(text: str | bytes, *, strict: bool = False, budget: YamlBudget | None = None) -> Any:
    """Return the first document (None if there is none): None, bool, float, str, list, dict.

    With `strict`, a duplicate key is an error (else the last one wins). `budget` is that of the source, if it has
    several texts. Raise YamlError with Go's message.
    """
    return _load(text, strict, budget or YamlBudget())[0]


def load_exactly(text: str | bytes, *, strict: bool = False, budget: YamlBudget | None = None) -> Any:
    """Return the first document with whole numbers as int; `strict` and `budget` as in `load_yaml`.

    go-yaml writes 20240101 into a string field differently from 20240101.0.
    """
    return _load(text, strict, budget or YamlBudget(), keeps_integers=True)[0]


def load_as_json(text: str | bytes) -> Any:
    """Return the first document as a JSON parser reads Go's output: integers from 2**53 to 1e21 are int.

    Go prints the shortest digits of the same float, so 9223372036854775807 becomes 9223372036854776000.
    """
    value, large = _load(text, strict=False, budget=YamlBudget())
    if not large:
        return value
    from kymatui.helm.yaml.printing import printed_digits

    return printed_digits(value)


def _load(text: str | bytes, strict: bool, budget: YamlBudget, *, keeps_integers: bool = False) -> tuple[Any, bool]:
    data, hides_marks = hide_marks(_encoded(text))
    for attempt in range(_MAX_COLONS):
        reader = NodeReader(data, strict, budget, keeps_integers=keeps_integers, hides_marks=hides_marks)
        try:
            value = reader.next_document()
        except UnexpectedCharacterError as error:
            data = _repaired(error, attempt)
        else:
            return None if value is END else value, reader.unclean
        finally:
            reader.charge()
    raise YamlError(f"{CONVERTING}yaml: found unexpected ':'", problem="found unexpected ':'")


def documents(
    text: str | bytes,
    *,
    keeps_integers: bool = False,
    old_words: bool = True,
    strict: bool = False,
    budget: YamlBudget | None = None,
    missing: MissingValues | None = None,
) -> Iterator[Any]:
    """Yield the value of each document, as the stream decoder of k8s.io/apimachinery. Raise YamlError.

    whole: whole numbers are int, as in load_exactly; objects of a cluster have int64.
    old_words: yes, no, on, off, y and n are booleans; in go-yaml v3 they are text.
    strict: a duplicate key is an error, as in go-yaml v3.
    missing: gets the keys that have no value.
    """
    data = _encoded(text)
    budget = budget or YamlBudget()
    yielded = 0
    for attempt in range(_MAX_COLONS):
        reader = NodeReader(data, strict, budget, keeps_integers=keeps_integers)
        reader.words_of_text = frozenset() if old_words else OLD_BOOLEANS
        reader.missing = missing
        position = 0
        try:
            while (value := reader.next_document()) is not END:
                position += 1
                if position > yielded:
                    yielded = position
                    yield value
        except UnexpectedCharacterError as error:
            data = _repaired(error, attempt)
        else:
            return
        finally:
            reader.charge()


def compose_yaml(text: str | bytes) -> pyyaml.Node | None:
    """Return the nodes of the first document, which know their lines. Raise YamlError, also where `load_yaml` does."""
    load_yaml(text)  # PyYAML's composer has no limits, and recurses
    try:
        node: pyyaml.Node | None = next(pyyaml.compose_all(text, _LOADER), None)
    except pyyaml.YAMLError as error:
        raise syntax_error(error) from error
    except ValueError as error:
        raise YamlError(f"{CONVERTING}yaml: {error}") from error
    return node


def _encoded(text: str | bytes) -> bytes:
    try:
        data = to_bytes(text) if isinstance(text, str) else text
    except UnicodeEncodeError as error:
        raise YamlError(
            f"{CONVERTING}yaml: invalid Unicode character", problem="it has an invalid Unicode character"
        ) from error
    if len(data) > LARGEST_TEXT:
        problem = f"it is larger than {LARGEST_TEXT >> 20} MiB"
        raise YamlLimitError(f"{CONVERTING}yaml: {problem}", problem=problem)
    _require_few_directives(data)
    return data


def _repaired(error: UnexpectedCharacterError, attempt: int) -> bytes:
    """Return the text with the substitute. Raise YamlError after too many attempts."""
    if attempt == _MAX_COLONS - 1 or (attempt + 1) * len(error.repaired) > LARGEST_REREADING:
        raise syntax_error(error.error) from error.error
    return error.repaired


def _require_few_directives(data: bytes) -> None:
    """Raise YamlLimitError for a text with many `%TAG` lines, each of which libyaml compares with all others."""
    if _TAG_DIRECTIVE not in data and _WIDE_TAG_DIRECTIVE not in data:
        return
    number = sum(1 for _ in re.finditer(_TAG_DIRECTIVE_LINE, data)) + data.count(_WIDE_TAG_DIRECTIVE)
    if number > MOST_TAG_DIRECTIVES:
        raise YamlLimitError(
            f"{CONVERTING}yaml: exceeded max count of {MOST_TAG_DIRECTIVES} %TAG directives",
            problem=f"it has more than {MOST_TAG_DIRECTIVES} %TAG directives",
        )
