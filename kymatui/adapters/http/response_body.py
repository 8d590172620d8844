"""Bodies of HTTP answers: decompressed in pieces within a limit, and the memory to decode them."""

from __future__ import annotations

import contextlib
import threading
import time
import zlib
from collections.abc import Iterator, Sequence
from functools import lru_cache
from types import TracebackType
from typing import TYPE_CHECKING, Final, NamedTuple, Self

from kymatui.adapters.http.size_limits import HEAVIEST_ANSWER, LIGHT_ANSWER, MIB, RECEIVED_HEAVY

if TYPE_CHECKING:
    from urllib3 import BaseHTTPResponse

    from kymatui.adapters.http.deadlines import Deadline

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
