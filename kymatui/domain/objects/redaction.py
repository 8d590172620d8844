"""What leaves a cluster in a file for other people: objects, messages and logs without secrets, and with what hid them.

Objects are read by their structure: what may hold anything (data of Secrets and ConfigMaps, annotations, variables) is
left out but for what is known to be harmless. Everywhere else names decide, then what a text looks like.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from kymatui.domain.objects.redaction_rules import (
    ANNOTATION,
    ARGUMENT,
    CONFIG_DATA,
    FIELD,
    SECRET_DATA,
    VARIABLE,
    RedactionRule,
    redacted,
)
from kymatui.domain.objects.sensitive_names import (
    Sensitivity,
    is_harmless,
    is_sensitive,
    names_webhook,
    sensitivity,
    word_set,
)
from kymatui.domain.objects.text_redaction import TextRedactor
from kymatui.domain.objects.url_redaction import redact_webhook

_DEEPEST: Final = 200  # levels of an object, since each level recurses

_REFERENCE_KEYS: Final = word_set(
    """name secretName namespace key keys path items optional kind apiVersion group version defaultMode mode type uid
    sources"""
)
"""Fields of what names a Secret: a volume, a secretKeyRef."""
_NAMING: Final = frozenset({"name", "secretName"})
_NAME_LIKE: Final = re.compile(r"[\w./*-]{1,253}")
_SCHEMA_TYPES: Final = frozenset({"string", "object", "array", "integer", "boolean", "number", "null"})
_SCHEMA_KEYS: Final = word_set(
    """type description properties items required format nullable additionalProperties title pattern minLength maxLength
    minimum maximum minItems maxItems uniqueItems oneOf anyOf allOf not multipleOf minProperties maxProperties
    exclusiveMinimum exclusiveMaximum default example examples enum const"""
)
_SCHEMA_VALUES: Final = frozenset({"default", "example", "examples", "enum", "const"})
_KEY_HOLDERS: Final = word_set(
    "tls ssl https ssh gpg pgp hmac aes signing encryption crypto jwt oauth aws gcp azure client server"
)
"""Fields in which `key` is the key itself."""
_LABELS: Final = ("name", "key", "header", "param", "parameter", "field", "property", "option", "variable", "id")
_VALUES: Final = word_set(
    "value values default defaultValue content contents data text literal string stringValue val v example"
)
_VARIABLES: Final = re.compile(r"(?i)(?:.*[._-])?(?:env|envs|envvars?|environment|environmentvariables)\Z|.*Env\Z")
_HARMLESS_VALUE: Final = re.compile(
    r"""(?:true|false|[-+]?\d{1,15}(?:[.,]\d{1,9})?(?:[a-zA-Zµ]{1,3}|%)?(?:\d{1,9}[a-z]{1,2}){0,4}
    |(?:[A-Za-z]+|\$[({][A-Z][A-Z0-9_]*[)}])(?:[-_\ /,.;:=]{1,2}(?:[A-Za-z]+|\$[({][A-Z][A-Z0-9_]*[)}]))*
    |v?\d+(?:\.\d+){1,3}(?:-[a-z]{1,10}\.?\d{0,4})?
    |(?:[a-z0-9-]+(?:\.[a-z0-9-]+)*(?::\d{1,5})?/)?[a-z][a-z0-9._-]*(?:/[a-z0-9._-]+){0,8}
        :(?:v?\d[\w.-]{0,60}|latest|main)(?:@sha256:[0-9a-f]{64})?
    |(?:https?|tcp|grpc|spark)?(?:://)?ADDRESS(?:,ADDRESS){0,20}(?:/[A-Za-z._-]{1,100}){0,10}/?
    |(?:/[A-Za-z._-]{1,100}){1,20}/?
    )""".replace(
        "ADDRESS",
        r"""(?:\d{1,3}(?:\.\d{1,3}){3}(?:/\d{1,2}|(?::\d{1,5}){0,3})|\[[0-9a-f:]{2,39}\]:\d{1,5}|:\d{1,5}
        |(?:[a-z0-9-]{1,63}\.)+(?:svc|local|[a-z]{2,6})(?::{1,2}\d{1,5}){0,3}|[a-z][a-z-]{0,62}:\d{1,5})""",
    ),
    re.X,
)
"""Values of variables that are printed; a word with digits might be a password."""
_CONSTANT: Final = re.compile(r"\(redacted: [a-z-]+\)|true|false|yes|no|on|off|none|null|enabled|disabled", re.I)
_VARIABLE_REFERENCE: Final = re.compile(r"\$(?:\([A-Z_][A-Z0-9_]*\)|\{[A-Z_][A-Z0-9_]*\})")
_ANNOTATIONS: Final = re.compile(
    r"(?:[a-z0-9.-]+\.)?(?:kubernetes\.io|k8s\.io|kyma-project\.io|helm\.sh|istio\.io|prometheus\.io|cert-manager\.io)/.+"
)
_KNOWN_ANNOTATIONS: Final = word_set("sync-oci-ref source lastUpdated operator.kyma-project.io/custom-state-check")
_LONGEST_ANNOTATION: Final = 256
_LONGEST_VARIABLE: Final = 500
_EXEMPT: Final = word_set(
    """uid resourceVersion digest image imageID containerID ref commit revision checksum hash observedGeneration
    pod-template-hash controller-revision-hash controller-uid sha localReference imageReference generateName name
    ownerUid holderIdentity"""
)
"""Fields whose values look encoded, and are not secret."""
_PROGRAMS: Final = word_set(
    """mysql mysqldump mysqladmin mariadb sshpass docker podman nerdctl buildah skopeo helm oras crane
    redis-cli ldapsearch ldapadd ldapmodify psql mongo mongosh mongodump smbclient ftp lftp az cf btp kinit zip 7z"""
)
_PASSWORD_OPTIONS: Final = ("-p", "-w", "-a", "-P")

Documents = Callable[[str], Sequence[Any] | None]


class Redactor:
    """Redacts texts and JSON values; `hits` counts by rule name.

    `documents` reads a text as YAML within limits, None if it is none; without it such texts are read by lines.
    """

    def __init__(self, documents: Documents | None = None) -> None:
        self.hits: Counter[str] = Counter()
        self._documents = documents
        self._texts = TextRedactor(self.hits, self.value)

    def text(self, text: str) -> str:
        """Return a text without what the rules find in it."""
        return self._texts.redact(text)

    def value(self, value: Any) -> Any:
        """Return a JSON value without what the rules find in it; keys are kept."""
        return self._value(value, "", 0)

    def secret(self, raw: Mapping[str, Any]) -> dict[str, Any]:
        """Return a Secret without data, whatever the server sent."""
        return dict(self.value({**raw, "apiVersion": "v1", "kind": "Secret"}))

    def _value(self, value: Any, key: str, depth: int) -> Any:
        if depth > _DEEPEST:
            return "(too deep)"
        if isinstance(value, str):
            return self._string(value, key, depth)
        if isinstance(value, Mapping):
            return self._mapping(value, key, depth)
        if isinstance(value, list | tuple):
            return self._list(value, key, depth)
        return value

    def _string(self, text: str, key: str, depth: int) -> str:
        if "://" in text and names_webhook(key):
            return redact_webhook(text, self.hits)
        if "\n" in text and self._documents is not None and (clean := self._yaml(text, depth)) is not None:
            return clean
        return self._texts.redact(text, encoded=key not in _EXEMPT)

    def _yaml(self, text: str, depth: int) -> str | None:
        """Return YAML documents without secrets, None for other texts; what has no secret stays as it is written."""
        assert self._documents is not None
        values = self._documents(text)
        if values is None or not any(isinstance(value, Mapping | list) for value in values):
            return None
        clean = [self._value(value, "", depth + 1) for value in values]
        return text_of(clean) if clean != list(values) else None

    # maps

    def _mapping(self, value: Mapping[str, Any], parent: str, depth: int) -> dict[str, Any]:
        if parent == "annotations":
            return {
                str(key): text for key, item in value.items() if (text := self._annotation(str(key), item)) is not None
            }
        if value.get("kind") in ("Secret", "ConfigMap") and "apiVersion" in value:
            value = self._without_data(value)
        pair = next((value[label] for label in _LABELS if isinstance(value.get(label), str)), "")
        is_variable = _VARIABLES.match(parent) is not None and not _is_schema(value)
        visible: dict[str, Any] = {}
        for key, item in value.items():
            name = str(key)
            if name in _VALUES and pair and is_sensitive(pair):
                visible[key] = self._hidden(VARIABLE if is_variable else FIELD, item, depth + 1)
            elif is_variable and isinstance(item, str) and (name == "value" or "name" not in value):
                visible[key] = self._variable(name, item, depth)
            else:
                visible[key] = self._entry(name, item, value, parent, depth)
        return visible

    def _entry(self, name: str, item: Any, owner: Mapping[str, Any], parent: str, depth: int) -> Any:
        level = Sensitivity.NONE if _ANNOTATIONS.fullmatch(name) else sensitivity(name)
        if (name == "key" and parent in _KEY_HOLDERS) or name == "stringData":
            level = Sensitivity.DEEP
        is_list = isinstance(item, list | tuple)
        if level is Sensitivity.NONE or name == "serviceAccountToken":
            key = "digest" if "hashAlgorithm" in owner and name == "value" else name
            return self._value(item, key, depth + 1)
        if level is Sensitivity.SCALAR and (isinstance(item, Mapping) or (is_list and not _is_flat(item))):
            return self._value(item, name, depth + 1)
        return self._hidden(FIELD, item, depth + 1)

    def _without_data(self, value: Mapping[str, Any]) -> dict[str, Any]:
        """Return a Secret without data, a ConfigMap with its keys alone."""
        if value["kind"] == "Secret":
            self.hits[SECRET_DATA.name] += 1
            return {key: item for key, item in value.items() if key not in ("data", "stringData")}
        visible = dict(value)
        for key in ("data", "binaryData"):
            if isinstance(data := value.get(key), Mapping):
                visible[key] = {name: self._counted(CONFIG_DATA) if text else text for name, text in data.items()}
        return visible

    def _annotation(self, key: str, item: Any) -> Any:
        """Return the value of an annotation; None for one that repeats an object."""
        if key == "kubectl.kubernetes.io/last-applied-configuration":
            self.hits[ANNOTATION.name] += 1
            return None
        if key in _KNOWN_ANNOTATIONS and isinstance(item, str):
            return self.text(item)
        is_plain = isinstance(item, str) and len(item) <= _LONGEST_ANNOTATION and item.lstrip()[:1] not in ("{", "[")
        if item and not (is_plain and _ANNOTATIONS.fullmatch(key) and "\n" not in item and not is_sensitive(key)):
            return self._counted(ANNOTATION)
        return self.text(item) if isinstance(item, str) else item

    def _variable(self, name: str, text: str, depth: int) -> str:
        """Return the value of an environment variable if it is harmless."""
        if not text or (
            len(text) <= _LONGEST_VARIABLE
            and _HARMLESS_VALUE.fullmatch(text)
            and not (name != "value" and is_sensitive(name))
        ):
            return text
        return self._counted(VARIABLE)

    # below a sensitive name

    def _hidden(self, rule: RedactionRule, value: Any, depth: int) -> Any:
        """Return a value below a sensitive name: constants, references to Secrets and schemas stay."""
        if value is None or isinstance(value, bool) or value in ("", {}, []):
            return value
        if isinstance(value, str) and (_CONSTANT.fullmatch(value) or _VARIABLE_REFERENCE.fullmatch(value)):
            return value
        if depth > _DEEPEST:
            return "(too deep)"
        if isinstance(value, Mapping):
            if _is_schema(value):
                return {key: self._schema(rule, str(key), item, depth) for key, item in value.items()}
            is_reference = any(isinstance(value.get(key), str) for key in _NAMING)
            return {key: self._below(rule, str(key), item, depth, is_reference) for key, item in value.items()}
        if isinstance(value, list | tuple):
            return [self._hidden(rule, item, depth + 1) for item in value]
        return self._counted(rule)

    def _below(self, rule: RedactionRule, key: str, item: Any, depth: int, is_reference: bool) -> Any:
        known = (is_reference and key in _REFERENCE_KEYS) or is_harmless(key)
        if known and isinstance(item, str) and _NAME_LIKE.fullmatch(item):
            return item
        if known and isinstance(item, int | float):
            return item
        if is_reference and key in ("items", "sources") and isinstance(item, list):
            return [
                {name: self._below(rule, str(name), each, depth + 2, True) for name, each in entry.items()}
                if isinstance(entry, Mapping)
                else self._hidden(rule, entry, depth + 2)
                for entry in item
            ]
        if sensitivity(key) is Sensitivity.NONE and key.endswith(("Ref", "Refs")):
            return self._value(item, key, depth + 1)
        return self._hidden(rule, item, depth + 1)

    def _schema(self, rule: RedactionRule, key: str, item: Any, depth: int) -> Any:
        return self._hidden(rule, item, depth + 1) if key in _SCHEMA_VALUES else self._value(item, key, depth + 1)

    def _counted(self, rule: RedactionRule) -> str:
        self.hits[rule.name] += 1
        return redacted(rule)

    # lists

    def _list(self, value: Sequence[Any], parent: str, depth: int) -> list[Any]:
        """Return the items; the word after an option such as `--token` is hidden."""
        program = any(isinstance(item, str) and item.rpartition("/")[2] in _PROGRAMS for item in value)
        visible: list[Any] = []
        after = ""
        for item in value:
            if not isinstance(item, str):
                visible.append(self._pair(item, parent, depth + 1))
                after = ""
                continue
            visible.append(self._argument(item, after, parent, program=program, depth=depth))
            after = item if item.startswith("-") and "=" not in item else ""
        return visible

    def _pair(self, item: Any, parent: str, depth: int) -> Any:
        """Return an item of a list; of a pair of name and value, the value may be hidden."""
        is_pair = isinstance(item, list | tuple) and len(item) == 2 and isinstance(item[0], str)
        if is_pair and is_sensitive(item[0]):
            return [item[0], self._hidden(FIELD, item[1], depth + 1)]
        return self._value(item, parent, depth)

    def _argument(self, item: str, after: str, parent: str, *, program: bool, depth: int) -> str:
        """Return an item of a list of words; `after` is the option before it."""
        if after and is_sensitive(after.lstrip("-")) and not _is_option(item):
            return self._counted(ARGUMENT) if item else item
        if program and after in _PASSWORD_OPTIONS and not _is_option(item) and not re.fullmatch(r"[\d.:/-]*", item):
            return self._counted(ARGUMENT)
        if after in ("-u", "-U", "--user", "--proxy-user") and re.fullmatch(r"[^:/\s]+:[^/\s]+", item):
            return f"{item.partition(':')[0]}:{self._counted(ARGUMENT)}"
        option, sign, rest = item.partition("=")
        if sign and re.fullmatch(r"-\S+", option) and is_sensitive(option.lstrip("-")):
            return f"{self._texts.redact(option)}={self._hidden(ARGUMENT, rest, depth)}"
        if program and item[:2] in _PASSWORD_OPTIONS and len(item) > 2 and not re.fullmatch(r"[\d.:/=-]*", item[2:]):
            return item[:2] + self._counted(ARGUMENT)
        return self._string(item, parent, depth)


def text_of(documents: Sequence[Any]) -> str:
    """Return documents as JSON, which is YAML, too."""
    return "\n---\n".join(json.dumps(value, ensure_ascii=False, indent=1, default=str) for value in documents)


def _is_option(item: str) -> bool:
    return re.match(r"--?[A-Za-z]", item) is not None


def _is_flat(items: Sequence[Any]) -> bool:
    return not any(isinstance(item, Mapping | list | tuple) for item in items)


def _is_schema(value: Mapping[str, Any]) -> bool:
    """Return whether a map is the schema of a field, such as those of a CRD."""
    kind = value.get("type")
    is_typed = (isinstance(kind, str) and kind in _SCHEMA_TYPES) or isinstance(value.get("properties"), Mapping)
    return is_typed and all(key in _SCHEMA_KEYS or str(key).startswith("x-") for key in value)
