"""A chart repository on this machine, and charts as small as they can be."""

from __future__ import annotations

import hashlib
import http.server
import io
import json
import tarfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

ARCHIVE = b"\x1f\x8b not really a chart"
SUM = hashlib.sha256(ARCHIVE).hexdigest()


class Site:
    """A chart repository: paths to bodies, and what was asked for."""

    def __init__(self) -> None:
        self.pages: dict[str, bytes] = {}
        self.asked: list[tuple[str, str]] = []
        self.url = ""

    def index(self, **entry: Any) -> None:
        one = {"version": "1.0.0", "urls": ["charts/demo-1.0.0.tgz"], "digest": SUM, **entry}
        self.pages["/index.yaml"] = json.dumps({"apiVersion": "v1", "entries": {"demo": [one]}}).encode()


@contextmanager
def chart_site() -> Iterator[Site]:
    """A repository with the chart `demo`, as long as it is needed."""
    found = Site()
    found.pages["/charts/demo-1.0.0.tgz"] = ARCHIVE
    found.pages["/charts/demo-1.0.0.tgz.prov"] = b"signed"
    found.index()

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            found.asked.append((self.path, self.headers.get("Authorization", "")))
            body = found.pages.get(self.path.partition("?")[0])
            self.send_response(200 if body is not None else 404)
            self.send_header("Content-Length", str(len(body or b"")))
            self.end_headers()
            self.wfile.write(body or b"")

        def log_message(self, *args: Any) -> None:
            del args

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    found.url = f"http://127.0.0.1:{server.server_port}"
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield found
    server.shutdown()
    server.server_close()


def packed(version: str) -> bytes:
    """A chart with one ConfigMap that says its version and a value."""
    head = "kind: ConfigMap\napiVersion: v1\nmetadata: {name: {{ .Release.Name }}}\n"
    template = head + 'data: {g: "{{ .Values.g }}", v: "%s"}\n'
    files = {
        "web/Chart.yaml": f"apiVersion: v2\nname: web\nversion: {version}\n",
        "web/values.yaml": "g: hello\n",
        "web/templates/cm.yaml": template % version,
    }
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as tar:
        for name, text in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(text)
            tar.addfile(entry, io.BytesIO(text.encode()))
    return buffer.getvalue()


def offers(site: Site, *versions: str) -> None:
    """The repository has the chart in these versions."""
    for version in versions:
        site.pages[f"/web-{version}.tgz"] = packed(version)
    entries = {"web": [{"name": "web", "version": version, "urls": [f"web-{version}.tgz"]} for version in versions]}
    site.pages["/index.yaml"] = json.dumps({"apiVersion": "v1", "entries": entries}).encode()
