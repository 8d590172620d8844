"""What leaves a cluster in a file for other people: rules that replace secrets and names of people, and count it.

A rule errs on the side of hiding. Every rule has a name and a sentence, which are printed with the number of its hits.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from functools import partial
from typing import Any, Final

from msgspec import Struct

from kymatui.domain.kubernetes.object_meta import LAST_APPLIED

_DEEPEST = 200  # levels of an object, since each level recurses
_WORDS = (
    r"(?:pass(?:word|wd|phrase|code)?|pwd|tokens?|secrets?|credentials?|(?:api|access|private|secret)[-_]?key"
    r"|(?<![a-z])auth)"
)


class RedactionRule(Struct, frozen=True):
    """A rule; `pattern` finds it in texts, with the part to keep as its first group. "" for rules about fields."""

    name: str
    explanation: str
    pattern: str = ""


SECRET_DATA: Final = RedactionRule("secret-data", "Secrets are read without their data; the server does not send it")
APPLIED: Final = RedactionRule(
    "applied-configuration", "annotations in which kubectl repeats a whole object are removed"
)
FIELD: Final = RedactionRule(
    "field", "values of fields, keys and arguments whose name ends in password, token, secret, key and the like"
)
VARIABLE: Final = RedactionRule(
    "variable", "values of environment variables whose name has such a word anywhere; all others are printed"
)
_TEXTS: Final = (
    RedactionRule(
        "private-key",
        "private keys in PEM",
        r"()-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----[^-]{0,16384}(?:-----END [A-Z ]{0,40}PRIVATE KEY-----)?",
    ),
    RedactionRule("jwt", "JSON Web Tokens", r"()\beyJ[\w-]{8,}\.[\w-]{8,}(?:\.[\w-]*)?"),
    RedactionRule(
        "authorization", "credentials of Authorization headers", r"(?i)(\b(?:bearer|basic)[ :]{1,3})[\w+/.~=-]{8,}"
    ),
    RedactionRule(
        "url-login", "user and password in URLs", r"(\b[a-z][a-z0-9+.-]{1,20}://)[^\s/@:]{0,200}:[^\s/@]{1,500}(?=@)"
    ),
    RedactionRule("access-key", "access keys of cloud providers", r"()\b(?:AKIA|ASIA)[A-Z0-9]{16}\b|()\bghp_\w{20,}"),
    RedactionRule(
        "assignment",
        "what follows password=, token: and the like in logs and messages",
        rf'(?i)({_WORDS}(?:"|\')?\s{{0,3}}(?:=\s{{0,3}}|:\s{{0,3}}(?=["\'])|:\s{{0,3}}(?=\S{{0,64}}\d)))'
        r'(?!\(redacted)(?:"[^"]{1,4096}"|\'[^\']{1,4096}\'|[^\s,;"\'{}()\[\]]{3,4096})',
    ),
    RedactionRule("email", "e-mail addresses", r"()\b[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{2,63}){1,4}\b"),
)
RULES: Final = (SECRET_DATA, APPLIED, FIELD, VARIABLE, *_TEXTS)

_COMPILED = tuple((rule, re.compile(rule.pattern)) for rule in _TEXTS)
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_FIELD_NAME = re.compile(rf"(?i)(?:^|[-_./]){_WORDS}(?:-?data)?$")
_MORE_FIELDS = re.compile(
    r"(?i)(?:^|[-_./])(?:client-key|client-key-data|kubeconfig|dockerconfigjson|htpasswd|cookie|dsn)$"
)
_VARIABLE_NAME = re.compile(r"(?i)pass|pwd|token|secret|credential|api_?key|access_?key|private|cookie|dsn")


def redacted(rule: RedactionRule) -> str:
    return f"(redacted: {rule.name})"


def _replacement(rule: RedactionRule, found: re.Match[str]) -> str:
    return (found[1] or "") + redacted(rule)


class Redactor:
    """Redacts texts and JSON values; `hits` counts by rule name."""

    def __init__(self) -> None:
        self.hits: Counter[str] = Counter()

    def text(self, text: str) -> str:
        """Return a text without what the rules find in it."""
        for rule, pattern in _COMPILED:
            text, count = pattern.subn(partial(_replacement, rule), text)
            if count:
                self.hits[rule.name] += count
        return text

    def value(self, value: Any) -> Any:
        """Return a JSON value without what the rules find in it; keys are kept."""
        return self._value(value, 0)

    def secret(self, raw: Mapping[str, Any]) -> dict[str, Any]:
        """Return a Secret without data, whatever the server sent."""
        self.hits[SECRET_DATA.name] += 1
        found = {key: item for key, item in raw.items() if key not in ("data", "stringData")}
        return dict(self.value(found))

    def _value(self, value: Any, depth: int) -> Any:
        if depth > _DEEPEST:
            return "(too deep)"
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, Mapping):
            return self._mapping(value, depth)
        if isinstance(value, list | tuple):
            return self._list(value, depth)
        return value

    def _mapping(self, value: Mapping[str, Any], depth: int) -> dict[str, Any]:
        name, found = value.get("name"), {}
        for key, item in value.items():
            if key == LAST_APPLIED:
                self.hits[APPLIED.name] += 1
            elif key == "value" and isinstance(name, str) and isinstance(item, str) and _VARIABLE_NAME.search(name):
                found[key] = self._hidden(VARIABLE, item)
            elif isinstance(item, str) and is_sensitive(str(key)):
                found[key] = self._hidden(FIELD, item)
            else:
                found[key] = self._value(item, depth + 1)
        return found

    def _list(self, value: list[Any] | tuple[Any, ...], depth: int) -> list[Any]:
        """Return the items; an item behind an argument such as `--token` is hidden."""
        found, is_next = [], False
        for item in value:
            argument, sign, rest = item.partition("=") if isinstance(item, str) else ("", "", "")
            named = argument.startswith("-") and is_sensitive(argument.lstrip("-"))
            if named and sign:
                found.append(f"{argument}={self._hidden(FIELD, rest)}")
            elif is_next and isinstance(item, str):
                found.append(self._hidden(FIELD, item))
            else:
                found.append(self._value(item, depth + 1))
            is_next = named and not sign
        return found

    def _hidden(self, rule: RedactionRule, text: str) -> str:
        if not text:
            return text
        self.hits[rule.name] += 1
        return redacted(rule)


def is_sensitive(name: str) -> bool:
    """Return whether a value of a field of this name is a secret: `clientSecret` is, `secretName` is not."""
    parted = _CAMEL.sub("-", name)
    return _FIELD_NAME.search(parted) is not None or _MORE_FIELDS.search(parted) is not None
