"""Catalogs from outside the cluster, read beside the watches: each once, again when that failed, or when asked to."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Final

from msgspec import Struct, field

from kymatui.adapters.http.web_session import redact_url
from kymatui.domain.kubernetes.backoff import Backoff
from kymatui.domain.kubernetes.terminal_text import format_count
from kymatui.domain.snapshot.snapshots import CATALOG_FEED, Feed, FeedState, Object
from kymatui.errors import KymatuiError

if TYPE_CHECKING:
    from kymatui.adapters.content.community_catalog import CommunityCatalog

MAX_SOURCES = 16  # catalogs that are read, each by a thread of its own
_BACKOFF: Final = Backoff(30.0, 600.0)

Read = Callable[[str], "CommunityCatalog"]


class _Source(Struct):
    address: str
    name: str
    feed: Feed = field(default_factory=lambda: Feed(FeedState.SYNCING))
    templates: tuple[Object, ...] = ()
    workloads: Mapping[tuple[str, str], tuple[Object, ...]] = field(default_factory=dict)
    again: threading.Event = field(default_factory=threading.Event)


class CommunityCatalogs:
    """One thread a source; a source that fails later keeps what it offered, and says since when that is."""

    def __init__(self, sources: Iterable[str], changed: Callable[[], None], read: Read | None = None) -> None:
        addresses = tuple(dict.fromkeys(sources))
        self._sources = tuple(_Source(url, CATALOG_FEED + redact_url(url)) for url in addresses[:MAX_SOURCES])
        self._left_out = addresses[MAX_SOURCES:]
        self._changed = changed
        self._read = read or _read
        self._closed = threading.Event()
        self._lock = threading.Lock()
        self._templates: tuple[Object, ...] = ()
        self._raw_manifests: Mapping[tuple[str, str], tuple[Object, ...]] = {}

    def start(self) -> None:
        for number, source in enumerate(self._sources):
            threading.Thread(target=self._follow, args=(source,), name=f"catalog-{number}", daemon=True).start()

    def retry(self) -> None:
        """Read every source again."""
        for source in self._sources:
            source.again.set()

    def close(self) -> None:
        """Return at once; a transfer that is under way ends by its own limits, and nobody waits for it."""
        self._closed.set()
        self.retry()

    @property
    def templates(self) -> tuple[Object, ...]:
        """Return all templates of all sources; the same tuple until one changes."""
        return self._templates

    @property
    def raw_manifests(self) -> Mapping[tuple[str, str], tuple[Object, ...]]:
        """Return the workloads of raw manifests next to templates; the same object until one changes."""
        return self._raw_manifests

    def feeds(self) -> dict[str, Feed]:
        """Return each source's state by feed name, without passwords of addresses."""
        feeds = {source.name: source.feed for source in self._sources}
        if self._left_out:
            message = f"{format_count(len(self._left_out), 'more source')} skipped; at most {MAX_SOURCES} are used"
            feeds[f"{CATALOG_FEED}number {MAX_SOURCES + 1} and more"] = Feed(FeedState.FAILED, 0.0, message)
        return feeds

    def _follow(self, source: _Source) -> None:
        failures = 0
        while not self._closed.is_set():
            source.again.clear()
            failures = 0 if self._refresh(source) else failures + 1
            self._changed()
            source.again.wait(_BACKOFF.delay(failures - 1) if source.feed.state is not FeedState.LIVE else None)

    def _refresh(self, source: _Source) -> bool:
        """Read a source once; whether that went well."""
        try:
            catalog = self._read(source.address)
        except KymatuiError as error:  # templates from an earlier read stay
            self._failed(source, str(error))
            return False
        except Exception as error:  # noqa: BLE001 (a thread that died would leave a feed that says it is still reading)
            self._failed(source, f"{type(error).__name__}: {error}")
            return False
        with self._lock:
            if (catalog.templates, catalog.workloads) != (source.templates, source.workloads):
                source.templates, source.workloads = catalog.templates, catalog.workloads
                self._templates = tuple(item for entry in self._sources for item in entry.templates)
                self._raw_manifests = {
                    key: items for entry in reversed(self._sources) for key, items in entry.workloads.items()
                }
            source.feed = Feed(FeedState.LIVE, time.time(), "; ".join(catalog.notes))
        return True

    def _failed(self, source: _Source, message: str) -> None:
        state = FeedState.STALE if source.templates else FeedState.FAILED
        source.feed = Feed(state, source.feed.since, message)


def _read(address: str) -> CommunityCatalog:
    from kymatui.adapters.content.community_catalog import read_catalog

    return read_catalog(address)
