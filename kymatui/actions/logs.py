"""Read the logs of containers: all of them to their end in order, or each as it grows, in threads."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from enum import StrEnum
from typing import TYPE_CHECKING, Final, Protocol

from msgspec import Struct
from msgspec.structs import replace

from kymatui.domain.kubernetes.backoff import Backoff
from kymatui.domain.logs.log_lines import LineReader, LineSplitter, PodLogLine, interleave
from kymatui.domain.logs.log_query import LogOptions, LogQuery
from kymatui.domain.logs.log_sources import LogSource
from kymatui.engine.cluster.ports import Cluster, LogStream
from kymatui.errors import CancelledError, ForbiddenError, InvalidError, KymatuiError, NotFoundError, UnauthorizedError

if TYPE_CHECKING:
    pass


MOST_STREAMS: Final = 50
"""Containers that are read at the same time; each takes a connection and a thread."""


class LogState(StrEnum):
    """The states of the reading of one container."""

    READING = "reading"
    WAITING = "waiting"  # the container has not started, or runs no more; it is asked again
    ENDED = "ended"
    DELETED = "deleted"
    FORBIDDEN = "forbidden"
    FAILED = "failed"  # and asked again while it is followed

    @property
    def is_final(self) -> bool:
        return self in (LogState.ENDED, LogState.DELETED, LogState.FORBIDDEN)


class LogStatus(Struct, frozen=True):
    """The state of one container's log, with the message of the server."""

    state: LogState
    message: str = ""


class LogSink(Protocol):
    """Takes what the threads of a feed read."""

    def add(self, lines: Sequence[PodLogLine]) -> None:
        """Take lines of one container in their order; may block the thread of that container."""

    def report(self, source: LogSource, status: LogStatus) -> None: ...


def read_logs(
    cluster: Cluster, sources: Sequence[LogSource], options: LogOptions, failures: dict[LogSource, KymatuiError]
) -> Iterator[PodLogLine]:
    """Yield the lines of all containers by time, to their end; a log that fails is in `failures`."""

    def lines(source: LogSource) -> Iterator[PodLogLine]:
        query = LogQuery(source.namespace, source.pod, source.container, replace(options, follow=False))
        splitter, reader = LineSplitter(), LineReader(source)
        try:
            with closing(cluster.open_log(query)) as stream:
                for chunk in stream.chunks():
                    yield from reader.read(splitter.feed(chunk))
                yield from reader.read(splitter.end())
        except KymatuiError as error:
            failures[source] = error

    return interleave(map(lines, sources))


class LogFeed:
    """Reads containers in one thread each until `close`; a log that breaks continues where it stopped."""

    def __init__(self, cluster: Cluster, options: LogOptions, sink: LogSink, *, pause: float = 1.0) -> None:
        """Take `pause`, the shortest wait in seconds before a log is opened again."""
        self._cluster = cluster
        self._options = options
        self._sink = sink
        self._pause = pause
        self._cancel = threading.Event()
        self._lock = threading.Lock()
        self._streams: set[LogStream] = set()
        self._threads: dict[LogSource, threading.Thread] = {}

    def follow(self, sources: Iterable[LogSource]) -> int:
        """Start to read containers that are not read yet; return how many are too many.

        A container that is not named any more is read to its end: its last lines say why it was deleted.
        """
        left_out = 0
        for source in sources:
            with self._lock:
                is_known = source in self._threads
                room = MOST_STREAMS - sum(thread.is_alive() for thread in self._threads.values())
                if is_known or room <= 0:
                    left_out += not is_known
                    continue
                self._threads[source] = threading.Thread(
                    target=self._run, args=(source,), name=f"log-{source}", daemon=True
                )
                self._threads[source].start()
        return left_out

    def close(self) -> None:
        """End all threads; return at once."""
        self._cancel.set()
        with self._lock:
            for stream in self._streams:
                stream.close()

    def _run(self, source: LogSource) -> None:
        query = LogQuery(source.namespace, source.pod, source.container, self._options)
        reader = LineReader(source)
        silent = 0
        while not self._cancel.is_set():
            before = reader.last
            status = self._read(query.resumed(reader.last), reader)
            if self._cancel.is_set():
                return
            if not self._options.follow and status.state is not LogState.DELETED:
                status = replace(status, state=LogState.FAILED if status.message else LogState.ENDED)
            self._sink.report(source, status)
            if status.state is LogState.DELETED and self._options.follow:
                with self._lock:  # a StatefulSet creates a Pod of the same name again
                    del self._threads[source]
            if status.state.is_final or not self._options.follow:
                return
            silent = 0 if reader.last != before else silent + 1
            self._cancel.wait(Backoff(self._pause, 10 * self._pause).delay(silent))

    def _read(self, query: LogQuery, reader: LineReader) -> LogStatus:
        """Read one stream to its end and return why it ended."""
        splitter = LineSplitter()
        reader.resume()
        try:
            stream = self._cluster.open_log(query, cancel=self._cancel)
            with closing(stream), self._registered(stream):
                self._sink.report(reader.source, LogStatus(LogState.READING))
                for chunk in stream.chunks():
                    if lines := reader.read(splitter.feed(chunk)):
                        self._sink.add(lines)
                if lines := reader.read(splitter.end()):
                    self._sink.add(lines)
        except NotFoundError as error:
            return LogStatus(LogState.DELETED, str(error))
        except (ForbiddenError, UnauthorizedError) as error:  # not tried again: permissions rarely change meanwhile
            return LogStatus(LogState.FORBIDDEN, str(error))
        except InvalidError as error:  # the container has not started yet, so the server has no log
            return LogStatus(LogState.WAITING, str(error))
        except CancelledError:
            return LogStatus(LogState.ENDED)
        except KymatuiError as error:
            return LogStatus(LogState.FAILED, str(error))
        return LogStatus(LogState.WAITING)

    @contextmanager
    def _registered(self, stream: LogStream) -> Iterator[None]:
        """Let `close` end the stream, which may be silent for minutes."""
        with self._lock:
            self._streams.add(stream)
            if self._cancel.is_set():
                stream.close()
        try:
            yield
        finally:
            with self._lock:
                self._streams.discard(stream)
