"""Bundles: registries, layouts and sources on disk, for the actions of `kymatui bundle`."""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Iterator

from kymatui.adapters.content.blob_cache import try_lock
from kymatui.adapters.files.user_files import cache_folder
from kymatui.domain.kubernetes.terminal_text import error_reason
from kymatui.errors import ConfigurationError, RefusedError
from kymatui.ocm.component_location import NameMapping
from kymatui.own_files import open_own
from kymatui.publishing.create import Destination
from kymatui.publishing.disk_sources import DiskSources
from kymatui.sessions.fetching import FetchOptions, LazyFetcher
from kymatui.sessions.registries import open_layout, open_registries


def open_sources(options: FetchOptions) -> DiskSources:
    """Return the files and addresses of a module's sources."""
    return DiskSources(LazyFetcher(options).url)


def open_destination(registry: str, layout: str, mapping: str, options: FetchOptions) -> Destination | None:
    """Return the registry or the layout to publish to, None without one."""
    if registry:
        base = registry.rpartition("://")[2].strip("/")
        plain = base.partition("/")[0] in options.insecure
        return Destination(open_registries(options), base, NameMapping(mapping), plain)
    return Destination(open_layout(layout), mapping=NameMapping(mapping)) if layout else None


@contextlib.contextmanager
def alone_in(config: str) -> Iterator[None]:
    """Hold the lock of a module config, which a killed process leaves to the next. Raise RefusedError if it is held."""
    folder = cache_folder("dev")
    if folder is None:  # a user without a home
        yield
        return
    path = os.path.realpath(config)
    try:
        lock = open_own(folder / f"{hashlib.sha256(os.fsencode(path)).hexdigest()[:32]}.lock")
    except OSError as error:
        raise ConfigurationError(f"the cache {folder} cannot be written: {error_reason(error)}") from error
    with open(lock, "a+b") as file:
        if not try_lock(file.fileno()):
            file.seek(0)
            owner = file.read(20).decode("ascii", "replace").strip()
            raise RefusedError(
                f"`kymatui bundle dev` runs for {path} already" + (f" (process {owner})" if owner.isdigit() else ""),
                hint="end it there with Ctrl-C",
            )
        file.truncate(0)
        file.write(f"{os.getpid()}\n".encode())
        file.flush()
        yield
