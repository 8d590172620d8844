"""Generators of ConfigMaps and Secrets from files, literals and environments, and the name hash."""

from __future__ import annotations

import base64
import hashlib
import json
import posixpath
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from msgspec import Struct

from kymatui.errors import SourceError
from kymatui.kustomize.model.file_tree import KustomizationFolder
from kymatui.kustomize.model.resmap import KustomizeResource, ResMap
from kymatui.kustomize.model.strict_fields import StrictFields

_KEY: Final = re.compile(r"[-._a-zA-Z0-9]+")
_VARIABLE: Final = re.compile(r"[-._a-zA-Z][-._a-zA-Z0-9]*")
_LINE: Final = 70  # kustomize breaks base64 after this number of characters
_LETTERS: Final = str.maketrans("013ae", "ghkmt")
_HTML: Final = re.compile("[<>&\u2028\u2029]")


class GeneratorOptions(Struct, frozen=True):
    """The generatorOptions of all generators or of one."""

    labels: Mapping[str, str]
    annotations: Mapping[str, str]
    plain_name: bool
    immutable: bool

    @classmethod
    def read(cls, fields: StrictFields) -> GeneratorOptions:
        options = cls(
            fields.texts("labels"),
            fields.texts("annotations"),
            fields.flag("disableNameSuffixHash"),
            fields.flag("immutable"),
        )
        fields.finish()
        return options

    def under(self, everywhere: GeneratorOptions) -> GeneratorOptions:
        """Return the options merged with the global ones: own labels win, and enabled flags stay enabled."""
        return GeneratorOptions(
            {**everywhere.labels, **self.labels},
            {**everywhere.annotations, **self.annotations},
            self.plain_name or everywhere.plain_name,
            self.immutable or everywhere.immutable,
        )


def config_map(fields: StrictFields, folder: KustomizationFolder, everywhere: GeneratorOptions) -> KustomizeResource:
    """Return the ConfigMap of a configMapGenerator entry. Raises SourceError."""
    body = _base("ConfigMap", fields)
    for key, content in _pairs(fields, folder):
        try:
            body.setdefault("data", {})[key] = content.decode()
        except UnicodeDecodeError:
            body.setdefault("binaryData", {})[key] = _in_lines(content)
    return _resource(body, fields, everywhere)


def secret(fields: StrictFields, folder: KustomizationFolder, everywhere: GeneratorOptions) -> KustomizeResource:
    """Return the Secret of a secretGenerator entry. Raises SourceError."""
    body = _base("Secret", fields)
    body["type"] = fields.text("type") or "Opaque"
    body["data"] = {key: _in_lines(content) for key, content in _pairs(fields, folder)}
    return _resource(body, fields, everywhere)


def _base(kind: str, fields: StrictFields) -> dict[str, Any]:
    name, namespace = fields.text("name"), fields.text("namespace")
    if not name:
        raise fields.error("name", "is missing")
    return {
        "apiVersion": "v1",
        "kind": kind,
        "metadata": {"name": name, **({"namespace": namespace} if namespace else {})},
    }


def _resource(body: dict[str, Any], fields: StrictFields, everywhere: GeneratorOptions) -> KustomizeResource:
    options = GeneratorOptions.read(fields.child("options")).under(everywhere)
    behavior = fields.text("behavior")  # kustomize treats an unknown behavior like none
    fields.finish()
    for name in ("labels", "annotations"):
        if texts := dict(getattr(options, name)):
            body["metadata"][name] = dict(sorted(texts.items()))
    if options.immutable:
        body["immutable"] = True
    return KustomizeResource(body, behavior=behavior, hashed=not options.plain_name)


def _pairs(fields: StrictFields, folder: KustomizationFolder) -> list[tuple[str, bytes]]:
    """Return contents by key from environments, literals and files. Raises SourceError."""
    pairs: dict[str, bytes] = {}
    for key, content in _sources(fields, folder):
        if not _KEY.fullmatch(key) or len(key) > 253:
            raise SourceError(f"{fields.where}: {key!r} is not a valid key: letters, digits, '-', '_' and '.'")
        if key in pairs:
            raise SourceError(f"{fields.where}: the key {key!r} appears twice")
        pairs[key] = content
    return sorted(pairs.items())


def _sources(fields: StrictFields, folder: KustomizationFolder) -> Iterator[tuple[str, bytes]]:
    environments = fields.list_of_texts("envs") + ([fields.text("env")] if fields.text("env") else [])
    for path in environments:
        yield from _environment(folder.load(path), f"{fields.where}: {path}")
    for literal in fields.list_of_texts("literals"):
        key, separator, value = literal.partition("=")
        if not key or not separator:
            raise SourceError(f"{fields.where}: {literal!r} is not key=value")
        yield key, _unquoted(value).encode()
    for source in fields.list_of_texts("files"):
        key, path = _named_file(source, fields.where)
        yield key, folder.load(path)


def _unquoted(value: str) -> str:
    quoted = len(value) > 1 and value[0] == value[-1] and value[0] in "\"'"
    return value[1:-1] if quoted else value


def _named_file(source: str, where: str) -> tuple[str, str]:
    key, separator, path = source.partition("=")
    if not separator:
        return posixpath.basename(source.rstrip("/")), source
    if not key or not path or "=" in path:
        raise SourceError(f"{where}: {source!r} is not key=path")
    return key, path


def _environment(content: bytes, where: str) -> Iterator[tuple[str, bytes]]:
    """Yield lines KEY=value; leading spaces and lines with # are ignored."""
    try:
        lines = content.removeprefix(b"\xef\xbb\xbf").decode().split("\n")
    except UnicodeDecodeError as error:
        raise SourceError(f"{where} is not UTF-8 text") from error
    for number, line in enumerate(lines, 1):
        stripped = line.removesuffix("\r").lstrip()
        if not stripped or stripped.startswith("#"):
            continue
        key, _, value = stripped.partition("=")
        if not _VARIABLE.fullmatch(key) or key == "." or key.startswith(".."):
            raise SourceError(f"{where}: line {number}: {key!r} is not a valid variable name")
        yield key, value.encode()


def _in_lines(content: bytes) -> str:
    """Return base64, in lines of 70 characters if longer."""
    text = base64.b64encode(content).decode()
    if len(text) < _LINE:
        return text
    return "".join(f"{text[at : at + _LINE]}\n" for at in range(0, len(text), _LINE))


def absorb(resources: ResMap, resource: KustomizeResource) -> None:
    """Add a generated object, or merge or replace the existing one."""
    existing = resources.by_any_id(resource.current.equals)
    changing = resource.behavior in ("merge", "replace")
    if not existing:
        if changing:
            raise SourceError(
                f"{resource.current} does not exist; its behavior {resource.behavior} needs an existing object"
            )
        resources.append(resource)
        return
    if len(existing) > 1 or not changing:
        raise SourceError(f"{resource.current} already exists", hint="set its behavior to merge or replace")
    old = existing[0]
    _inherit(resource, old)
    resources.replace(old, resource)


def _inherit(resource: KustomizeResource, old: KustomizeResource) -> None:
    for field in ("labels", "annotations"):
        if texts := {**old.texts(field), **resource.texts(field)}:
            resource.metadata[field] = texts
    if resource.behavior == "merge":
        for field in ("data", "binaryData"):
            if content := {**(old.body.get(field) or {}), **(resource.body.get(field) or {})}:
                resource.body[field] = content
    resource.metadata["name"] = old.name
    if old.namespace:
        resource.metadata["namespace"] = old.namespace
    resource.previous, resource.prefixes, resource.suffixes = old.previous[:], old.prefixes[:], old.suffixes[:]
    resource.behavior, resource.hashed = old.behavior, resource.hashed and old.hashed


_NEEDS_HASH: Final = "internal.config.kubernetes.io/needsHashSuffix"
"""The annotation with which kustomize marks what it generates; objects that have it from the start are hashed too."""


def add_hashes(resources: ResMap) -> list[str]:
    """Add the hashes to names; return a note for each that kustomize computes in another way."""
    notes = []
    for resource in resources:
        if resource.hashed or resource.texts("annotations").get(_NEEDS_HASH) == "enabled":
            resource.remember()
            old = resource.current
            resource.metadata["name"] = f"{resource.name}-{content_hash(resource)}"
            if resource.body.get("kind") not in ("ConfigMap", "Secret"):
                notes.append(f"{old} becomes {resource.name}; the hash of kustomize depends on lines and comments too.")
    return notes


def content_hash(resource: KustomizeResource) -> str:
    """Return the hash of kind and content, in letters that form no words.

    The name in the hashed content is always empty, as in kustomize.
    """
    body = resource.body
    kind = body.get("kind")
    if kind == "ConfigMap":
        hashed = {"kind": kind, "name": "", "data": body.get("data") or ""}
        extra = "binaryData"
    elif kind == "Secret":
        hashed = {"kind": kind, "name": "", "data": body.get("data") or "", "type": body.get("type") or ""}
        extra = "stringData"
    else:
        hashed, extra = body, ""
    if body.get("data") == {}:
        hashed["data"] = {}
    if isinstance(body.get(extra), dict):
        hashed[extra] = body[extra]
    text = json.dumps(hashed, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    text = _HTML.sub(lambda match: f"\\u{ord(match[0]):04x}", text)
    return hashlib.sha256(text.encode()).hexdigest()[:10].translate(_LETTERS)
