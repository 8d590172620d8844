"""The way to a runtime's cluster: its access Secret, or the kubeconfig that the user named; asked once before use."""

from __future__ import annotations

import contextlib
import threading
import time
from typing import Final

from msgspec.structs import replace

from kymatui.adapters.kube.api.client import Client
from kymatui.adapters.kube.auth.connection import Connection, connect
from kymatui.adapters.kube.auth.secret_kubeconfig import connect_from_secret, require_unexpired
from kymatui.adapters.kube.transport.transport import Transport
from kymatui.adapters.kube.watch.kube_cluster import KubeCluster
from kymatui.adapters.kube.watch.watch_reader import WatchTiming
from kymatui.domain.fleet.fleet_tracker import RuntimeKey
from kymatui.domain.kubernetes.object_meta import LABEL_KYMA_NAME
from kymatui.domain.kubernetes.refs import GroupVersionKind
from kymatui.engine.cluster.concurrency import cancelled_after
from kymatui.errors import CancelledError, ConfigurationError, ForbiddenError, UnreachableError
from kymatui.sessions.cluster.catalog_session import CatalogSession
from kymatui.sessions.cluster.session_options import SessionOptions
from kymatui.sessions.control_plane.runtime_clients import owner_kyma, read_access_secret
from kymatui.sessions.feeds.feeds import KYMA_KINDS

CONNECT_SECONDS: Final = 10.0  # until a runtime counts as unreachable
_MANIFESTS: Final = KYMA_KINDS[3]


class RuntimeConnector:
    """Connects to the runtime of a Kyma. `by_hand` names its cluster in the place of the access Secret."""

    def __init__(
        self,
        home: KubeCluster,
        key: RuntimeKey,
        by_hand: SessionOptions | None = None,
        timeout: float = CONNECT_SECONDS,
    ) -> None:
        self._home, self._key = home, key
        self._by_hand = by_hand
        self._timeout = timeout
        self._cancel = threading.Event()
        self._source = "the control plane"
        self.secrets_read: frozenset[tuple[str, str]] | None = None
        """Names and resource versions of the access Secrets at the last call; None where none were read."""

    @property
    def title(self) -> str:
        """Return a name unique across control planes, used for plans, journals and backups."""
        return "/".join((self._home.client.transport.connection.context, *self._key))

    def cancel(self) -> None:
        """End a call of `connect` that is under way."""
        self._cancel.set()

    def connect(self) -> Client:
        """Return a client that the runtime answered. Raise what keeps it from being reached.

        Raise UnreachableError if the runtime does not answer in time.
        """
        with cancelled_after(self._timeout) as cancel:
            self._cancel = cancel
            client: Client | None = None
            try:
                connection = self._connection(cancel)
                client = Client(Transport(connection, read_only=self._home.client.transport.read_only))
                with contextlib.suppress(ForbiddenError):  # a 403 is an answer, too: the runtime can be reached
                    client.version(cancel)
                self._require_own(client, cancel)
            except BaseException as error:
                if client is not None:
                    client.transport.close()
                if isinstance(error, CancelledError):
                    raise UnreachableError(
                        f"{self._key[1]} did not answer within {self._timeout:g} s", hint="ctrl-r retries"
                    ) from None
                raise
        return client

    def open_session(self, options: SessionOptions, timing: WatchTiming | None = None) -> CatalogSession:
        """Connect, and return a session that is not started yet. Raise what `connect` raises."""
        return CatalogSession(self.connect(), replace(options, kubeconfig="", context="", namespace=""), timing)

    def _connection(self, cancel: threading.Event) -> Connection:
        namespace, kyma = self._key
        if self._by_hand is not None:
            return replace(connect(self._by_hand.kubeconfig, self._by_hand.context), title=self.title)
        access, self.secrets_read = read_access_secret(self._home, kyma, namespace, cancel)
        if access is None and self._is_control_plane(cancel):
            return self._home.client.transport.connection
        if access is None:
            raise ConfigurationError(
                f"access secret not found: no Secret in {namespace} is labelled {LABEL_KYMA_NAME}={kyma}",
                hint="use --skr-kubeconfig and --skr-context to name the runtime's cluster",
            )
        self._source = f"Secret {access.secret.namespace}/{access.secret.name}"
        connection = connect_from_secret(access.kubeconfig, self._source)
        require_unexpired(connection, time.time())
        return replace(connection, title=self.title)

    def _is_control_plane(self, cancel: threading.Event) -> bool:
        """Return whether the modules run in the control plane: all Manifests have `remote: false`."""
        namespace, kyma = self._key
        for version in _MANIFESTS.versions:
            kind = GroupVersionKind(_MANIFESTS.group, version, _MANIFESTS.kind)
            if self._home.kind(kind) is not None:
                objects = self._home.list(kind, namespace, labels=f"{LABEL_KYMA_NAME}={kyma}", cancel=cancel)
                return bool(objects) and all((raw.get("spec") or {}).get("remote") is False for raw in objects)
        return False

    def _require_own(self, client: Client, cancel: threading.Event) -> None:
        """Refuse the cluster of another Kyma, whoever named it. Raise ConfigurationError.

        A runtime whose Kyma may not be read cannot say whose it is, and passes.
        """
        try:
            owner = owner_kyma(client, cancel)
        except ForbiddenError:
            return
        if owner in ("", "/".join(self._key)):
            return
        if self._by_hand is not None:
            raise ConfigurationError(
                f"the second cluster is the runtime of {owner}, not of {'/'.join(self._key)}",
                hint="use another --skr-kubeconfig or --skr-context",
            )
        raise ConfigurationError(
            f"{self._source} leads to the runtime of {owner}, not of {'/'.join(self._key)}",
            hint=f"create the access Secret again; kymatui read nothing else in the runtime of {owner}",
        )
