"""Faults of a sandbox in another process, over its admin path."""

from __future__ import annotations

import base64
import http.client
import ssl
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import msgspec
from msgspec import Struct

from kymatui.domain.kubernetes.terminal_text import error_reason
from kymatui.errors import ClusterError, ConfigurationError, UnreachableError
from kymatui.helm.yaml.errors import YamlError
from kymatui.helm.yaml.reading import load_exactly
from kymatui.sandbox.apiserver.http.server_faults import ADMIN_PATH, KINDS

ONCE = ("end-watches", "expire-watches", "revoke-token", "restore-token", "hold", "release")
LISTING, CLEARING = "list", "clear"
WORDS = (*KINDS, *ONCE, LISTING, CLEARING)
_TIMEOUT = 10.0
_OF_ONCE = ("resource", "namespace", "name", "token", "finalizer")
_OF_STANDING = ("verb", "resource", "namespace", "name", "seconds", "count", "probability")


class FaultClient(Struct, frozen=True):
    """Enables and disables faults of one running cluster; see `for_kubeconfig`."""

    host: str
    port: int
    authority: str
    token: str

    @staticmethod
    def for_kubeconfig(path: Path, context: str = "") -> FaultClient:
        """Return the client of a context ("": the current one) of a sandbox's kubeconfig.

        Raise ConfigurationError.
        """
        try:
            value = load_exactly(path.read_bytes())
            name = context or value["current-context"]
            chosen = next(item["context"] for item in value["contexts"] if item["name"] == name)
            cluster = next(item["cluster"] for item in value["clusters"] if item["name"] == chosen["cluster"])
            user = next(item["user"] for item in value["users"] if item["name"] == chosen["user"])
            url = urlsplit(cluster["server"])
            authority = base64.b64decode(cluster["certificate-authority-data"]).decode()
            return FaultClient(url.hostname or "", url.port or 443, authority, user["token"])
        except (OSError, YamlError, KeyError, TypeError, StopIteration, ValueError) as error:
            raise ConfigurationError(
                f"{path} is not a kubeconfig of a sandbox" + (f" with a context {context}" if context else ""),
                hint="use the file that `kymatui sandbox up --kubeconfig FILE` wrote",
            ) from error

    def send(self, word: str, fields: Mapping[str, Any]) -> Any:
        """Run one of `WORDS`. Raise ClusterError if the sandbox refuses."""
        if word == LISTING:
            return self._ask("GET", "faults")
        if word == CLEARING:
            return self._ask("DELETE", "faults")
        if word in ONCE:
            return self._ask("POST", word, {name: fields[name] for name in _OF_ONCE if fields.get(name)})
        chosen = {name: fields[name] for name in _OF_STANDING if fields.get(name) not in (None, "")}
        return self._ask("POST", "faults", {"kind": word, **chosen})

    def requests(self, *, forget: bool = False) -> dict[str, Any]:
        """Return the logged requests (see `RequestLog.describe`); with `forget`, clear the log."""
        log: dict[str, Any] = self._ask("DELETE" if forget else "GET", "requests")
        return log

    def _ask(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> Any:
        context = ssl.create_default_context(cadata=self.authority)
        connection = http.client.HTTPSConnection(self.host, self.port, timeout=_TIMEOUT, context=context)
        headers = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}
        try:
            connection.request(
                method, ADMIN_PATH + path, msgspec.json.encode(body) if body is not None else None, headers
            )
            response = connection.getresponse()
            answer = msgspec.json.decode(response.read() or b"{}")
        except (OSError, http.client.HTTPException) as error:
            raise UnreachableError(
                f"no sandbox answers at {self.host}:{self.port}: {error_reason(error)}",
                hint="start it with `kymatui sandbox up --kubeconfig FILE`",
            ) from error
        except msgspec.DecodeError as error:
            raise ClusterError(f"the server at {self.host}:{self.port} is not a sandbox") from error
        finally:
            connection.close()
        if response.status >= 400:
            message = answer.get("message", "") if isinstance(answer, dict) else ""
            raise ClusterError(f"the sandbox refused: {message}", status=response.status)
        return answer
