"""Files with ModuleReleaseMetas, ModuleTemplates and Kymas: a change of a catalog that is not made yet.

A folder as it is, or the difference of two git revisions of it.
"""

from __future__ import annotations

import gzip
import io
import json
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import Any, Final

from msgspec import Struct

from kymatui.adapters.content.git_revisions import Revision, RevisionFile, list_files, open_revisions, read_files
from kymatui.domain.kubernetes.object_meta import OPERATOR, MalformedObject
from kymatui.domain.kubernetes.terminal_text import error_reason, sanitize
from kymatui.domain.kyma.kymas import Kyma, read_kyma
from kymatui.domain.kyma.module_templates import ModuleTemplate, read_template
from kymatui.domain.kyma.template_index import ReleaseMeta, read_release_meta
from kymatui.domain.whatif.fleet_objects import (
    KYMA,
    RELEASE_META,
    TEMPLATE,
    CatalogKey,
    FleetObjects,
    fleet_document,
    read_fleet_document,
)
from kymatui.engine.bundles.yaml_objects import each_object
from kymatui.errors import ConfigurationError
from kymatui.helm.yaml.limits import LARGEST_TEXT, YamlBudget
from kymatui.json_input import read_json
from kymatui.own_files import write_file

_Reader = Callable[[object], Kyma | ModuleTemplate | ReleaseMeta | MalformedObject]
MOST_FILES: Final = 5000  # manifests of one change, which are all held in memory
DEEPEST_FOLDERS: Final = 32  # folders below the named one, since each level recurses
_READERS: Final[Mapping[str, _Reader]] = {KYMA: read_kyma, TEMPLATE: read_template, RELEASE_META: read_release_meta}
MOST_NODES: Final = 4_000_000
"""Maps, lists and scalars of a folder: a fleet of 5,000 Kymas and its templates have a quarter of that."""
_ENDINGS: Final = (".yaml", ".yml", ".json")
_KUSTOMIZATIONS: Final = ("kustomization.yaml", "kustomization.yml", "kustomization")
_LARGE_FILE: Final = b"version https://git-lfs.github.com/"
_WANTED: Final = f"{RELEASE_META}, {TEMPLATE} or {KYMA}"
Json = dict[str, Any]


class ChangedFiles(Struct, frozen=True):
    """What files change.

    objects         new or changed objects, each with its namespace
    deleted         objects of the catalog that only the older revision has
    deleted_kymas   Kymas that only the older revision has, as `namespace/name`
    kustomizations  files of kustomize, which nothing renders
    """

    objects: tuple[Json, ...] = ()
    deleted: frozenset[CatalogKey] = frozenset()
    deleted_kymas: tuple[str, ...] = ()
    kustomizations: tuple[str, ...] = ()


def read_change_files(paths: Sequence[str], namespace: str) -> ChangedFiles:
    """Return the objects of files and folders; other kinds are skipped.

    A folder is read with its subfolders, and no link is followed; "-" is standard input. `namespace` is that of objects
    without one. Raises ConfigurationError, which names file and document, for what cannot be read, for a file without
    such an object, and for an object that two files have.
    """
    changes: dict[CatalogKey, tuple[str, Json]] = {}
    kustomizations: list[str] = []
    for path in paths:
        count = len(changes)
        _collect(_contents(path), namespace, changes, kustomizations)
        if len(changes) == count:
            raise ConfigurationError(f"{path} has no {_WANTED}")
    return ChangedFiles(tuple(raw for _, raw in changes.values()), kustomizations=tuple(kustomizations))


def change_stamp(path: str) -> tuple[tuple[str, int, int], ...]:
    """Return names, times and sizes of the files that `read_change_files` reads; another value means another change.

    A path that cannot be read has an empty stamp: reading it says why.
    """
    root = Path(path)
    try:
        files = [root] if not root.is_dir() else [child for child in _files(root, 0) if _is_manifest(child)]
        stats = [(str(file), file.stat()) for file in islice(files, MOST_FILES + 1)]
    except (OSError, ConfigurationError):
        return ()
    return tuple(sorted((name, about.st_mtime_ns, about.st_size) for name, about in stats))


def read_git_change(revisions: str, folder: str, namespace: str) -> ChangedFiles:
    """Return what differs between two revisions of a folder, `BASE..HEAD`, whatever the files are called.

    Raises UsageError for a revision, ConfigurationError for what `read_change_files` refuses, and if neither revision
    has an object.
    """
    kustomizations: list[str] = []
    before: dict[CatalogKey, tuple[str, Json]] = {}
    after: dict[CatalogKey, tuple[str, Json]] = {}
    sides = open_revisions(revisions, folder)
    listings = [_manifests(revision) for revision in sides]
    for revision, files, others in zip(sides, listings, reversed(listings), strict=True):
        _refuse_unread(revision, files, others)
    for revision, files, collected in zip(sides, listings, (before, after), strict=True):
        kustomizations.clear()  # those of the newer revision count
        _collect(_revision_contents(revision, files), namespace, collected, kustomizations)
    if not (before or after):
        raise ConfigurationError(f"neither revision of {folder} has a {_WANTED}")
    changed = [
        _without_lost_labels(raw, before[key][1]) if key in before else raw
        for key, (_, raw) in after.items()
        if key not in before or before[key][1] != raw
    ]
    gone = before.keys() - after.keys()
    return ChangedFiles(
        tuple(changed),
        frozenset(key for key in gone if key[0] != KYMA),
        tuple(sorted(f"{key[1]}/{key[2]}" for key in gone if key[0] == KYMA)),
        tuple(kustomizations),
    )


def _without_lost_labels(raw: Json, before: Json) -> Json:
    """Return a Kyma whose labels of before are None: a document removes no label by not having it."""
    old, new = (side["metadata"].get("labels") for side in (before, raw))
    if raw["kind"] != KYMA or not isinstance(old, dict):
        return raw
    kept = new if isinstance(new, dict) else {}
    labels = {**{name: None for name in old if name not in kept}, **kept}
    return {**raw, "metadata": {**raw["metadata"], "labels": labels}}


def _collect(
    contents: Iterable[tuple[str, bytes]],
    namespace: str,
    collected: dict[CatalogKey, tuple[str, Json]],
    kustomizations: list[str],
) -> None:
    budget = YamlBudget(MOST_NODES)
    for source, content in contents:
        if PurePosixPath(source.rpartition(":")[2]).name.lower() in _KUSTOMIZATIONS:
            kustomizations.append(source)
            continue
        if content.startswith(_LARGE_FILE):
            raise ConfigurationError(
                f"{source} is a pointer of Git LFS, not the file", hint="run `git lfs pull`, use -f"
            )
        for raw in _objects(content, source, namespace, budget):
            key = raw["kind"], raw["metadata"]["namespace"], raw["metadata"]["name"]
            if key in collected:
                locations = " and ".join(dict.fromkeys((collected[key][0], source)))
                raise ConfigurationError(f"{key[0]} {key[1]}/{key[2]} is more than once in {locations}")
            collected[key] = source, raw


def _manifests(revision: Revision) -> list[RevisionFile]:
    """Return what a folder on the disk would give: no hidden files, endings of manifests; and links and submodules."""
    files = [
        file
        for file in list_files(revision)
        if (file.unread or _is_manifest(PurePosixPath(file.path)))
        and not any(part.startswith(".") for part in file.path.split("/"))
    ]
    deepest = max((file.path.count("/") for file in files), default=0)
    if deepest > DEEPEST_FOLDERS:
        raise ConfigurationError(f"{revision.name} has files more than {DEEPEST_FOLDERS} folders deep")
    return files


def _refuse_unread(revision: Revision, files: Sequence[RevisionFile], others: Sequence[RevisionFile]) -> None:
    """Raise ConfigurationError for a link or submodule where the other revision has manifests: unknown is not empty."""
    paths = [file.path for file in others if not file.unread]
    for file in files:
        if file.unread and any(path == file.path or path.startswith(f"{file.path}/") for path in paths):
            raise ConfigurationError(
                f"{revision.name}:{sanitize(file.path)} is {file.unread}, whose content is not read",
                hint="use -f with a folder that has the files",
            )


def _revision_contents(revision: Revision, files: Sequence[RevisionFile]) -> Iterator[tuple[str, bytes]]:
    for file, content in read_files(revision, [file for file in files if not file.unread]):
        yield f"{revision.name}:{file.path}", content


def _is_manifest(path: Path | PurePosixPath) -> bool:
    return path.suffix.lower() in _ENDINGS or path.name.lower() in _KUSTOMIZATIONS


def _objects(content: bytes, source: str, namespace: str, budget: YamlBudget) -> Iterator[Json]:
    for raw in each_object(content, source, only=_READERS, budget=budget):
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
    root = Path(path)
    if not root.is_dir():
        yield path, _content(root)
        return
    files = list(islice((child for child in _files(root, 0) if _is_manifest(child)), MOST_FILES + 1))
    if len(files) > MOST_FILES:
        raise ConfigurationError(f"{path} has more than {MOST_FILES} files")
    size = 0
    for file in sorted(files):
        content = _content(file)
        size += len(content)
        if size > LARGEST_TEXT:
            raise ConfigurationError(f"the files of {path} have more than {LARGEST_TEXT >> 20} MiB")
        yield str(file), content


def _files(folder: Path, depth: int) -> Iterator[Path]:
    if depth > DEEPEST_FOLDERS:
        raise ConfigurationError(f"{folder} is more than {DEEPEST_FOLDERS} folders deep")
    try:
        for path in sorted(folder.iterdir()):
            if path.is_symlink() or path.name.startswith("."):
                continue
            if path.is_dir():
                yield from _files(path, depth + 1)
            elif path.is_file():
                yield path
    except OSError as error:
        raise ConfigurationError(f"cannot read {folder}: {error.strerror or error}") from error


def _content(path: Path) -> bytes:
    """Return the content; one byte more than the limit is enough for the reader to refuse it."""
    try:
        with path.open("rb") as file:
            return file.read(LARGEST_TEXT + 1)
    except OSError as error:
        raise ConfigurationError(f"cannot read {path}: {error.strerror or error}") from error


# Files of an exported fleet: JSON, or JSON in gzip by the name's ending.
#
# Not zstd: Python has it from 3.14 on only, and no dependency brings it. 17 MB of 5,000 runtimes are 0.85 MB in gzip,
# and 0.86 MB in zstd at its default level.


LARGEST_FLEET: Final = 512 * 1024 * 1024
"""The most bytes of a fleet, unpacked: 5,000 runtimes have about 10 MiB."""
MOST_VALUES: Final = 5_000_000
"""The most JSON values of a fleet: 5,000 runtimes have about 850,000."""
_HINT: Final = "`kymatui fleet export FILE` writes one"


def require_fleet_name(path: Path) -> None:
    """Raise ConfigurationError for a name that promises zstd."""
    if path.suffix in (".zst", ".zstd"):
        raise ConfigurationError(f"{path}: zstd is not supported", hint=f"use {path.with_suffix('.gz')}")


def write_fleet_file(path: Path, fleet: FleetObjects, key: bytes) -> None:
    """Write a fleet that only its owner may read; with a `key`, ids are hashed. Raises ConfigurationError."""
    text = json.dumps(fleet_document(fleet, key), separators=(",", ":")).encode() + b"\n"
    try:
        write_file(path, gzip.compress(text, mtime=0) if path.suffix == ".gz" else text, private=True)
    except OSError as error:
        raise ConfigurationError(f"{path} cannot be written: {error_reason(error)}") from error


def read_fleet_file(path: Path) -> FleetObjects:
    """Return the fleet of a file. Raises ConfigurationError for a file that is no fleet, or too large."""
    require_fleet_name(path)
    try:
        content = _fleet_content(path)
    except OSError as error:
        raise ConfigurationError(f"cannot read {path}: {error.strerror or error}") from error
    except (EOFError, zlib.error) as error:
        raise ConfigurationError(f"{path} is not gzip: {error}", hint=_HINT) from error
    if len(content) > LARGEST_FLEET:
        raise ConfigurationError(f"{path} has more than {LARGEST_FLEET >> 20} MiB")
    try:
        return read_fleet_document(read_json(content, most=MOST_VALUES))
    except ValueError as error:
        raise ConfigurationError(f"{path} is not an exported fleet: {error}", hint=_HINT) from error


def _fleet_content(path: Path) -> bytes:
    with path.open("rb") as file:
        packed = file.read(LARGEST_FLEET + 1)
    if path.suffix != ".gz":
        return packed
    with gzip.open(io.BytesIO(packed)) as unpacked:
        return unpacked.read(LARGEST_FLEET + 1)
