"""OCI image layouts: a folder with index.json and blobs by digest, as an `ArtifactStore`, or one tar of it.

Image specification 1.1, "Image Layout". A manifest is named `repository:tag` in the annotation
org.opencontainers.image.ref.name. A tar is unpacked into a temporary folder to read, and packed from one after writing.
Archives are untrusted: only the files of a layout are unpacked, and their sizes are limited.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import tarfile
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO, Final

from kymatui.adapters.content.blob_cache import lock_descriptor
from kymatui.adapters.files.user_files import write_file
from kymatui.domain.kubernetes.json_reader import text_at
from kymatui.domain.kubernetes.terminal_text import error_reason
from kymatui.errors import RegistryError
from kymatui.json_input import read_json
from kymatui.own_files import create_folder, replaced
from kymatui.tar_entries import TarEntry, TarFormatError, TarKind, read_entries

NAME: Final = "org.opencontainers.image.ref.name"
INDEX_TYPE: Final = "application/vnd.oci.image.index.v1+json"
LARGEST_INDEX: Final = 16 * 1024 * 1024  # bytes of index.json, which has an entry for each image
CHUNK: Final = 1024 * 1024  # bytes in memory while a blob is copied
LARGEST_MANIFEST: Final = 4 * 1024 * 1024  # bytes; the OCI specification requires registries to accept as many
_HEXADECIMAL: Final = frozenset("0123456789abcdef")

Json = dict[str, Any]


class ImageLayout:
    """A layout; several processes may write to it at the same time."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def manifest(self, repository: str, pointer: str) -> tuple[bytes, str] | None:
        """Return a manifest by tag or digest, None if the layout has none. Raise RegistryError."""
        entry = self._entry(repository, pointer)
        if entry is None:
            return None
        content = self.blob(repository, str(entry.get("digest")), LARGEST_MANIFEST)
        return content, str(entry.get("mediaType", ""))

    def blob(self, repository: str, digest: str, largest: int) -> bytes:
        """Return a verified blob. Raise RegistryError."""
        path = self._path(digest)
        try:
            with path.open("rb") as file:
                content = file.read(largest + 1)
        except OSError as error:
            raise RegistryError(f"{self._folder} has no readable blob {digest}: {error_reason(error)}") from error
        if len(content) > largest:
            raise RegistryError(f"{path} is larger than {largest} bytes")
        if f"sha256:{hashlib.sha256(content).hexdigest()}" != digest:
            raise RegistryError(f"{path} does not have its digest", hint="the layout is damaged; it was not used")
        return content

    def names(self) -> list[str]:
        """Return the names of all manifests ("repository:tag", with other tools "tag")."""
        return [name for entry in self._entries() if (name := _name(entry))]

    def tags(self, repository: str) -> list[str]:
        prefix = f"{repository}:"
        names = [_name(entry) for entry in self._entries()]
        return [name.removeprefix(prefix) for name in names if name.startswith(prefix)]

    def referrers(self, repository: str, digest: str) -> list[Mapping[str, Any]]:
        """Return the manifests of the layout whose subject is `digest`. Raise RegistryError."""
        referrers: list[Mapping[str, Any]] = []
        for entry in self._entries():
            body = self._body(str(entry.get("digest")))
            subject = body.get("subject")
            if isinstance(subject, dict) and subject.get("digest") == digest:
                referrers.append({**entry, "artifactType": body.get("artifactType") or ""})
        return referrers

    def _body(self, digest: str) -> Json:
        try:
            document = read_json(self.blob("", digest, LARGEST_MANIFEST))
        except ValueError:
            return {}
        return document if isinstance(document, dict) else {}

    def push_blob(self, repository: str, content: bytes, *, source: str = "") -> None:
        path = self._path(f"sha256:{hashlib.sha256(content).hexdigest()}")
        if not path.exists():
            write_file(path, content)

    def has_blob(self, repository: str, digest: str) -> bool:
        return self._path(digest).exists()

    def mount_blob(self, repository: str, digest: str, source: str) -> bool:
        """Return whether the layout has the blob; all of its repositories share their blobs."""
        return self.has_blob(repository, digest)

    def blob_chunks(self, repository: str, digest: str, size: int) -> Iterator[bytes]:
        path, hasher, count = self._path(digest), hashlib.sha256(), 0
        try:
            with path.open("rb") as file:
                while chunk := file.read(CHUNK):
                    hasher.update(chunk)
                    count += len(chunk)
                    yield chunk
        except OSError as error:
            raise RegistryError(f"{self._folder} has no readable blob {digest}: {error_reason(error)}") from error
        if count != size or f"sha256:{hasher.hexdigest()}" != digest:
            raise RegistryError(f"{path} does not have its digest and size", hint="the layout is damaged")

    def push_chunks(self, repository: str, digest: str, size: int, chunks: Iterator[bytes]) -> None:
        """Store a blob under its digest once it is complete. Raise RegistryError, also for another digest."""
        path, hasher = self._path(digest), hashlib.sha256()
        try:
            create_folder(path.parent)
            with replaced(path, 0o644) as descriptor, open(descriptor, "wb", closefd=False) as file:
                for chunk in chunks:
                    hasher.update(chunk)
                    file.write(chunk)
                if f"sha256:{hasher.hexdigest()}" != digest:
                    raise RegistryError(f"blob {digest} has the digest sha256:{hasher.hexdigest()}")
        except OSError as error:
            raise RegistryError(f"{self._folder} cannot be written: {error_reason(error)}") from error

    def push_manifest(self, repository: str, pointer: str, content: bytes, media_type: str) -> str:
        """Store a manifest and name it in the index. Raise RegistryError."""
        digest = f"sha256:{hashlib.sha256(content).hexdigest()}"
        self.push_blob(repository, content)
        entry: Json = {"mediaType": media_type, "digest": digest, "size": len(content)}
        if ":" not in pointer:
            entry["annotations"] = {NAME: f"{repository}:{pointer}"}
        with self._locked():
            others = [
                other for other in self._entries() if _name(other) != _name(entry) or other.get("digest") != digest
            ]
            if _name(entry):
                others = [other for other in others if _name(other) != _name(entry)]
            self._save([*others, entry])
        return digest

    def _entry(self, repository: str, pointer: str) -> Json | None:
        if ":" in pointer:
            return next((entry for entry in self._entries() if entry.get("digest") == pointer), None)
        entries = self._entries()
        named = (entry for entry in entries if _name(entry) == f"{repository}:{pointer}")
        return next(named, None) or next(
            (entry for entry in entries if _name(entry) == pointer), None
        )  # as skopeo names it

    def _entries(self) -> list[Json]:
        path = self._folder / "index.json"
        try:
            with path.open("rb") as file:
                document = read_json(file.read(LARGEST_INDEX))
        except FileNotFoundError:  # a new layout has no index yet
            return []
        except (OSError, ValueError) as error:
            reason = error_reason(error) if isinstance(error, OSError) else "it is not valid JSON"
            raise RegistryError(f"{path} cannot be read: {reason}") from error
        entries = document.get("manifests") if isinstance(document, dict) else None
        if not isinstance(entries, list):
            raise RegistryError(f"{path} is not the index of an image layout")
        return [entry for entry in entries if isinstance(entry, dict)]

    def _save(self, entries: list[Json]) -> None:
        entries.sort(key=lambda entry: (_name(entry), str(entry.get("digest"))))
        index = {"schemaVersion": 2, "mediaType": INDEX_TYPE, "manifests": entries}
        write_file(self._folder / "oci-layout", b'{"imageLayoutVersion":"1.0.0"}')
        content = json.dumps(index, ensure_ascii=False, separators=(",", ":")).encode()
        write_file(self._folder / "index.json", content)

    @contextlib.contextmanager
    def _locked(self) -> Iterator[None]:
        """Keep other processes from the index; a killed process leaves no lock behind."""
        try:
            create_folder(self._folder)
            handle = os.open(self._folder / ".index.lock", os.O_RDWR | os.O_CREAT, 0o644)
        except OSError as error:
            raise RegistryError(f"{self._folder} cannot be written: {error_reason(error)}") from error
        try:
            lock_descriptor(handle)
            yield
        finally:
            os.close(handle)

    def _path(self, digest: str) -> Path:
        algorithm, _, value = digest.partition(":")
        if algorithm != "sha256" or len(value) != 64 or not _HEXADECIMAL.issuperset(value):
            raise RegistryError(f"{digest!r} is not a digest that can be checked")
        return self._folder / "blobs" / "sha256" / value


def _name(entry: Json) -> str:
    return text_at(entry, "annotations", NAME)


LARGEST_ARCHIVE: Final = 16 * 1024 * 1024 * 1024  # unpacked bytes, so that an archive cannot fill the disk
MOST_FILES: Final = 20_000  # entries of an archive: empty files need no bytes
_CHUNK: Final = 1024 * 1024  # bytes in memory while a blob is unpacked
_FILES: Final = re.compile(r"oci-layout|index\.json|blobs/sha256/[0-9a-f]{64}")


@contextlib.contextmanager
def open_archive(path: Path, *, write: bool = False) -> Iterator[ImageLayout]:
    """Yield the layout of an archive; with `write` the archive is created afterwards unless an error occurs.

    Raise RegistryError if it cannot be read or written, or if it already exists.
    """
    with tempfile.TemporaryDirectory(prefix="kymatui-layout-") as folder:
        if write:
            if path.exists():
                raise RegistryError(f"{path} already exists", hint="name a new file")
            yield ImageLayout(Path(folder))
            _pack(Path(folder), path)
        else:
            _unpack(path, Path(folder))
            yield ImageLayout(Path(folder))


def _unpack(path: Path, folder: Path) -> None:
    total = 0
    try:
        with path.open("rb") as archive:
            for count, entry in enumerate(read_entries(archive), 1):
                name = entry.name.removeprefix("./")
                if count > MOST_FILES:
                    raise RegistryError(f"{path} has more than {MOST_FILES} entries")
                if entry.kind is TarKind.FOLDER or not _FILES.fullmatch(name):
                    continue
                if entry.kind is not TarKind.FILE:
                    raise RegistryError(f"{path}: {name} is not a regular file", hint="the archive was not used")
                total += entry.size
                if total > LARGEST_ARCHIVE:
                    raise RegistryError(f"{path} is larger than {LARGEST_ARCHIVE} bytes")
                _save(archive, entry, folder / name)
    except TarFormatError as error:
        raise RegistryError(f"{path} cannot be read as an archive of an image layout: it {error}") from error
    except OSError as error:
        reason = error_reason(error)
        raise RegistryError(f"{path} cannot be read as an archive of an image layout: {reason}") from error
    if not (folder / "index.json").exists():
        raise RegistryError(f"{path} has no index.json", hint="only archives of OCI image layouts can be read")


def _save(archive: BinaryIO, entry: TarEntry, target: Path) -> None:
    create_folder(target.parent)
    missing = entry.size
    with target.open("xb") as file:
        while missing and (chunk := archive.read(min(_CHUNK, missing))):
            file.write(chunk)
            missing -= len(chunk)


def _pack(folder: Path, path: Path) -> None:
    try:
        with (
            replaced(path, 0o644) as descriptor,
            open(descriptor, "wb", closefd=False) as packed,
            tarfile.open(fileobj=packed, mode="w:", format=tarfile.PAX_FORMAT) as archive,
        ):
            for file in sorted(child for child in folder.rglob("*") if child.is_file()):
                name = file.relative_to(folder).as_posix()
                if not _FILES.fullmatch(name):
                    continue
                info = tarfile.TarInfo(name)
                info.size, info.mode = file.stat().st_size, 0o644
                with file.open("rb") as content:
                    archive.addfile(info, content)
    except OSError as error:
        raise RegistryError(f"{path} cannot be written: {error_reason(error)}") from error
