"""The same connection as another user: requests bear the connection's own credential and a header with the name."""

from __future__ import annotations

import threading

from msgspec.structs import replace

from kymatui.adapters.kube.auth.connection import Connection
from kymatui.adapters.kube.auth.credentials import Credential, CredentialSource
from kymatui.errors import ConfigurationError

_HEADER = "Impersonate-User"


def as_service_account(connection: Connection, namespace: str, name: str) -> Connection:
    """Return a connection with the rights of a ServiceAccount, which the API server adds to its groups itself.

    Naming the groups as well would need a permission for each. Raise ConfigurationError, with the first request, for a
    connection that impersonates a user already.
    """
    user = f"system:serviceaccount:{namespace}:{name}"
    return replace(connection, user=user, credentials=ImpersonatedCredentials(connection.credentials, user))


class ImpersonatedCredentials(CredentialSource):
    """The credentials of another source, which renews them, with the name of a user to impersonate; thread-safe."""

    def __init__(self, source: CredentialSource, user: str) -> None:
        super().__init__(source.present, name=user, kind=source.kind)
        self._source = source
        self._user = user
        self._pair_lock = threading.Lock()
        self._pair: tuple[Credential, Credential] | None = None

    def present(self) -> Credential:
        return self._impersonated(self._source.present())

    def renewed(self, refused_one: Credential) -> Credential | None:
        with self._pair_lock:
            pair = self._pair
        if pair is None or pair[1] is not refused_one:
            return self.present()  # another thread has renewed it
        fresh = self._source.renewed(pair[0])
        return self._impersonated(fresh) if fresh is not None else None

    def _impersonated(self, own: Credential) -> Credential:
        """Return the same credential for the same one of the source, since a refused one is known by its identity."""
        with self._pair_lock:
            if self._pair is None or self._pair[0] is not own:
                if any(header.lower().startswith("impersonate-") for header, _ in own.headers):
                    raise ConfigurationError(
                        f"cannot act as {self._user}: the connection impersonates another user already",
                        hint="run the operator with credentials of its own",
                    )
                self._pair = own, replace(own, headers=(*own.headers, (_HEADER, self._user)))
            return self._pair[1]
