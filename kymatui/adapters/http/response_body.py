"""Bodies of HTTP answers and their limits: decompressed in pieces, and the memory to decode them."""

from __future__ import annotations

import contextlib
import threading
import time
import zlib
from collections.abc import Iterator, Sequence
from functools import lru_cache
from types import TracebackType
from typing import TYPE_CHECKING, Final, NamedTuple, Self

if TYPE_CHECKING:
    from urllib3 import BaseHTTPResponse

    from kymatui.adapters.http.deadlines import Deadline


KIB: Final = 1 << 10
MIB: Final = 1 << 20

# one answer of an API server

LARGEST_ANSWER: Final = 12 * MIB
"""Bytes after decompression. An object has at most 3 MB (etcd takes 1.5 MiB); a larger page is read in smaller ones."""
HEAVIEST_ANSWER: Final = 48 * MIB
"""Memory that decoding takes (see `weight`). Real pages take 4 to 7 bytes for each byte, `[[],[],…]` takes 20."""
LARGEST_LINE: Final = 8 * MIB
"""Bytes of one event of a watch, which is one object."""
LARGEST_ERROR: Final = 512 * KIB
"""Bytes of an error's body. A conflict of server-side apply names each field, in some 100 bytes."""
LIGHT_ANSWER: Final = 4 * MIB
"""Weight of an answer that needs no turn: heavier ones of one server are read one after the other."""
DEEPEST: Final = 128
"""Levels of JSON. The schema of a CRD, the deepest object there is, has 40 to 60."""
ANSWER_SECONDS: Final = 120.0
"""For a request with its whole answer. The API server itself ends requests after 60 seconds."""
FIRST_ANSWER_SECONDS: Final = 10.0
"""For a server that has never answered, from the first request on. Later answers may take as long as their requests."""
FIRST_AGAIN_SECONDS: Final = 3.0
"""The least for one request to a server that has never answered."""
TURN_SECONDS: Final = 30.0
"""For the rest of a heavy answer, while others may wait for its place."""
RECEIVED_HEAVY: Final = 6
"""Heavy answers of runtimes that arrive at a time, one of each: 72 MiB. They are decoded one after the other."""
EVENT_SECONDS: Final = 60.0
"""For one event of a watch, from its first byte to its last."""

# a paged list

MOST_OBJECTS: Final = 200_000
"""Objects of one list: 8 times the 25,000 Manifests of the largest fleet known."""
MOST_PAGES: Final = 5_000
"""Pages of one list. 200,000 objects in pages of 500 are 400; pages of large objects are smaller."""
MOST_EMPTY_PAGES: Final = 10
"""Pages in a row that have no objects and promise more. API servers fill their pages."""
LIST_SECONDS: Final = 300.0
"""For all pages: a continue token of an API server expires after that time."""

# objects in memory

MOST_KEPT: Final = 112 * MIB
"""Weight of all that is kept of a cluster of the kubeconfig: 5,000 Kymas and 25,000 Manifests take about half."""
MOST_KEPT_GIVEN: Final = 32 * MIB
"""Weight of all that is kept of one runtime, which has some 30 modules (about 2 MiB)."""
MOST_KEPT_OF_ALL_GIVEN: Final = 64 * MIB
"""Weight of all that is kept of all runtimes together."""

# discovery

MOST_RESOURCES: Final = 20_000
"""Resources that a server serves. Clusters with many operators have 1,000 to 2,000."""

# registries, repositories, addresses

LARGEST_DOCUMENT: Final = 8 * MIB
"""Bytes of a list of tags, of referrers, of a token. A page of 10,000 tags has 500 KB."""
LARGEST_CATALOG: Final = 6 * MIB
"""Bytes of a catalog. Reading YAML takes up to 27 bytes for each byte; 500 templates have 1 MB."""
LARGEST_PAGE: Final = 8 * MIB
"""Bytes of a manifest at an address: the largest ones that projects publish have 2 to 3 MB."""
LARGEST_INDEX: Final = 12 * MIB
"""Bytes of a chart repository's index: those of the largest public ones have 5 to 10 MB, with 700,000 YAML nodes."""
LARGEST_ARCHIVE: Final = 32 * MIB
"""Bytes of a packed chart: Helm takes 20 MiB of a repository."""
LARGEST_PROVENANCE: Final = MIB
"""Bytes of a signature with the metadata of its chart."""
LARGEST_LAYER: Final = 32 * MIB
"""Bytes of a module's layer: manifests and charts, and no images."""
MOST_TAG_PAGES: Final = 200
"""Pages of tags: registries send 100 to 10,000 tags on a page."""
MOST_TAGS: Final = 100_000
"""Tags of a repository: nightly builds of 30 years."""
TRANSFER_SECONDS: Final = 900.0
"""For one layer or chart: 100 MiB in 15 minutes are 1 Mbit/s."""
DOCUMENT_SECONDS: Final = 60.0
"""For a manifest, a list of tags, a token."""


_PIECE = 64 * 1024  # bytes of one read: the deadline is checked between two of them
_INFLATED = 256 * 1024  # bytes that one step may unpack to, so that a bomb is found at its start
_PACKED = ("gzip", "x-gzip")


class BodyError(Exception):
    """A body that could not be read to its end; the message lacks its subject ("is larger than …")."""


class OversizedError(BodyError):
    """A body that is larger, heavier or deeper than the limit."""


def iter_chunks(response: BaseHTTPResponse, deadline: Deadline | None = None) -> Iterator[bytes]:
    """Yield the decompressed body as it arrives, at most 256 KiB at a time.

    Only one layer of gzip is accepted, since no other encoding is ever requested. Raise BodyError for another
    encoding and for damaged gzip; errors of sockets pass through.
    """
    encoding = response.headers.get("Content-Encoding", "").strip().lower()
    if encoding not in ("", "identity", *_PACKED):
        raise BodyError(f"has the encoding {encoding[:40]!r}, which was not requested")
    packed = _pieces(response, deadline)
    return _inflated(packed) if encoding in _PACKED else packed


def _pieces(response: BaseHTTPResponse, deadline: Deadline | None) -> Iterator[bytes]:
    while piece := response.read1(_PIECE, decode_content=False):
        if deadline is not None:
            deadline.require()
        yield piece


def _inflated(packed: Iterator[bytes]) -> Iterator[bytes]:
    unpacker = zlib.decompressobj(16 + zlib.MAX_WBITS)  # 16 +: with a gzip header
    try:
        for piece in packed:
            rest, full = piece, False
            while rest or full:
                if unpacker.eof:  # the next member of a gzip with several
                    unpacker = zlib.decompressobj(16 + zlib.MAX_WBITS)
                plain = unpacker.decompress(rest, _INFLATED)
                if plain:
                    yield plain
                full = len(plain) == _INFLATED and not unpacker.eof  # more output may be ready without further input
                rest = unpacker.unused_data if unpacker.eof else unpacker.unconsumed_tail
    except zlib.error as error:
        raise BodyError(f"is damaged gzip: {error}") from error
    if not unpacker.eof:
        raise BodyError("is truncated gzip")


def read_body(response: BaseHTTPResponse, largest: int) -> bytes:
    """Return the whole body. Raise OversizedError beyond `largest` bytes, and the errors of `iter_chunks`."""
    content = bytearray()
    for piece in iter_chunks(response):
        content += piece
        if len(content) > largest:
            raise OversizedError(f"is larger than {format_size(largest)}")
    return bytes(content)


def format_size(size: int) -> str:
    return f"{size >> 20} MiB" if size >= 1 << 20 else f"{size >> 10} KiB"


def json_weight(body: bytes | bytearray) -> int:
    """Return an upper estimate of the memory in bytes that the decoded JSON takes, without decoding it.

    Brackets and commas within strings count too: this is a limit, not a measurement.
    """
    return _text_weight(body) + 180 * body.count(b"{") + 64 * body.count(b"[") + 70 * body.count(b",")


def row_weight(body: bytes) -> int:
    """Return the same estimate for data classes with slots, which have no table of keys."""
    return _text_weight(body) + 64 * body.count(b"{") + 56 * body.count(b"[") + 16 * body.count(b",")


def _text_weight(body: bytes | bytearray) -> int:
    """Return the bytes of the text: one wide character makes all characters of a string take four bytes."""
    return len(body) if body.isascii() else 4 * len(body)


def require_light(body: bytes | bytearray) -> None:
    """Raise OversizedError if decoding would take more memory than allowed."""
    if json_weight(body) > HEAVIEST_ANSWER:
        raise OversizedError(f"would need more than {format_size(HEAVIEST_ANSWER)} of memory")


@lru_cache(maxsize=1)
def _return_large_blocks() -> None:
    """Make glibc return large blocks; else each thread keeps the memory of its largest answer."""
    import ctypes

    with contextlib.suppress(OSError, AttributeError, TypeError):  # another C library
        ctypes.CDLL(None).mallopt(_M_MMAP_THRESHOLD, MIB)


_M_MMAP_THRESHOLD = -3  # glibc, malloc.h


class HeavySlots(NamedTuple):
    """The places for heavy answers of several servers: how many may arrive, and how many may be decoded, at a time."""

    receiving: threading.BoundedSemaphore
    decoding: threading.BoundedSemaphore


class DecodeSlot:
    """The permission to receive a heavy answer and to decode it, from `take` to the end of the block.

    A server has one such answer at a time, so that a slow one keeps no other from its place.
    """

    def __init__(self, server: threading.BoundedSemaphore, slots: HeavySlots) -> None:
        self._server = server
        self._slots = slots
        self._lock = threading.Lock()
        self._held: list[threading.BoundedSemaphore] = []
        self._over = False

    @property
    def is_mine(self) -> bool:
        return bool(self._held)

    def take(self, seconds: float) -> None:
        """Wait for the place to receive. Raise TimeoutError if none becomes free, or the block has ended."""
        if not self.is_mine:
            _return_large_blocks()
            self._acquire((self._server, self._slots.receiving), seconds)

    def take_to_decode(self, seconds: float) -> None:
        """Wait for the place to decode, which nobody keeps for longer than that takes. Raise TimeoutError."""
        self.take(seconds)
        if self._slots.decoding not in self._held:
            self._acquire((self._slots.decoding,), seconds)

    def leave(self) -> None:
        """Release the places; they may be taken again."""
        with self._lock:
            held, self._held = self._held, []
        for semaphore in held:
            semaphore.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._lock:
            self._over = True
        self.leave()

    def _acquire(self, semaphores: Sequence[threading.BoundedSemaphore], seconds: float) -> None:
        end = time.monotonic() + seconds
        for semaphore in semaphores:
            if not semaphore.acquire(timeout=max(end - time.monotonic(), 0.0)):
                raise TimeoutError("other answers of the same size are still being read")
            with self._lock:
                if self._over:  # the request was cancelled meanwhile
                    semaphore.release()
                    raise TimeoutError("the request was cancelled")
                self._held.append(semaphore)


OWN_SLOTS: Final = HeavySlots(threading.BoundedSemaphore(1), threading.BoundedSemaphore(1))
RUNTIME_SLOTS: Final = HeavySlots(threading.BoundedSemaphore(RECEIVED_HEAVY), threading.BoundedSemaphore(1))
"""Heavy answers are decoded one at a time; runtimes, which others chose, have places of their own."""


def needs_slot(body: bytes | bytearray) -> bool:
    return len(body) > LIGHT_ANSWER // 64 and json_weight(body) > LIGHT_ANSWER
