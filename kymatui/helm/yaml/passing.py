"""Effects of JSON and the YAML reader on strings that pass through both, as in toYaml.

sigs.k8s.io/yaml writes JSON, reads it as YAML 1.1 and writes the result. Most strings stay unchanged.
"""

from __future__ import annotations

from typing import Final

from kymatui.helm.yaml.errors import YamlError
from kymatui.patterns import deferred

_TOUCHED: Final = deferred("[\x7f-\x9f\ufffe\uffff\ud800-\udfff]")
_REFUSED: Final = deferred("[\x7f-\x84\x86-\x9f\ufffe\uffff]")
_BROKEN: Final = deferred("[\ud800-\udfff]")
_FOLDED: Final = deferred("(?<! ) *\x85(?: *\x85)* *")  # from the first of the spaces only: many take no longer
_DOCUMENT_MARK: Final = deferred("\x85(?:---|\\.\\.\\.)[ \x85]")
_ESCAPED: Final = deferred('[\x00-\x1f<>&\u2028\u2029"\\\\]')
_SIMPLE_KEY: Final = 1024
_SHORT: Final = frozenset('\b\f\n\r\t"\\')


def pass_json(text: str) -> str:
    """Return a string after JSON and YAML: invalid UTF-8 is U+FFFD, and NEL is a line break that folds."""
    if (text.isascii() and "\x7f" not in text) or not _TOUCHED.search(text):
        return text
    text = _BROKEN.sub("\ufffd", text)
    if _REFUSED.search(text):
        raise YamlError("yaml: control characters are not allowed")
    if "\x85" not in text:
        return text
    if _DOCUMENT_MARK.search(text):
        raise YamlError("yaml: found unexpected document indicator")
    return _FOLDED.sub(lambda match: "\n" * (match[0].count("\x85") - 1) or " ", text)


def pass_json_key(text: str) -> str:
    """Return a key after JSON and YAML, which limits it to one line and 1,024 characters."""
    if len(text) > _SIMPLE_KEY // 6 and _json_length(text) > _SIMPLE_KEY:
        raise YamlError("yaml: did not find expected ',' or '}'")
    passed = pass_json(text)
    if "\x85" in text:
        raise YamlError("yaml: did not find expected ',' or '}'")
    return passed


def _json_length(text: str) -> int:
    extra = sum(1 if match[0] in _SHORT else 5 for match in _ESCAPED.finditer(text))
    return len(text) + 2 + extra + 5 * len(_BROKEN.findall(text))
