"""Answers that are read as they arrive: events of a watch, lines of a log."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from msgspec import Struct

from kymatui.adapters.http.deadlines import Deadline
from kymatui.adapters.http.response_body import (
    EVENT_SECONDS,
    LARGEST_LINE,
    MIB,
    TURN_SECONDS,
    BodyError,
    DecodeSlot,
    OversizedError,
    format_size,
    iter_chunks,
    needs_slot,
    require_light,
)
from kymatui.adapters.kube.transport import status_errors

if TYPE_CHECKING:
    from urllib3 import BaseHTTPResponse


class ApiReply(Struct):
    """A response and its body; the body is b"" for a stream."""

    response: BaseHTTPResponse
    deadline: Deadline
    body: bytes = b""


class AnswerStream:
    """A streamed body; another thread may call `close` to end the reading."""

    def __init__(
        self,
        reply: ApiReply,
        asked: status_errors.SentRequest,
        timeout: str,
        slot: DecodeSlot,
        heard: Callable[[], None] = lambda: None,
    ) -> None:
        self._response = reply.response
        self._deadline = reply.deadline
        self._asked = asked
        self._patience = timeout
        self._turn = slot
        self._heard = heard
        self._closed = threading.Event()

    def lines(self) -> Iterator[bytes]:
        """Yield lines without the newline, until the server ends the stream or `close` is called.

        Raise UnreachableError if the connection breaks or is silent for longer than the read timeout, and
        OversizedAnswerError for a line that is too long.
        """
        with self._named_errors(), self._turn:
            for line in self._lines():
                yield line
                self._turn.leave()

    def chunks(self) -> Iterator[bytes]:
        """Yield the body in pieces as it arrives, until the server ends the stream or `close` is called.

        Raise UnreachableError as `lines` does.
        """
        with self._named_errors():
            for piece in iter_chunks(self._response, self._deadline):
                self._heard()
                yield piece

    @contextlib.contextmanager
    def _named_errors(self) -> Iterator[None]:
        """Raise errors that name the request; none after `close`."""
        import urllib3.exceptions as http

        try:
            yield
        except BodyError as error:
            raise status_errors.unreadable(self._asked, error) from error
        except (http.HTTPError, OSError, ValueError, AttributeError) as error:
            # A response that another thread closes raises ValueError or AttributeError.
            if not self._closed.is_set():
                raise status_errors.unreachable(self._asked, error, self._patience) from error

    def _lines(self) -> Iterator[bytes]:
        pending: list[bytes] = []
        size, began = 0, 0.0
        for piece in iter_chunks(self._response, self._deadline):
            self._heard()
            *complete, rest = piece.split(b"\n")
            if complete:
                yield self._line(b"".join((*pending, complete[0])))
                for line in complete[1:]:
                    yield self._line(line)
                pending, size = [], 0
            if not rest:
                continue
            began = began if pending else time.monotonic()
            pending.append(rest)
            size += len(rest)
            if size > LARGEST_LINE:
                raise OversizedError(f"has a line of more than {format_size(LARGEST_LINE)}")
            if time.monotonic() - began > EVENT_SECONDS:
                raise BodyError(f"has a line that did not end within {EVENT_SECONDS:.0f} s")
            if size > MIB:
                self._turn.take(TURN_SECONDS)
        if pending and not self._closed.is_set():
            yield self._line(b"".join(pending))

    def _line(self, line: bytes) -> bytes:
        if needs_slot(line):
            require_light(line)
            self._turn.take_to_decode(TURN_SECONDS)
        return line

    def patience(self, seconds: float) -> None:
        """Set the read timeout in seconds."""
        sock = getattr(self._response.connection, "sock", None)
        if sock is not None:
            with contextlib.suppress(OSError):  # another thread closed it; the reader notices
                sock.settimeout(seconds)
        self._patience = f"{seconds:.0f} s"

    def close(self) -> None:
        """Shut the socket down, so that a thread blocked in `lines` returns at once."""
        self._closed.set()
        with contextlib.suppress(ValueError, RuntimeError, OSError, AttributeError):
            # the stream may have ended meanwhile
            self._response.shutdown()
        with contextlib.suppress(ValueError, RuntimeError, OSError, AttributeError):  # the reader may close it, too
            if not self._response.closed:
                self._response.close()
