"""The runtimes of a control plane: found by their access Secrets, connected to when they are needed, and let go of.

The way to a runtime's cluster: its access Secret, or the kubeconfig that the user named; asked once before use.

The access of a control plane to a runtime: the Secret with its kubeconfig.
"""

from __future__ import annotations

import base64
import binascii
import contextlib
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Final

from msgspec import Struct
from msgspec.structs import replace

from kymatui.adapters.kube.api.client import Client
from kymatui.adapters.kube.auth.connection import Connection, connect
from kymatui.adapters.kube.auth.secret_kubeconfig import connect_from_secret, require_unexpired
from kymatui.adapters.kube.transport.request_guard import RequestGuard
from kymatui.adapters.kube.transport.transport import Transport
from kymatui.adapters.kube.watch.kube_cluster import KubeCluster
from kymatui.adapters.kube.watch.remembering_cluster import RUNTIME_KINDS, RememberingCluster
from kymatui.adapters.kube.watch.watch_reader import WatchTiming
from kymatui.domain.fleet.fleet_tracker import RuntimeKey
from kymatui.domain.kubernetes.json_reader import JsonReader
from kymatui.domain.kubernetes.object_meta import LABEL_KYMA_NAME, read_ref
from kymatui.domain.kubernetes.refs import SECRET, GroupVersionKind, ObjectRef
from kymatui.domain.kyma.manifests import Manifest
from kymatui.domain.snapshot.snapshots import Object
from kymatui.engine.cluster.concurrency import cancelled_after
from kymatui.engine.cluster.ports import Cluster
from kymatui.errors import CancelledError, ConfigurationError, ForbiddenError, UnreachableError
from kymatui.sessions.cluster.catalog_session import CatalogSession
from kymatui.sessions.cluster.session_options import SessionOptions
from kymatui.sessions.feeds.feeds import KYMA_KINDS, KYMA_NAMESPACE

if TYPE_CHECKING:
    from kymatui.sessions.control_plane.runtime_guards import RuntimeGuards


KUBECONFIG_KEY = "config"


class RuntimeAccess(Struct, frozen=True):
    """The Secret and its kubeconfig, which the representation omits because it is confidential."""

    secret: ObjectRef
    kubeconfig: bytes

    def __repr__(self) -> str:
        return f"Access({self.secret})"


class AccessSecretMissing(Struct, frozen=True):
    """No Secret has the Kyma's name as label."""

    kyma: str


class AccessSecretAmbiguous(Struct, frozen=True):
    """More than one Secret has the Kyma's name as label."""

    kyma: str
    secrets: tuple[ObjectRef, ...]


class KubeconfigUnreadable(Struct, frozen=True):
    """The Secret has no `config`, or one that is empty or not base64."""

    secret: ObjectRef
    reason: str


def find_runtime_access(
    kyma: str, secrets: Sequence[Object]
) -> RuntimeAccess | AccessSecretMissing | AccessSecretAmbiguous | KubeconfigUnreadable:
    """Find the access Secret of a Kyma as lifecycle-manager does."""
    matching = [
        raw for raw in secrets if JsonReader(raw).child("metadata").labels("labels").get(LABEL_KYMA_NAME) == kyma
    ]
    if not matching:
        return AccessSecretMissing(kyma)
    if len(matching) > 1:
        return AccessSecretAmbiguous(kyma, tuple(map(read_ref, matching)))
    ref = read_ref(matching[0])
    text = JsonReader(matching[0]).child("data").text(KUBECONFIG_KEY)
    if not text:
        return KubeconfigUnreadable(ref, f"data.{KUBECONFIG_KEY} is missing")
    try:
        return RuntimeAccess(ref, base64.b64decode(text, validate=True))
    except (binascii.Error, ValueError):
        return KubeconfigUnreadable(ref, f"data.{KUBECONFIG_KEY} is not base64")


MAX_CLIENTS: Final = 64  # runtimes with an open client; the least recently used is closed
REQUEST_SECONDS: Final = 20.0
"""For a request to a runtime with its whole answer: reconciliations of other runtimes may have to wait for it."""
IDLE_SECONDS: Final = 30.0
"""Seconds without a request after which the connections to a runtime are closed; its client stays."""
_RENEW: Final = "create the access Secret again"
_RENEW_OR_NAME: Final = f"{_RENEW}, or correct the annotation owned-by of the runtime's Kyma if it is wrong"
_KYMAS: Final = KYMA_KINDS[0]
_OWNED_BY: Final = "deprecated-operator.kyma-project.io/owned-by"


class SecretRuntimes:
    """Implements `Runtimes` of the Manifest controller. Kubeconfigs stay in memory; they go when their Secret does."""

    def __init__(self, home: KubeCluster, most: int = MAX_CLIENTS, guards: RuntimeGuards | None = None) -> None:
        self.closing: Callable[[KubeCluster], None] = lambda cluster: None  # hears of each client that is let go of
        self.is_watched: Callable[[KubeCluster], bool] = lambda cluster: False  # a watched client is kept longer
        self._home = home
        self._most = most
        self._guards = guards
        self._lock = threading.Lock()
        self._clusters: OrderedDict[str, tuple[bytes, KubeCluster]] = OrderedDict()
        self._proven: dict[str, tuple[KubeCluster, str]] = {}  # by Secret: the client, and the Kyma it said it has

    def of(self, manifest: Manifest, cancel: threading.Event) -> KubeCluster | None:
        """Return the Manifest's own cluster for `remote: false`, else the one of its access Secret."""
        if not manifest.remote:
            return self._home
        if not manifest.kyma:
            raise ConfigurationError(
                f"{manifest.ref} is for a runtime but has no label {LABEL_KYMA_NAME}",
                hint="label it, or set spec.remote to false",
            )
        return self.runtime(manifest.kyma, manifest.meta.namespace, cancel)

    def runtime(self, kyma: str, namespace: str, cancel: threading.Event | None = None) -> KubeCluster | None:
        """Return the cluster of a Kyma, None without an access Secret.

        Raises ConfigurationError for a Secret that is no use, or leads to the runtime of another Kyma, and what keeps
        the runtime from being asked whose it is.
        """
        access, _ = read_access_secret(self._home, kyma, namespace, cancel)
        if access is None:
            if self._guards is not None:
                self._guards.drop(f"{namespace}/{kyma}")
            return None
        name = f"Secret {access.secret.namespace}/{access.secret.name}"
        guard = self._guards.of(f"{namespace}/{kyma}", access.kubeconfig) if self._guards is not None else None
        cluster = self._connected(name, access.kubeconfig, guard)
        self._require_own(cluster, name, f"{namespace}/{kyma}", cancel)
        return cluster

    def confirm(self, kyma: tuple[str, str], cluster: Cluster, cancel: threading.Event | None = None) -> bool:
        """Check an open client as `runtime` does, without its Secret; return False for one that was closed.

        `kyma` is a namespace and a name. Raises ConfigurationError for the runtime of another Kyma.
        """
        with self._lock:
            match = next(
                ((name, candidate) for name, (_, candidate) in self._clusters.items() if candidate is cluster), None
            )
        if match is None:
            return False
        name, client = match
        self._require_own(client, name, "/".join(kyma), cancel)
        return True

    def close(self) -> None:
        with self._lock:
            clusters = [cluster for _, cluster in self._clusters.values()]
            self._clusters.clear()
            self._proven.clear()
        self._let_go(clusters)

    def close_idle(self) -> None:
        """Close the connections to runtimes with nothing to do; watches stay."""
        with self._lock:
            clusters = [cluster for _, cluster in self._clusters.values()]
        for cluster in clusters:
            cluster.client.transport.close_idle(IDLE_SECONDS)

    def _connected(self, name: str, kubeconfig: bytes, guard: RequestGuard | None) -> KubeCluster:
        cluster = self._known(name, kubeconfig, guard)
        if cluster is None:
            # Outside the lock: a kubeconfig is untrusted, and other runtimes need the lock.
            opened = self._open(kubeconfig, name, guard)
            cluster = self._keep(name, kubeconfig, opened)
        require_unexpired(cluster.client.transport.connection, time.time())
        return cluster

    def _known(self, name: str, kubeconfig: bytes, guard: RequestGuard | None) -> KubeCluster | None:
        """Return the open client of a Secret that has not changed; it counts as used."""
        with self._lock:
            known = self._clusters.get(name)
            if known is None or known[0] != kubeconfig or _guard(known[1]) is not guard:
                return None
            self._clusters.move_to_end(name)
            return known[1]

    def _keep(self, name: str, kubeconfig: bytes, opened: KubeCluster) -> KubeCluster:
        """Keep a new client, in the place of an older one of the Secret, and return the one to use.

        Another thread may have opened the same one meanwhile.
        """
        with self._lock:
            known = self._clusters.get(name)
            if known is not None and known[0] == kubeconfig and _guard(known[1]) is _guard(opened):
                surplus, used = [opened], known[1]
            else:
                surplus, used = [known[1]] if known is not None else [], opened
                self._clusters[name] = kubeconfig, opened
            self._clusters.move_to_end(name)
            while len(self._clusters) > self._most:
                others = [cluster for cluster in self._clusters if cluster != name]
                unwatched = (other for other in others if not self.is_watched(self._clusters[other][1]))
                surplus.append(self._clusters.pop(next(unwatched, others[0]))[1])
            self._proven = {name: proof for name, proof in self._proven.items() if proof[0] not in surplus}
        self._let_go(surplus)
        return used

    def _require_own(self, cluster: KubeCluster, name: str, kyma: str, cancel: threading.Event | None) -> None:
        """Check until the runtime has confirmed its Kyma; one without a Kyma, or with a hidden one, passes."""
        with self._lock:
            if self._proven.get(name) == (cluster, kyma):
                return
        try:
            owner = owner_kyma(cluster.client, cancel)
        except ForbiddenError:
            return
        if owner not in ("", kyma):
            raise ConfigurationError(f"{name} leads to the runtime of {owner}, not of {kyma}", hint=_RENEW_OR_NAME)
        if owner:
            with self._lock:
                self._proven[name] = (cluster, kyma)

    def _let_go(self, clusters: Iterable[KubeCluster]) -> None:
        for cluster in clusters:
            self.closing(cluster)
            cluster.close()

    def _open(self, kubeconfig: bytes, name: str, guard: RequestGuard | None) -> KubeCluster:
        connection = connect_from_secret(kubeconfig, name)
        if guard is not None:
            connection = replace(connection, request_timeout=REQUEST_SECONDS)
        client = Client(Transport(connection, read_only=self._home.read_only, guard=guard))
        return RememberingCluster(client, kinds=RUNTIME_KINDS, unattended=True)


def _guard(cluster: KubeCluster) -> RequestGuard | None:
    return cluster.client.transport.guard


Versions = frozenset[tuple[str, str]]
"""Names of Secrets with their resource versions: what tells that one changed."""


def read_access_secret(
    home: KubeCluster, kyma: str, namespace: str, cancel: threading.Event | None = None
) -> tuple[RuntimeAccess | None, Versions]:
    """Return the runtime's kubeconfig, None without a Secret, and the Secrets' resource versions.

    Raises ConfigurationError for one that is no use, and for several.
    """
    secrets = home.list(SECRET, namespace, labels=f"{LABEL_KYMA_NAME}={kyma}", cancel=cancel)
    match find_runtime_access(kyma, secrets):
        case RuntimeAccess() as access:
            versions = ((raw["metadata"]["name"], raw["metadata"].get("resourceVersion", "")) for raw in secrets)
            return access, frozenset(versions)
        case AccessSecretMissing():
            return None, frozenset()
        case AccessSecretAmbiguous(_, refs):
            names = ", ".join(f"{ref.namespace}/{ref.name}" for ref in refs)
            hint = (
                "delete the old Secrets, then restart lifecycle-manager: it refuses several Secrets, too, but uses the "
                "one that it read before until it restarts"
            )
            raise ConfigurationError(f"more than one secret found for {kyma}: {names}", hint=hint)
        case KubeconfigUnreadable(secret, reason):
            raise ConfigurationError(f"{secret} gives no access to {kyma}: {reason}", hint=_RENEW)


def owner_kyma(client: Client, cancel: threading.Event | None = None) -> str:
    """Return `namespace/name` of the control plane's Kyma that a runtime's Kyma belongs to, "" if it names none."""
    resource = client.discovery.find_kind(_KYMAS.group, _KYMAS.kind, _KYMAS.versions)
    if resource is None:
        return ""
    for raw in client.list(resource, KYMA_NAMESPACE, cancel=cancel).items:
        owner = JsonReader(raw).child("metadata").labels("annotations").get(_OWNED_BY, "")
        if owner:
            return owner
    return ""


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
