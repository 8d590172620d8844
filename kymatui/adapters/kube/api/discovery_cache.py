"""Disk cache of discovery: one file per server and user, replaced atomically, valid for ten minutes."""

from __future__ import annotations

import contextlib
import hashlib
import time
from collections.abc import Callable
from pathlib import Path

import msgspec

from kymatui.adapters.kube.api.discovery_documents import ServedResources
from kymatui.adapters.kube.objects.api_resource import ApiResource
from kymatui.own_files import read_own, write_own
from kymatui.structs import resolved_type

_FORMAT = 1  # of the cache's files; files of another format are read again from the server
LIFETIME = 600.0  # seconds until a file is out of date: new CRDs are served meanwhile


class _CacheFile(msgspec.Struct, array_like=True):
    """What a file has; `resources` are (group, version, resources)."""

    format: int
    versions: dict[str, tuple[str, ...]]
    resources: list[tuple[str, str, tuple[ApiResource, ...]]]


class DiscoveryCache:
    """The cached discovery of one server and user. An unreadable or unwritable file counts as missing."""

    def __init__(
        self, server: str, user: str = "", *, folder: Path | None = None, clock: Callable[[], float] = time.time
    ) -> None:
        if folder is None:
            import platformdirs

            folder = platformdirs.user_cache_path("kymatui") / "discovery"
        digest = hashlib.sha256(f"{server}\n{user}".encode()).hexdigest()[:32]
        self._files = {core: folder / f"{digest}-{'core' if core else 'groups'}.json" for core in (True, False)}
        self._clock = clock

    def load(self, core: bool) -> ServedResources | None:
        """Return the cached resources, None if there are none or they are too old."""

        file = self._files[core]
        try:
            if self._clock() - file.stat().st_mtime > LIFETIME:
                return None
            cached = msgspec.json.decode(read_own(file), type=resolved_type(_CacheFile))
        except (OSError, msgspec.DecodeError, msgspec.ValidationError):
            return None
        if cached.format != _FORMAT:
            return None
        resources = {(group, version): resources for group, version, resources in cached.resources}
        return ServedResources(cached.versions, resources, set())

    def store(self, core: bool, served: ServedResources) -> None:
        """Write the resources of one kind of discovery; no reader sees half a file."""

        cached = _CacheFile(_FORMAT, served.versions, [(*key, found) for key, found in served.resources.items()])
        file = self._files[core]
        with contextlib.suppress(OSError):  # a cache that cannot be written only costs time
            write_own(file, msgspec.json.encode(cached))

    def drop(self) -> None:
        """Delete the cached files."""
        for file in self._files.values():
            with contextlib.suppress(OSError):
                file.unlink(missing_ok=True)
