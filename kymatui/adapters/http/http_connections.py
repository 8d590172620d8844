"""The connections of a small HTTP server: what is read and written, within limits of places and sizes."""

from __future__ import annotations

import asyncio
import ipaddress
import socket
import ssl
from collections import Counter
from collections.abc import Iterator
from enum import Enum
from typing import Final

PLACES: Final = 256
"""Connections at once. A further one takes the place of the oldest of the address with the most."""
PLACES_OF_ADDRESS: Final = 64
"""Connections of one client address at once; a further one takes the place of its oldest."""
REQUEST_SECONDS: Final = 10.0
"""For a whole request, from the connection on: TLS, head and body."""
LARGEST_HEAD: Final = 65_536  # bytes
_CHUNK: Final = 16_384


class ClientPhase(Enum):
    READING = "reading"
    ANSWERING = "answering"
    WRITING = "writing"


class ClientConnection:
    """One connection; `peer` is the client's address."""

    def __init__(self, peer: str, accepted: socket.socket) -> None:
        self.peer = peer
        self._socket = accepted
        self.origin = _origin(peer)
        self.phase = ClientPhase.READING
        self.task: asyncio.Task[None] | None = None
        self.certificate: bytes | None = None
        self._reader: asyncio.StreamReader
        self._writer: asyncio.StreamWriter | None = None

    async def open(self, tls: ssl.SSLContext | None) -> None:
        loop = asyncio.get_running_loop()
        self._reader = asyncio.StreamReader(limit=_CHUNK, loop=loop)
        protocol = asyncio.StreamReaderProtocol(self._reader, loop=loop)
        times: dict[str, float] = {}
        if tls is not None:
            times = {"ssl_handshake_timeout": REQUEST_SECONDS, "ssl_shutdown_timeout": 1.0}
        transport, _ = await loop.connect_accepted_socket(lambda: protocol, self._socket, ssl=tls, **times)
        self._writer = asyncio.StreamWriter(transport, protocol, self._reader, loop)
        if tls is not None:
            self.certificate = transport.get_extra_info("ssl_object").getpeercert(True)

    async def read_head(self) -> tuple[bytes, bytes]:
        """Return request line and headers, and what came after them. Too long a head is cut. Raise EOFError."""
        head = bytearray()
        while len(head) <= LARGEST_HEAD:
            start = max(0, len(head) - 3)
            if not (part := await self._reader.read(_CHUNK)):
                raise EOFError
            head += part
            ends = [at + len(mark) for mark in (b"\r\n\r\n", b"\n\n") if (at := head.find(mark, start)) >= 0]
            if ends and min(ends) <= LARGEST_HEAD:
                return bytes(head[: min(ends)]), bytes(head[min(ends) :])
        return bytes(head), b""

    async def read_body(self, rest: bytes, length: int) -> bytes:
        more = length - len(rest)
        return rest + await self._reader.readexactly(more) if more > 0 else rest[:length]

    async def write(self, content: bytes) -> None:
        """Write the content and close, once the client has taken it."""
        assert self._writer is not None
        self._writer.write(content)
        await self._writer.drain()
        self._writer.close()
        await self._writer.wait_closed()

    def abort(self) -> None:
        """Close at once, whatever the client has not read yet."""
        if self._writer is not None:
            self._writer.transport.abort()
        self._socket.close()

    def end(self) -> None:
        self.abort()
        if self.task is not None:
            self.task.cancel()


class ClientConnections:
    """The open connections, the oldest first, within their limits; for the thread of the loop."""

    def __init__(self, of_address: int) -> None:
        self._of_address = of_address
        self._open: dict[ClientConnection, None] = {}

    def make_room(self) -> bool:
        """Return whether a connection has a place, which the oldest of the origin with the most gives up.

        What is being answered keeps its place: that ends without the client.
        """
        if len(self._open) < PLACES:
            return True
        counts = Counter(connection.origin for connection in self._open)
        return any(self._end_oldest(origin) for origin, _ in counts.most_common())

    def add(self, connection: ClientConnection) -> bool:
        """Add a connection unless its origin has too many that are being answered."""
        count = sum(other.origin == connection.origin for other in self._open)
        if count >= self._of_address and not self._end_oldest(connection.origin):
            return False
        self._open[connection] = None
        return True

    def __iter__(self) -> Iterator[ClientConnection]:
        return iter(self._open)

    def drop(self, connection: ClientConnection) -> None:
        self._open.pop(connection, None)

    def end_all(self) -> None:
        for connection in list(self._open):
            connection.end()

    def _end_oldest(self, origin: str) -> bool:
        for connection in self._open:
            if connection.origin == origin and connection.phase is not ClientPhase.ANSWERING:
                self.drop(connection)
                connection.end()
                return True
        return False


def _origin(peer: str) -> str:
    """Return the address that counts as one client: of IPv6 the network, of which a machine has all addresses."""
    try:
        address = ipaddress.ip_address(peer.partition("%")[0])
    except ValueError:
        return peer
    if isinstance(address, ipaddress.IPv6Address):
        if address.ipv4_mapped is not None:
            return str(address.ipv4_mapped)
        return str(ipaddress.ip_network((address, 64), strict=False))
    return peer
