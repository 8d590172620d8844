"""The files of a kustomization, in an archive or a folder, and the limits of access.

As in kustomize, files must be in or below the folder of their kustomization, other kustomizations may be anywhere
in the same tree, and cycles are errors. No path leaves the archive or the folder's boundary.
"""

from __future__ import annotations

import os
import posixpath
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, Protocol

from kymatui.engine.bundles.yaml_objects import read_file
from kymatui.errors import SourceError
from kymatui.helm.yaml.errors import YamlError
from kymatui.helm.yaml.reading import load_exactly
from kymatui.kustomize.model.resmap import BuildLimits

NAMES: Final = ("kustomization.yaml", "kustomization.yml", "Kustomization")
DEEPEST: Final = 64  # kustomizations in kustomizations, since each level recurses


class FileTree(Protocol):
    """Files by absolute, clean paths with "/"."""

    def resolve(self, path: str) -> str:
        """Return the path without links. Raises SourceError if it leaves the tree."""
        ...

    def read(self, path: str) -> bytes | None:
        """Return a regular file, None if absent."""
        ...

    def is_folder(self, path: str) -> bool: ...

    def shown(self, path: str) -> str:
        """Return the path for messages."""
        ...


class ArchiveTree:
    """Files in memory, by their paths in an archive."""

    def __init__(self, files: Mapping[str, bytes], where: str) -> None:
        self._files = {f"/{name}": data for name, data in files.items()}
        self._folders = {parent for name in self._files for parent in _parents(name)}
        self._where = where

    def resolve(self, path: str) -> str:
        return path

    def read(self, path: str) -> bytes | None:
        return self._files.get(path)

    def is_folder(self, path: str) -> bool:
        return path in self._folders

    def shown(self, path: str) -> str:
        return f"{self._where}: {path.lstrip('/') or '.'}"


class FolderTree:
    """Files on this machine; a boundary limits them to those below it, even through links."""

    def __init__(self, boundary: Path | None = None) -> None:
        self._boundary = boundary.resolve() if boundary is not None else None
        self.seen: dict[str, bytes] = {}
        """The files read so far, by path."""

    def resolve(self, path: str) -> str:
        real = Path(os.path.realpath(path))
        if self._boundary is not None and not real.is_relative_to(self._boundary):
            raise SourceError(f"{path} leads out of {self._boundary}", hint="the kustomization was not used")
        return real.as_posix()

    def read(self, path: str) -> bytes | None:
        file_path = Path(path)
        if not file_path.is_file():
            return None
        self.seen[path] = read_file(file_path)
        return self.seen[path]

    def is_folder(self, path: str) -> bool:
        return Path(path).is_dir()

    def shown(self, path: str) -> str:
        return path


def _parents(path: str) -> list[str]:
    paths = []
    while path != "/":
        path = posixpath.dirname(path)
        paths.append(path)
    return paths


class KustomizationFolder:
    """The folder of a kustomization, with its parents."""

    def __init__(
        self, tree: FileTree, folder: str, above: tuple[str, ...] = (), limits: BuildLimits | None = None
    ) -> None:
        self._tree = tree
        self._folder = tree.resolve(folder)
        self._above = above
        self._limits = limits or BuildLimits()
        if not tree.is_folder(self._folder):
            raise SourceError(f"{tree.shown(folder)} is not a folder with a kustomization")

    def __str__(self) -> str:
        return self._tree.shown(self._folder)

    @property
    def limits(self) -> BuildLimits:
        """Return what the whole build may still read, copy and take."""
        return self._limits

    def shown(self, path: str) -> str:
        return self._tree.shown(self._joined(path))

    def _joined(self, path: str) -> str:
        return posixpath.normpath(posixpath.join(self._folder, path))

    def kustomization(self) -> tuple[str, bytes]:
        """Return name and content of the only kustomization file. Raises SourceError."""
        files = [
            (name, data)
            for name in NAMES
            if (data := self._tree.read(self._tree.resolve(self._joined(name)))) is not None
        ]
        if len(files) != 1:
            count = "more than one" if files else "none"
            raise SourceError(f"{self} has {count} of {', '.join(NAMES)}")
        return files[0]

    def find(self, path: str) -> bytes | None:
        """Return a file in or below this folder, None if absent. Raises SourceError for one elsewhere."""
        refuse_remote(path)
        real = self._tree.resolve(self._joined(path))
        data = self._tree.read(real)
        if data is not None and not real.startswith(f"{self._folder.rstrip('/')}/"):
            raise SourceError(
                f"{self}: {path!r} is outside the folder of its kustomization",
                hint="move the file into this folder, or add a kustomization.yaml to the file's folder",
            )
        return data

    def load(self, path: str) -> bytes:
        """Return a file in or below this folder. Raises SourceError."""
        data = self.find(path)
        if data is None:
            raise SourceError(f"{self}: file {path!r} not found")
        return data

    def read_yaml(self, path: str) -> Any:
        """Return the first document of a file. Raises SourceError."""
        try:
            return load_exactly(self.load(path), budget=self._limits.budget)
        except YamlError as error:
            raise SourceError(f"{self.shown(path)}: {error.summary}") from None

    def enter(self, path: str) -> KustomizationFolder:
        """Return another kustomization folder. Raises SourceError for a cycle."""
        refuse_remote(path)
        folder = self._tree.resolve(self._joined(path))
        visited = (*self._above, self._folder)
        if any(f"{ancestor.rstrip('/')}/".startswith(f"{folder.rstrip('/')}/") for ancestor in visited):
            raise SourceError(f"{self}: {path!r} includes itself (a cycle)")
        if len(visited) >= DEEPEST:
            raise SourceError(f"{self}: kustomizations are nested too deeply")
        if not self._tree.is_folder(folder):
            raise SourceError(f"{self}: file or folder {path!r} not found")
        self._limits.enter()
        return KustomizationFolder(self._tree, folder, visited, self._limits)


def refuse_remote(path: str) -> None:
    """Raise SourceError for a remote address, because only local content is built."""
    remote = "://" in path or "?ref=" in path or path.startswith(("git@", "git::", "github.com/", "gitlab.com/"))
    if remote or path.endswith(".git"):
        raise SourceError(f"{path!r} is a remote resource, which is not supported", hint="fetch it into the tree first")
    if not path:
        raise SourceError("a path in the kustomization is empty")
