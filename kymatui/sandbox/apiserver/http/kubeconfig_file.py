"""The kubeconfig of a sandbox: one context per cluster."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct

from kymatui.engine.cluster.yaml_output import dump_yaml
from kymatui.errors import ConfigurationError
from kymatui.own_files import write_file


class ServerEndpoint(Struct, frozen=True):
    """One cluster of the file; `name` is the name of its cluster, user and context."""

    name: str
    url: str
    authority: bytes
    token: str


EXTENSION = "kymatui.io/sandbox"


def kubeconfig_text(endpoints: Sequence[ServerEndpoint], registry: str = "") -> str:
    """Return the kubeconfig; the first endpoint is the current context.

    `registry` goes into an extension that other tools ignore.
    """
    document: dict[str, Any] = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [
            {
                "name": endpoint.name,
                "cluster": {
                    "server": endpoint.url,
                    "certificate-authority-data": base64.b64encode(endpoint.authority).decode(),
                },
            }
            for endpoint in endpoints
        ],
        "users": [{"name": endpoint.name, "user": {"token": endpoint.token}} for endpoint in endpoints],
        "contexts": [
            {"name": endpoint.name, "context": {"cluster": endpoint.name, "user": endpoint.name}}
            for endpoint in endpoints
        ],
        "current-context": endpoints[0].name,
    }
    if registry:
        document["extensions"] = [{"name": EXTENSION, "extension": {"registry": registry}}]
    return dump_yaml(document)


def write_private(path: Path, text: str) -> None:
    """Write a file of mode 0600 atomically. Raise ConfigurationError."""
    try:
        write_file(path, text.encode(), private=True)
    except OSError as error:
        raise ConfigurationError(f"cannot write {path}: {error.strerror or error}") from error
