"""Catalogs of community modules: an `all-modules.yaml` by URL, a file, or a folder of files.

The content is untrusted. Only ModuleTemplates are read, and only fields that describe the module: labels that claim
management by Kyma, and channels, have a meaning only inside a cluster. Everything else is skipped with a note.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from urllib.request import url2pathname

from msgspec import Struct, field

from kymatui.adapters.content.blob_fetcher import fetch
from kymatui.adapters.http.response_body import LARGEST_CATALOG
from kymatui.adapters.http.web_session import WEB, redact_url
from kymatui.domain.kubernetes.object_meta import LABEL_CHANNEL, LABEL_MANAGED_BY, LABEL_MANDATORY, OPERATOR
from kymatui.errors import ConfigurationError
from kymatui.helm.yaml.errors import YamlError
from kymatui.helm.yaml.limits import YamlBudget
from kymatui.helm.yaml.reading import documents

MOST_FILES = 500  # files of a catalog that is a folder
MOST_TEMPLATES = 2000  # of one catalog; the others are left out with a note
SUFFIXES = (".yaml", ".yml", ".json")
SOURCE = "source"
"""The annotation that says where a template came from; Kyma's dashboard sets the same one."""
_MOST_NOTES = 10  # problems of one catalog that are displayed
_WORKLOADS = ("Deployment", "StatefulSet", "DaemonSet")
_CLAIMS = (LABEL_MANAGED_BY, LABEL_MANDATORY, LABEL_CHANNEL)
_ONLY_INSIDE = ("channel", "mandatory")

Json = dict[str, Any]


class CommunityCatalog(Struct, frozen=True):
    """The modules of a source; `notes` say what was skipped and why.

    `workloads` are the workloads of raw manifests by module and version, from files named `<module>-<version>`.
    """

    source: str
    templates: tuple[Json, ...]
    notes: tuple[str, ...] = ()
    workloads: Mapping[tuple[str, str], tuple[Json, ...]] = field(default_factory=dict)


def read_catalog(source: str, *, largest: int = LARGEST_CATALOG) -> CommunityCatalog:
    """Read a catalog from `http(s)://…`, `file:///…`, or the path of a file or folder.

    Raise ConfigurationError for a missing or malformed catalog, RegistryError if a server fails or refuses.
    """
    scheme = source.partition("://")[0].lower() if "://" in source else ""
    if scheme in WEB:
        return _taken(redact_url(source), [(redact_url(source), fetch(source, largest=largest, what="catalog"))])
    return _taken(redact_url(source), _files(_path(source, scheme), largest))


# files and folders


def _path(source: str, scheme: str) -> Path:
    if not scheme and source:
        return Path(source).expanduser()
    parts = urlsplit(source)
    if scheme != "file" or parts.netloc not in ("", "localhost") or not parts.path:
        raise ConfigurationError(
            f"{redact_url(source)!r} is not a catalog source", hint="use a URL (https://…), a file or a folder"
        )
    return Path(url2pathname(parts.path))


def _files(path: Path, largest: int) -> Iterator[tuple[str, bytes]]:
    try:
        if not path.is_dir():
            yield str(path), _content(path, largest, largest)
            return
        remaining = largest
        for file in _inside(path):
            content = _content(file, remaining, largest)
            remaining -= len(content)
            yield str(file), content
    except OSError as error:
        raise ConfigurationError(f"{path}: {error.strerror or error}") from error


def _inside(folder: Path) -> list[Path]:
    """Return the files of a folder tree, sorted by path; links to folders are not followed."""
    paths: list[Path] = []
    for directory, folders, names in os.walk(folder, onerror=_raised):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        paths += [Path(directory, name) for name in sorted(names) if name.lower().endswith(SUFFIXES)]
        if len(paths) > MOST_FILES:
            raise ConfigurationError(f"the catalog {folder} has more than {MOST_FILES} files")
    if not paths:
        raise ConfigurationError(f"the catalog {folder} has no file", hint="it needs " + ", ".join(SUFFIXES) + " files")
    return paths


def _raised(error: OSError) -> None:
    raise error


def _content(path: Path, remaining: int, largest: int) -> bytes:
    if path.exists() and not path.is_file():
        raise ConfigurationError(f"the catalog {path} is neither a file nor a folder")
    with path.open("rb") as file:
        content = file.read(remaining + 1)
    if len(content) > remaining:
        raise ConfigurationError(f"the catalog {path} is too large; at most {largest} bytes are allowed")
    return content


# content


class _Taking(Struct):
    """Collects the templates and notes of one source."""

    source: str
    templates: dict[tuple[str, str], Json] = field(default_factory=dict)
    others: dict[str, list[Any]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    budget: YamlBudget = field(default_factory=YamlBudget)

    def note(self, text: str) -> None:
        if len(self.notes) < _MOST_NOTES:
            self.notes.append(text)

    def take(self, item: Any, file: str) -> None:
        template = _template(item, self.source)
        if template is None:
            self.others.setdefault(file, []).append(item)
            return
        spec = template["spec"]
        key = template["metadata"]["name"], str(spec.get("version", "")) if isinstance(spec, dict) else ""
        if key in self.templates:
            self.note(f"{key[0] or 'a template without a name'} appears twice; the first one is used")
        elif len(self.templates) == MOST_TEMPLATES:
            self.note(f"only the first {MOST_TEMPLATES} templates are used")
        else:
            self.templates[key] = template


def _taken(source: str, files: Iterable[tuple[str, bytes]]) -> CommunityCatalog:
    taking = _Taking(source)
    for path, content in files:
        for item in _objects(path, content, taking):
            taking.take(item, Path(path).stem)
    raw_manifests = _raw_manifests(taking)
    passed = Counter(_kind_of(item) for items in taking.others.values() for item in items)
    if passed:
        counted = ", ".join(f"{count} {kind}" for kind, count in sorted(passed.items())[:_MOST_NOTES])
        taking.note(f"skipped: {counted}")
    if not taking.templates:
        notes = f": {'; '.join(taking.notes[:3])}" if taking.notes else ""
        raise ConfigurationError(
            f"{source} has no ModuleTemplate{notes}", hint="expected a file such as all-modules.yaml"
        )
    return CommunityCatalog(source, tuple(taking.templates.values()), tuple(taking.notes), raw_manifests)


def _raw_manifests(taking: _Taking) -> dict[tuple[str, str], tuple[Json, ...]]:
    """Match raw manifests to templates by file name and return their workloads; other objects are ignored."""
    manifests = {}
    for template in taking.templates.values():
        spec = template["spec"] if isinstance(template["spec"], dict) else {}
        module, version = spec.get("moduleName"), spec.get("version")
        objects = taking.others.pop(f"{module}-{version}", None)
        if objects and isinstance(module, str) and isinstance(version, str):
            kinds = [item for item in objects if isinstance(item, dict) and item.get("kind") in _WORKLOADS]
            manifests[module, version] = tuple(_plain(item) for item in kinds)
    return manifests


def _objects(path: str, content: bytes, taking: _Taking) -> Iterator[Any]:
    """Yield the objects of a YAML text, also from lists.

    Note a syntax error and keep the objects before it.
    """
    try:
        for document in documents(content, budget=taking.budget):
            yield from _flat(document, 0)
    except YamlError as error:
        taking.note(f"{path} is not valid YAML: {error.summary}")


def _flat(document: Any, depth: int) -> Iterator[Any]:
    if document is None or depth > 3:
        return
    if isinstance(document, list):
        items: Any = document
    elif isinstance(document, dict) and str(document.get("kind", "")).endswith("List"):
        items = document.get("items")
    else:
        yield document
        return
    for item in items if isinstance(items, list) else ():
        yield from _flat(item, depth + 1)


def _kind_of(item: Any) -> str:
    kind = item.get("kind") if isinstance(item, dict) else None
    return str(kind)[:60] if isinstance(kind, str) and kind else "without a kind"


def _template(item: Any, source: str) -> Json | None:
    """Return a template fit to stand beside a cluster's, None for other objects. Errors in its spec stay."""
    if not isinstance(item, dict) or item.get("kind") != "ModuleTemplate":
        return None
    group, _, version = str(item.get("apiVersion", "")).partition("/")
    if group != OPERATOR or not version:
        return None
    metadata, spec = item.get("metadata"), item.get("spec")
    if not isinstance(metadata, dict):
        metadata = {}
    name = metadata.get("name")
    labels = {key: text for key, text in _texts(metadata.get("labels")) if key not in _CLAIMS}
    if isinstance(spec, dict):
        spec = {key: _plain(value) for key, value in spec.items() if key not in _ONLY_INSIDE}
    return {
        "apiVersion": item["apiVersion"],
        "kind": "ModuleTemplate",
        "metadata": {
            "name": name if isinstance(name, str) else "",
            "labels": labels,
            "annotations": {**dict(_texts(metadata.get("annotations"))), SOURCE: source},
        },
        "spec": spec,
    }


def _texts(value: Any) -> Iterator[tuple[str, str]]:
    for key, text in value.items() if isinstance(value, Mapping) else ():
        if isinstance(text, str):
            yield str(key), text


def _plain(value: Any) -> Any:
    """Return the value with whole numbers as int, as in Kubernetes; the YAML reader bounds the depth."""
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return int(value)
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return value
