"""End a listening server with all its connections."""

from __future__ import annotations

import asyncio
import contextlib

from aiohttp import web


async def stop_runner(runner: web.BaseRunner) -> None:
    """Stop listening and close every connection, the ones whose client does not answer too."""
    server = runner.server
    open_connections = [] if server is None else [connection.transport for connection in server.connections]
    await runner.cleanup()
    # TLS waits up to 30 s for the client's farewell: a loop that ends before would leak the socket
    for transport in open_connections:
        if transport is not None:
            with contextlib.suppress(AttributeError):  # what Python 3.11.2 raises if the connection ended by itself
                transport.abort()
    await asyncio.sleep(0)  # an aborted transport closes its socket in the loop's next turn
