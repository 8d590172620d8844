"""A chart repository, a catalog, addresses and a registry that answer wrongly, over real HTTP, for the fuzzer.

What it has is whole: `pages` by their paths, and behind /v2/ the registry at `upstream`. A seed changes some of the
answers: statuses, headers, lengths, encodings, redirects, archives and values.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import http.client
import io
import json
import os
import random
import socket
import tarfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import lru_cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from tests.adapters.chart_sites import packed
from tests.benchmarks.mutating import Mutator

USER, PASSWORD = "ann", "fuzzing-password"
HTML = b"<!DOCTYPE html><html><body>" + b"<p>Sign in</p>" * 2000 + b"</body></html>"
Headers = dict[str, str]
Page = tuple[str, bytes]


def chart_pages() -> dict[str, Page]:
    """A chart in a repository and in a registry."""
    pages: dict[str, Page] = {}
    entries = []
    for version in ("1.0.0", "1.1.0"):
        content = packed(version)
        digest = hashlib.sha256(content).hexdigest()
        pages[f"/web-{version}.tgz"] = ("application/gzip", content)
        entries.append({"name": "web", "version": version, "urls": [f"web-{version}.tgz"], "digest": digest})
        config = json.dumps({"name": "web", "version": version}).encode()
        layers = [_descriptor("application/vnd.cncf.helm.chart.content.v1.tar+gzip", content)]
        image = {
            "schemaVersion": 2,
            "config": _descriptor("application/vnd.cncf.helm.config.v1+json", config),
            "layers": layers,
        }
        for blob in (content, config):
            place = f"/v2/fuzzed/web/blobs/sha256:{hashlib.sha256(blob).hexdigest()}"
            pages[place] = ("application/octet-stream", blob)
        manifest = ("application/vnd.oci.image.manifest.v1+json", json.dumps(image).encode())
        pages[f"/v2/fuzzed/web/manifests/{version}"] = manifest
    pages["/v2/fuzzed/web/tags/list"] = ("application/json", b'{"name":"fuzzed/web","tags":["1.0.0","1.1.0"]}')
    pages["/index.yaml"] = ("text/plain", json.dumps({"apiVersion": "v1", "entries": {"web": entries}}).encode())
    return pages


def _descriptor(media_type: str, content: bytes) -> dict[str, Any]:
    return {"mediaType": media_type, "digest": f"sha256:{hashlib.sha256(content).hexdigest()}", "size": len(content)}


def tgz(files: Mapping[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz", compresslevel=1) as tar:
        for name, content in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            tar.addfile(entry, io.BytesIO(content))
    return buffer.getvalue()


# what is sent in the place of archives


@lru_cache(maxsize=1)
def spaces() -> bytes:
    """200 MB of spaces, packed."""
    packer = zlib.compressobj(9, wbits=31)
    parts = [packer.compress(b" " * (1 << 20)) for _ in range(200)]
    return b"".join([*parts, packer.flush()])


@lru_cache(maxsize=1)
def archives() -> tuple[bytes, ...]:
    """Archives that become large, many, deep, or leave their folder."""
    large = zlib.compressobj(9, wbits=31)
    head = tarfile.TarInfo("web/values.yaml")
    head.size = 400 << 20
    parts = [large.compress(head.tobuf())] + [large.compress(b"a" * (1 << 20)) for _ in range(400)]
    return (
        b"".join([*parts, large.flush()]),
        gzip.compress(gzip.compress(gzip.compress(spaces()))),
        tgz({f"web/templates/{number}.yaml": b"" for number in range(30_000)}),
        tgz({"web/Chart.yaml": b"a: &a [x]\nb: &b [*a,*a]\n" + b"c: [*b,*b]\n" * 20, "../outside": b"x"}),
        tgz({"web/Chart.yaml": b"name: web\nversion: 1.0.0\n", "web/charts/web-1.tgz": spaces()}),
        tgz({"web/Chart.yaml": b"name: web\nversion: 1.0.0\napiVersion: v2\n", "web/values.yaml": b"[" * 90_000}),
        tgz({"kustomization.yaml": b"resources: [" + b"kustomization.yaml," * 30_000 + b"]"}),
        tgz({"kustomization.yaml": b"resources: [../../etc, http://127.0.0.1:1/a, ./]"}),
        tgz({"kustomization.yaml": b"[]", "resource.yaml": b"5"}),
        b"PK\x03\x04" + b"\0" * 2000,
    )


# the server


class Site:
    """What is served, how wrongly, and what was asked for."""

    def __init__(self, pages: Mapping[str, Page], upstream: str, mutator: Mutator, seed: int, log: Path) -> None:
        self.pages, self.upstream, self.mutator, self.log = dict(pages), upstream, mutator, log
        self.chance = random.Random(seed)
        self.often = self.chance.choice((0.15, 0.4, 1.0))

    def note(self, text: str) -> None:
        with self.log.open("a") as file:
            file.write(text + "\n")

    def real(self, method: str, path: str, headers: Headers) -> tuple[int, Headers, bytes]:
        """The answer before it is changed."""
        if path.startswith("/token"):
            return 200, {"Content-Type": "application/json"}, b'{"token":"given","expires_in":300}'
        page = self.pages.get(path.partition("?")[0])
        if page is not None:
            return 200, {"Content-Type": page[0]}, page[1]
        if not path.startswith("/v2/"):
            return 404, {"Content-Type": "text/plain"}, b"404 page not found"
        connection = http.client.HTTPConnection(self.upstream, timeout=10)
        sent: dict[str, str] = {key: headers[key] for key in ("Accept", "Host") if key in headers}
        connection.request(method, path, headers=sent)
        answer = connection.getresponse()
        kept = {key: text for key, text in answer.getheaders() if key.lower() not in _LENGTHS}
        body = answer.read()
        connection.close()
        return answer.status, kept, body

    def changed(self, host: str, path: str, status: int, headers: Headers, body: bytes) -> tuple[int, Headers, bytes]:
        """One way of going wrong; "Length" stands for the length to claim, "Raw" for bytes in place of the head."""
        one = self.chance.choice
        ways: tuple[Callable[[], tuple[int, Headers, bytes]], ...] = (
            lambda: (status, headers, self.mutator.changed_body(body)),
            lambda: (status, headers, self.mutator.changed_body(body)),
            lambda: (status, headers, self.mutator.garbage(body or b"x")),
            lambda: (status, {**headers, "Length": str(len(body) + one((1, 1000, 10**9)))}, body),
            lambda: (status, {**headers, "Length": one(("-1", "x", "", "1", str(2**70), "1, 2"))}, body),
            lambda: (status, {**headers, "Content-Type": one(_TYPES)}, body),
            lambda: (status, {**headers, "Content-Encoding": "gzip"}, one((spaces(), body, gzip.compress(body)[:-9]))),
            lambda: (status, {**headers, "Content-Encoding": one(("br", "gzip, gzip", "deflate", "\xff"))}, body),
            lambda: (one((301, 302, 303, 307, 308)), {"Location": self._place(host, path), **self._bomb()}, spaces()),
            lambda: (one((301, 302, 307, 308)), {"Location": self._place(host, path)}, HTML),
            lambda: (one((400, 403, 404, 418, 429, 500, 503)), {"Content-Type": "text/html", **self._wait()}, HTML),
            lambda: (401, {"Content-Type": "text/html", "WWW-Authenticate": self._challenge(host)}, HTML),
            lambda: (one((200, 429, 403, 206, 204)), {"Content-Type": "application/json", **self._bomb()}, spaces()),
            lambda: (status, headers, one(archives())),
            lambda: (status, headers, one(archives())),
            lambda: (200, {**headers, "Link": f'<{self._place(host, path)}>; rel="next"'}, body),
            lambda: (status, {**headers, "Raw": one(_HEADS)}, body),
            lambda: (status, {**headers, "Transfer-Encoding": "chunked"}, one((b"zz\r\n", b"5\r\nabc", body))),
        )
        return one(ways)()

    def _place(self, host: str, path: str) -> str:
        port = host.rpartition(":")[2]
        return str(self.chance.choice((*_PLACES, path, f"http://localhost:{port}{path}", f"http://{host}{path}")))

    def _bomb(self) -> Headers:
        return {"Content-Encoding": "gzip"}

    def _wait(self) -> Headers:
        return {"Retry-After": str(self.chance.choice(("0", "-1", "99999999", "x", "\u0663", "")))}

    def _challenge(self, host: str) -> str:
        realm = f'Bearer realm="http://{host}/token",service="fuzzed"'
        odd = ('Bearer realm="http://["', "Bearer", "Basic", "", "," * 5000, 'Bearer realm="ftp://a"', "Negotiate x")
        return str(self.chance.choice((realm, realm, "Basic realm=x", *odd, f'{realm},scope="{"a " * 3000}"')))


_LENGTHS = ("content-length", "transfer-encoding", "connection", "date", "server")
_TYPES = ("text/html", "", "\xff\xfe", "application/json; charset=\x01", "a" * 5000, "multipart/byteranges; boundary=")
_PLACES = (
    "http://[", "http://", "//", "", "ftp://127.0.0.1/a", "file:///etc/passwd", "http://" + "a" * 300 + "/",
    "http://127.0.0.1:99999/", "http://127.0.0.1:x/", "\xff\xfe", "http://..", "http://127.0.0.1:1/", "?" * 10_000,
    "http://user:pw@localhost:1/", "https://127.0.0.1:1/",
)  # fmt: skip
_HEADS = ("banana\r\n\r\n", "HTTP/1.1 999999 x\r\n\r\n", "HTTP/1.1 200 OK\r\n" + "A: b\r\n" * 300 + "\r\n", "\r\n" * 10,
          "HTTP/1.1 200 OK\r\nA: " + "b" * 100_000 + "\r\n\r\n", "HTTP/1.1 100 Continue\r\n\r\n" * 50,
          "HTTP/0.9\r\n\r\n",
          "HTTP/1.1 200 OK\r\nno colon here\r\nContent-Length: 5\r\n\r\nabcde")  # fmt: skip


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.0"
    site: Site

    def do_GET(self) -> None:
        host = self.headers.get("Host", "")
        told = " ".join((self.headers.get("Authorization", ""), self.path, str(self._sent())))
        secret = base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()
        if host.startswith("localhost") and any(word in told for word in (secret, PASSWORD, "Bearer given")):
            self.site.note(f"LEAKED {self.command} {self.path}")
        status, headers, body = self.site.real(self.command, self.path, dict(self.headers))
        former = body
        if self.site.chance.random() < self.site.often:
            self.site.note(f"CHANGED {self.path[:200]}")
            status, headers, body = self.site.changed(host, self.path, status, headers, body)
        if "/blobs/" in self.path:
            self.site.note(f"{'WHOLE' if body == former else 'BROKEN'} {self.path[:200]}")
        raw, length = headers.pop("Raw", None), headers.pop("Length", str(len(body)))
        with suppress(OSError):
            if raw is not None:
                self.wfile.write(raw.encode("latin-1"))
            else:
                self._answer(status, headers, length, body)

    do_HEAD = do_POST = do_PUT = do_GET

    def _sent(self) -> bytes:
        return self.rfile.read(int(self.headers.get("Content-Length") or 0))

    def _answer(self, status: int, headers: Headers, length: str, body: bytes) -> None:
        self.send_response(status)
        for key, text in headers.items():
            self.send_header(key, text.encode("utf-8").decode("latin-1"))
        if "Transfer-Encoding" not in headers:
            self.send_header("Content-Length", length)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, *args: Any) -> None:
        del args


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *given: Any) -> None:
        del given  # those who asked hang up on what they do not like


@contextmanager
def serving_wrongly(listener: socket.socket, site: Site) -> Iterator[None]:
    """The site in a process of its own on a socket that listens already."""
    child = os.fork()
    if child == 0:
        try:
            _Handler.site = site
            server = _Server(("127.0.0.1", 0), _Handler, bind_and_activate=False)
            server.socket.close()
            server.socket = listener
            server.serve_forever()
        finally:
            os._exit(1)
    try:
        yield
    finally:
        os.kill(child, 9)
        os.waitpid(child, 0)
