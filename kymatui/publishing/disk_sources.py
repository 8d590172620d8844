"""What `kymatui bundle` reads: the sources of modules on disk, and objects that a registry stores."""

from __future__ import annotations

import re
import subprocess
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from kymatui.actions.components.content_changes import layer_objects
from kymatui.actions.components.stored_components import StoredComponent
from kymatui.adapters.content.git_revisions import git_environment
from kymatui.adapters.files.user_files import write_file
from kymatui.domain.kubernetes.terminal_text import error_reason
from kymatui.engine.cluster.ports import Object
from kymatui.engine.sources.artifact_store import ContentStore
from kymatui.errors import ConfigurationError
from kymatui.ocm import check_content
from kymatui.ocm.module_layers import local_digest
from kymatui.publishing.module_component import GitCommit

_CHUNK: Final = 1024 * 1024  # bytes in memory while a file is read


class DiskSources:
    """Files, addresses and the git repository of a module; `fetch` returns the content of a URL."""

    def __init__(self, fetch: Callable[[str], bytes]) -> None:
        self._fetch = fetch

    def read(self, path: str, what: str, largest: int) -> bytes:
        """Return a file. Raise ConfigurationError that names what it is."""
        try:
            with Path(path).open("rb") as file:
                content = file.read(largest + 1)
        except OSError as error:
            raise ConfigurationError(f"{what} {path} cannot be read: {error_reason(error)}") from error
        if len(content) > largest:
            raise ConfigurationError(f"{what} {path} is larger than {largest} bytes")
        return content

    def chunks(self, path: str, what: str, largest: int) -> Iterator[bytes]:
        """Yield a file. Raise ConfigurationError that names what it is."""
        size = 0
        try:
            with Path(path).open("rb") as file:
                while chunk := file.read(_CHUNK):
                    size += len(chunk)
                    if size > largest:
                        raise ConfigurationError(f"{what} {path} is larger than {largest} bytes")
                    yield chunk
        except OSError as error:
            raise ConfigurationError(f"{what} {path} cannot be read: {error_reason(error)}") from error

    def fetch(self, address: str) -> bytes:
        """Return the content of an https address, limited in size."""
        return self._fetch(address)

    def write(self, path: str, text: str) -> None:
        """Replace a file; the old one stays until the new one is complete."""
        write_file(Path(path), text)

    def exists(self, path: str) -> bool:
        return Path(path).exists()

    def is_folder(self, path: str) -> bool:
        return Path(path).is_dir()

    def stamp(self, path: str) -> tuple[int, int, int] | None:
        """Return what a save changes (inode, size, time in nanoseconds), None for a file that is missing."""
        try:
            stat = Path(path).stat()
        except OSError:
            return None
        return stat.st_ino, stat.st_size, stat.st_mtime_ns

    def commit(self, folder: str) -> GitCommit:
        """Return the current commit of a git repository."""
        return read_commit(Path(folder))


LARGEST_LAYER: Final = 32 * 1024 * 1024  # bytes of a layer that is parsed for its objects


def stored_objects(store: ContentStore, component: StoredComponent, name: str) -> dict[str, Object]:
    """Return the objects of a layer by kind, namespace and name, none if the component has no such layer.

    Raise RegistryError, SourceError, and SignatureError for a layer with another digest.
    """
    resource = component.descriptor.resource(name)
    digest = local_digest(resource) if resource is not None else ""
    if resource is None or not digest:
        return {}
    content = store.blob(component.location.repository, digest, LARGEST_LAYER)
    if resource.digest is not None and not resource.digest.is_excluded:
        check_content(resource, content)
    return layer_objects(content, f"{component.location} {name}")


LARGEST_COMMIT: Final = 1024 * 1024  # bytes of a commit that are read: the time is in its header
GIT_SECONDS: Final = 10.0  # after which the commit counts as unreadable
_HASH: Final = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_REF: Final = re.compile(r"refs/[^\0\s\\]+")
_COMMITTER: Final = re.compile(rb"^committer [^\n]*> (\d{1,12}) [+-]\d{4}$", re.MULTILINE)


def read_commit(folder: Path) -> GitCommit:
    """Return the commit that HEAD names. Raise ConfigurationError if the folder is no git repository."""
    git = _git_folder(folder)
    commit = _head(git, folder)
    return GitCommit(commit, _time(git, commit, folder))


def _git_folder(folder: Path) -> Path:
    """Return the folder of the repository's files; worktrees and submodules name it in a file."""
    git_folder = folder / ".git"
    if git_folder.is_file():
        text = _text(git_folder)
        git_folder = folder / text.removeprefix("gitdir:").strip() if text.startswith("gitdir:") else git_folder
    if not git_folder.is_dir():
        raise ConfigurationError(
            f"{folder} is not a git repository", hint="use --sources DIR: the component names the commit of its sources"
        )
    return git_folder


def _head(git: Path, folder: Path) -> str:
    text = _text(git / "HEAD").strip()
    for _ in range(5):  # symbolic references may name others
        if not text.startswith("ref:"):
            break
        text = _reference(git, text.removeprefix("ref:").strip(), folder)
    if not _HASH.fullmatch(text):
        raise ConfigurationError(f"{folder} has no commit", hint="commit the sources of the module first")
    return text


def _reference(git: Path, name: str, folder: Path) -> str:
    if not _REF.fullmatch(name) or ".." in name:
        raise ConfigurationError(f"{folder}: HEAD of the git repository is damaged")
    for root in (git, _shared(git)):
        if (root / name).is_file():
            return _text(root / name).strip()
        for line in _text(root / "packed-refs").splitlines():
            commit, _, packed = line.partition(" ")
            if packed == name:
                return commit
    return ""


def _shared(git: Path) -> Path:
    """Return the folder that all worktrees of a repository share."""
    text = _text(git / "commondir").strip()
    return git / text if text else git


def _time(git: Path, commit: str, folder: Path) -> int:
    content = _loose(git, commit) or _unpacked(git, commit)
    match = _COMMITTER.search(content)
    if not match:
        raise ConfigurationError(
            f"{folder}: commit {commit} cannot be read",
            hint="install git, or set SOURCE_DATE_EPOCH to the creation time in seconds",
        )
    return int(match[1])


def _loose(git: Path, commit: str) -> bytes:
    try:
        packed = (_shared(git) / "objects" / commit[:2] / commit[2:]).read_bytes()
        content = zlib.decompressobj().decompress(packed, LARGEST_COMMIT)
    except (OSError, zlib.error):  # packed objects are no files of their own; git reads those
        return b""
    return content.partition(b"\0")[2] if content.startswith(b"commit ") else b""


def _unpacked(git: Path, commit: str) -> bytes:
    environment = {**git_environment(), "GIT_DIR": str(git.resolve())}
    try:
        done = subprocess.run(  # noqa: S603 (the hash is hexadecimal)
            ["git", "cat-file", "commit", commit],  # noqa: S607
            env=environment,
            capture_output=True,
            timeout=GIT_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return b""
    return done.stdout[:LARGEST_COMMIT] if done.returncode == 0 else b""


def _text(path: Path) -> str:
    try:
        return path.read_text("utf-8", "replace") if path.is_file() else ""
    except OSError as error:
        raise ConfigurationError(f"{path} cannot be read: {error_reason(error)}") from error
