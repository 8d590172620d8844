"""The reading of YAML objects: documents, lists, duplicates, and numbers as API servers have them.

The text is untrusted and may be secret: it is read within limits, and errors name document, line and kind of a problem.
"""

from __future__ import annotations

import os
import re
from collections.abc import Container, Iterable, Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Any, Final

from kymatui.domain.inventories import Origin
from kymatui.domain.kubernetes.json_reader import mapping_at
from kymatui.domain.kubernetes.terminal_text import format_count
from kymatui.engine.bundles.addresses import archive_url, content_digest, digest_of_files, redact_address
from kymatui.engine.bundles.bundle import Bundle
from kymatui.engine.bundles.tar_archives import is_gzip, is_tar, read_tar
from kymatui.engine.cluster.ports import Blobs, Object
from kymatui.errors import SourceError
from kymatui.helm.yaml.errors import YamlError
from kymatui.helm.yaml.limits import LARGEST_TEXT, YamlBudget
from kymatui.helm.yaml.node_reader import MissingValues
from kymatui.helm.yaml.reading import documents
from kymatui.json_input import levels_of

MOST_OBJECTS: Final = 20_000  # of one source of YAML
DEEPEST_LISTS: Final = 8  # Lists in Lists, since each level recurses
DEEPEST: Final = 200
"""Levels of an object; CRDs of real modules have up to 60, and what compares and plans follows each by a call."""

_MARK: Final = re.compile(rb"^---(?=[ \t\r\n]|\Z)", re.MULTILINE)
_EMPTY: Final = re.compile(rb"(?:[ \t\r]*(?:#[^\n]*|%[^\n]*)?(?:\n|\Z))*\Z")
_LARGEST_INT: Final = 2**63 - 1  # of int64; the API server parses larger numbers as floats
_SMALLEST_INT: Final = -(2**63)

DocumentKey = tuple[str, str, str, str, str]


def read_objects(
    text: str | bytes, source: str, *, only: Container[str] | None = None, budget: YamlBudget | None = None
) -> list[Object]:
    """Return the objects of a text in their order, with lists flattened; the first of duplicates counts.

    `source` names the text in errors; `only` selects kinds; `budget` is for a source of several texts. Empty documents
    are skipped. Raises SourceError.
    """
    return unique_documents(each_object(text, source, only=only, budget=budget))


def each_object(
    text: str | bytes,
    source: str,
    *,
    only: Container[str] | None = None,
    old_words: bool = True,
    versioned: bool = True,
    budget: YamlBudget | None = None,
    missing: MissingValues | None = None,
) -> Iterator[Object]:
    """Yield the objects of a text, including duplicates. Raises SourceError.

    old_words: as kubectl, read yes, no, on, off, y and n as booleans, and take the last of equal keys; without, as
    kustomize, equal keys are an error. versioned: each object needs an apiVersion, which a patch with a target lacks.
    missing: gets the keys that have no value; annotations that are numbers become text as they are spelled, as in
    kustomize.
    """
    data = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
    number = count = 0
    try:
        for number, document in enumerate(
            documents(
                data, keeps_integers=True, old_words=old_words, strict=not old_words, budget=budget, missing=missing
            ),
            1,
        ):
            where = _Where(source, data, number)
            if only is not None and not _is_wanted(document, only):
                continue
            _require_shallow(document, where)
            for body in _flatten(_as_json(document), where, 0, versioned, missing):
                if only is not None and body["kind"] not in only:
                    continue
                count += 1
                if count > MOST_OBJECTS:
                    raise where.error(f"there are more than {MOST_OBJECTS} objects")
                yield body
    except YamlError as error:
        raise _Where(source, data, number + 1).error(error.summary, line=False) from None


def _is_wanted(document: Any, only: Container[str]) -> bool:
    kind = document.get("kind") if isinstance(document, dict) else None
    return isinstance(kind, str) and (kind in only or _is_list(document))


class _Where:
    """The position of a document, for error messages."""

    def __init__(self, source: str, data: bytes, number: int) -> None:
        self._source, self._data, self._number = source, data, number

    def error(self, problem: str, *, line: bool = True, hint: str = "") -> SourceError:
        location = f"document {self._number}"
        if line:
            location += f", line {_first_line(self._data, self._number)}"
        return SourceError(f"{self._source}: {location}: {problem}", hint=hint)


def _first_line(data: bytes, number: int) -> int:
    """Return the first line (from 1) of a document; in a parsable text, marks are only between documents."""
    starts = [0] + [match.start() for match in _MARK.finditer(data)]
    if len(starts) > 1 and _EMPTY.match(data[: starts[1]]):
        del starts[0]
    at = starts[min(number, len(starts)) - 1]
    while (end := data.find(b"\n", at)) >= 0 and _is_blank(data[at:end]):
        at = end + 1
    return data.count(b"\n", 0, at) + 1


def _is_blank(line: bytes) -> bool:
    stripped = line.strip()
    return not stripped or stripped == b"---" or stripped.startswith((b"#", b"%"))


def _flatten(
    document: Any, where: _Where, depth: int, versioned: bool, missing: MissingValues | None
) -> Iterator[Object]:
    if document is None or document == {}:
        return
    if not isinstance(document, dict):
        raise where.error(f"expected an object, found {_kind_of(document)}")
    if not _is_list(document):
        if missing is not None:
            _spell_annotations(document, missing)
        _check(document, where, versioned)
        yield document
        return
    if depth >= DEEPEST_LISTS:
        raise where.error("lists are nested too deeply")
    for item in document.get("items") or ():
        yield from _flatten(_typed(item, document), where, depth + 1, versioned, missing)


def _spell_annotations(body: Object, spellings: MissingValues) -> None:
    annotations = mapping_at(body, "metadata").get("annotations")
    if not isinstance(annotations, dict):
        return
    for key in annotations:
        if isinstance(annotations[key], int | float) and (text := spellings.spelling(annotations, key)):
            annotations[key] = text


def _is_list(document: Object) -> bool:
    kind, items = document.get("kind"), document.get("items")
    if kind == "List" and document.get("apiVersion") == "v1":
        return items is None or isinstance(items, list)
    named = isinstance(document.get("metadata"), dict) and document["metadata"].get("name")
    return isinstance(kind, str) and kind.endswith("List") and isinstance(items, list) and not named


def _typed(item: Any, parent: Object) -> Any:
    """Return a list item with its kind, which items of a ConfigMapList may omit."""
    kind = str(parent["kind"]).removesuffix("List")
    if isinstance(item, dict) and item and not item.get("kind") and kind:
        return {**item, "apiVersion": parent.get("apiVersion", ""), "kind": kind}
    return item


def _check(body: Object, where: _Where, versioned: bool) -> None:
    for field in ("apiVersion", "kind"):
        value = body.get(field)
        if value is None and field == "apiVersion" and not versioned:
            continue
        if not isinstance(value, str) or not value:
            problem = f"its {field} is {'empty' if value == '' else f'{_kind_of(value)}, not text'}"
            raise where.error(f"the object has no {field}" if value is None else problem)
    metadata = body.get("metadata")
    if metadata is not None and not isinstance(metadata, dict):
        raise where.error(f"metadata of this {body['kind']} is {_kind_of(metadata)}")
    if not (metadata or {}).get("name"):
        hint = "a generated name creates another object at every run" if (metadata or {}).get("generateName") else ""
        raise where.error(f"this {body['kind']} has no name", hint=hint)
    for field in ("name", "namespace"):
        value = (metadata or {}).get(field)
        if value is not None and not isinstance(value, str):
            raise where.error(f"the {field} of this {body['kind']} is {_kind_of(value)}, not text", hint="quote it")
    for field in ("labels", "annotations"):
        _check_texts(body, field, where)


def _check_texts(body: Object, field: str, where: _Where) -> None:
    texts = body["metadata"].get(field)
    if texts is None:
        return
    if not isinstance(texts, dict):
        raise where.error(f"the {field} of {body['kind']} {body['metadata']['name']} are {_kind_of(texts)}")
    for key, value in texts.items():
        if value is not None and not isinstance(value, str):
            name = body["metadata"]["name"]
            raise where.error(
                f"{field[:-1]} {key} of {body['kind']} {name} is {_kind_of(value)}, not text", hint="quote it"
            )


def _kind_of(value: Any) -> str:
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return "true or false"
    names = {dict: "a map", list: "a list", str: "text", int: "a number", float: "a number"}
    return names.get(type(value), "something else")


def _require_shallow(document: Any, where: _Where) -> None:
    if levels_of(document) > DEEPEST:
        raise where.error(f"it is nested in more than {DEEPEST} levels")


def _as_json(document: Any) -> Any:
    """Change numbers in the document to what an API server parses of Go's output, and return it.

    They are int64 if possible, else floats.
    """
    parsed = [document]
    waiting: list[Any] = [parsed]
    while waiting:
        container = waiting.pop()
        for key, part in container.items() if container.__class__ is dict else enumerate(container):
            kind = part.__class__
            if kind is dict or kind is list:
                waiting.append(part)
            elif kind is float and part.is_integer() and abs(part) < 1e18:
                container[key] = int(part)
            elif kind is int and not _SMALLEST_INT <= part <= _LARGEST_INT:
                container[key] = float(part)
    return parsed[0]


def document_key(body: Object) -> DocumentKey:
    """Return namespace, name, group, version and kind, which identify an object."""
    metadata = body["metadata"]
    group, _, version = str(body["apiVersion"]).rpartition("/")
    return metadata.get("namespace") or "", metadata["name"], group, version, body["kind"]


def unique_documents(objects: Iterable[Object]) -> list[Object]:
    """Return the first object of each identity, in their order."""
    unique: dict[DocumentKey, Object] = {}
    for body in objects:
        unique.setdefault(document_key(body), body)
    return list(unique.values())


SUFFIXES: Final = (".yaml", ".yml", ".json")
MOST_FILES: Final = 5_000


def from_text(text: str | bytes, *, name: str, namespace: str = "default", source: str = "inline") -> Bundle:
    """Return the bundle of a text. Raises SourceError."""
    data = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
    objects = read_objects(data, source)
    return Bundle(name, namespace, Origin("raw", source, digest=content_digest(data)), objects=tuple(objects))


def from_url(address: str, blobs: Blobs, *, name: str, namespace: str = "default") -> Bundle:
    """Return the bundle at an https:// address: a text, or an archive, with its folder after `//`.

    Raises SourceError, and the port's errors.
    """
    url, folder = archive_url(address) or (address, "")
    return _from_content(blobs.url(url), redact_address(url), folder, name, namespace)


def from_path(
    path: str | Path, *, name: str, namespace: str = "default", recursive: bool = False, folder: str = ""
) -> Bundle:
    """Return the bundle of a file, an archive, or of a folder's YAML and JSON files by name. Raises SourceError.

    `folder` is a path in the archive; all folders below it are read.
    """
    root = Path(path)
    if not root.is_dir():
        return _from_content(read_file(root), str(root), folder, name, namespace)
    paths = root.rglob("*") if recursive else root.iterdir()
    files = {path.relative_to(root).as_posix(): path for path in sorted(paths) if path.is_file()}
    contents = {relative: read_file(files[relative]) for relative in _manifests(files, str(root))}
    return _from_files(contents, str(root), str(root) + os.sep, name, namespace)


def _from_content(data: bytes, source: str, folder: str, name: str, namespace: str) -> Bundle:
    """Return the bundle of a text, or of the YAML and JSON files in an archive."""
    if not folder and not is_gzip(data) and not is_tar(data):
        return from_text(data, name=name, namespace=namespace, source=source)
    inside = f"{folder.strip('/')}/".lstrip("/")
    archive = read_tar(data, source)
    files = {path.removeprefix(inside): archive[path] for path in archive if path.startswith(inside)}
    address = f"{source}//{inside}".rstrip("/")
    contents = {path: files[path] for path in _manifests(files, address)}
    return _from_files(contents, address, f"{source}: {inside}", name, namespace)


def _from_files(files: Mapping[str, bytes], address: str, prefix: str, name: str, namespace: str) -> Bundle:
    """Return the bundle of files by path; errors name a file after `prefix`."""
    budget = YamlBudget()
    objects = unique_documents(
        body for path, data in files.items() for body in read_objects(data, prefix + path, budget=budget)
    )
    origin = Origin("raw", address, digest=digest_of_files(files.items()))
    return Bundle(name, namespace, origin, objects=tuple(objects))


def _manifests(paths: Iterable[str], where: str) -> list[str]:
    """Return the paths of YAML and JSON files. Raise SourceError for none, or too many."""
    manifests = [str(path) for path in sorted(map(PurePosixPath, paths)) if path.suffix in SUFFIXES]
    if not manifests:
        raise SourceError(f"{where} has no {', '.join(SUFFIXES)} file")
    if len(manifests) > MOST_FILES:
        raise SourceError(f"{where} has {format_count(len(manifests), 'file')}; at most {MOST_FILES} are allowed")
    return manifests


def read_file(path: Path) -> bytes:
    """Return the bytes of a user's file, limited in size. Raises SourceError."""
    try:
        with path.open("rb") as file:
            data = file.read(LARGEST_TEXT + 1)
    except OSError as error:
        raise SourceError(f"{path} cannot be read: {error.strerror or error}") from error
    if len(data) > LARGEST_TEXT:
        raise SourceError(f"{path} is larger than {LARGEST_TEXT} bytes")
    return data
