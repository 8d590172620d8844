"""Files with ModuleReleaseMetas, ModuleTemplates and Kymas: a change of a catalog that is not made yet."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, Final

from kymatui.domain.kubernetes.object_meta import OPERATOR, MalformedObject
from kymatui.domain.kyma.kymas import Kyma, read_kyma
from kymatui.domain.kyma.module_templates import ModuleTemplate, read_template
from kymatui.domain.kyma.release_metas import ReleaseMeta, read_release_meta
from kymatui.domain.whatif.fleet_objects import KYMA, RELEASE_META, TEMPLATE
from kymatui.engine.bundles.yaml_objects import LARGEST_TEXT, each_object
from kymatui.errors import ConfigurationError

_Reader = Callable[[object], Kyma | ModuleTemplate | ReleaseMeta | MalformedObject]
MOST_FILES: Final = 5000
DEEPEST_FOLDERS: Final = 32
_READERS: Final[Mapping[str, _Reader]] = {KYMA: read_kyma, TEMPLATE: read_template, RELEASE_META: read_release_meta}
_ENDINGS: Final = (".yaml", ".yml", ".json")
_WANTED: Final = f"{RELEASE_META}, {TEMPLATE} or {KYMA}"
Json = dict[str, Any]


def read_change_files(paths: Sequence[str], namespace: str) -> tuple[Json, ...]:
    """Return the objects of files and folders; other kinds are skipped.

    A folder is read with its subfolders, and no link is followed; "-" is standard input. `namespace` is that of objects
    without one. Raises ConfigurationError, which names file and document, for what cannot be read, for a file without
    such an object, and for an object that two files have.
    """
    found: dict[tuple[str, str, str], tuple[str, Json]] = {}
    for path in paths:
        count = len(found)
        for source, content in _contents(path):
            for raw in _objects(content, source, namespace):
                key = raw["kind"], raw["metadata"]["namespace"], raw["metadata"]["name"]
                if key in found:
                    places = " and ".join(dict.fromkeys((found[key][0], source)))
                    raise ConfigurationError(f"{key[0]} {key[1]}/{key[2]} is more than once in {places}")
                found[key] = source, raw
        if len(found) == count:
            raise ConfigurationError(f"{path} has no {_WANTED}")
    return tuple(raw for _, raw in found.values())


def _objects(content: bytes, source: str, namespace: str) -> Iterator[Json]:
    for raw in each_object(content, source, only=_READERS):
        if not str(raw.get("apiVersion", "")).startswith(f"{OPERATOR}/"):
            continue
        metadata = raw.get("metadata")
        body = {**raw, "metadata": {"namespace": namespace, **metadata}} if isinstance(metadata, dict) else raw
        read = _READERS[raw["kind"]](body)
        if isinstance(read, MalformedObject):
            raise ConfigurationError(f"{source}: {read.ref} is malformed: {read.reason}")
        if read.flaws:
            raise ConfigurationError(f"{source}: {read.ref}: {read.flaws[0]}", hint="an API server refuses it")
        if not read.meta.namespace:
            hint = "set metadata.namespace: the fleet has Kymas in more than one"
            raise ConfigurationError(f"{source}: {read.ref} has no namespace", hint=hint)
        yield body


def _contents(path: str) -> Iterator[tuple[str, bytes]]:
    """Yield name and content of a file, or of each file of a folder, in the order of their names."""
    if path == "-":
        yield "standard input", sys.stdin.buffer.read(LARGEST_TEXT + 1)
        return
    place = Path(path)
    if not place.is_dir():
        yield path, _content(place)
        return
    files = list(islice((one for one in _files(place, 0) if one.suffix.lower() in _ENDINGS), MOST_FILES + 1))
    if len(files) > MOST_FILES:
        raise ConfigurationError(f"{path} has more than {MOST_FILES} files")
    size = 0
    for one in sorted(files):
        content = _content(one)
        size += len(content)
        if size > LARGEST_TEXT:
            raise ConfigurationError(f"the files of {path} have more than {LARGEST_TEXT >> 20} MiB")
        yield str(one), content


def _files(folder: Path, depth: int) -> Iterator[Path]:
    if depth > DEEPEST_FOLDERS:
        raise ConfigurationError(f"{folder} is more than {DEEPEST_FOLDERS} folders deep")
    try:
        for one in sorted(folder.iterdir()):
            if one.is_symlink() or one.name.startswith("."):
                continue
            if one.is_dir():
                yield from _files(one, depth + 1)
            elif one.is_file():
                yield one
    except OSError as error:
        raise ConfigurationError(f"cannot read {folder}: {error.strerror or error}") from error


def _content(path: Path) -> bytes:
    """Return the content; one byte more than the limit is enough for the reader to refuse it."""
    try:
        with path.open("rb") as file:
            return file.read(LARGEST_TEXT + 1)
    except OSError as error:
        raise ConfigurationError(f"cannot read {path}: {error.strerror or error}") from error
