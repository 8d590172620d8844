"""One runtime and what its control plane knows of it, as one picture; connected to only when somebody looks.

The control plane's side is there at once and stays, whatever the runtime does: one that hangs, forbids or lies costs
itself only.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from kymatui.adapters.sessions.cluster.cluster_target import read_runtime_target
from kymatui.adapters.sessions.cluster.configured_rules import read_configured_rules
from kymatui.adapters.sessions.cluster.object_read import read_object
from kymatui.adapters.sessions.cluster.session_options import SessionOptions
from kymatui.adapters.sessions.control_plane.runtime_clients import owner_kyma, read_access_secret
from kymatui.adapters.sessions.feeds.feeds import Feeds
from kymatui.adapters.sessions.feeds.watched_kinds import KYMA_KINDS, KYMA_NAMESPACE, WatchedKind
from kymatui.domain.fleet.fleet_tracker import RuntimeKey
from kymatui.domain.kubernetes.json_reader import JsonReader
from kymatui.domain.kubernetes.object_meta import LABEL_KYMA_NAME
from kymatui.domain.kubernetes.refs import GroupVersionKind
from kymatui.domain.kyma.maintenance_windows import ControllerSettings
from kymatui.domain.remote.runtime_pair import RuntimePair, join_snapshots
from kymatui.domain.snapshot.snapshots import RUNTIME_FEED, Feed, FeedState, Object, Snapshot
from kymatui.errors import CancelledError, ConfigurationError, ForbiddenError, KymatuiError, UnreachableError

if TYPE_CHECKING:
    from kymatui.adapters.kube.api.client import Client
    from kymatui.adapters.kube.auth.connection import Connection
    from kymatui.adapters.kube.watch.kube_cluster import KubeCluster
    from kymatui.adapters.kube.watch.watch import WatchTiming
    from kymatui.adapters.sessions.cluster.catalog_session import CatalogSession
    from kymatui.adapters.sessions.cluster.controller_rules import FoundRules
    from kymatui.adapters.sessions.control_plane.shared_feeds import ControlPlane, RuntimeShare
    from kymatui.domain.kubernetes.refs import ObjectRef
    from kymatui.domain.plans.cluster_target import ClusterTarget
    from kymatui.domain.remote.watcher_chains import WatcherChain

GIVE_UP_SECONDS: Final = 10.0
_SECRET = WatchedKind("secrets", "", "Secret", ("v1",))
_KYMAS, _TEMPLATES, _METAS, _MANIFESTS = KYMA_KINDS


class RuntimeSession:
    """What a screen needs of a runtime. `by_hand` names its cluster in the place of a Secret.

    Of the control plane it follows what is its own, or takes it from a listing that others share (`plane`); `rules` is
    asked for lifecycle-manager's configuration in the session's thread, and again by `retry`.
    """

    def __init__(
        self,
        home: KubeCluster,
        key: RuntimeKey,
        options: SessionOptions,
        *,
        by_hand: SessionOptions | None = None,
        timing: WatchTiming | None = None,
        give_up: float = GIVE_UP_SECONDS,
        plane: ControlPlane | None = None,
        rules: Callable[[], FoundRules] | None = None,
    ) -> None:
        from kymatui.adapters.kube.watch.watch_cache import ChangeBell

        self.home, self.key = home, key
        self._options, self._by_hand = options, by_hand
        self._timing, self._give_up = timing, give_up
        self._ask_rules = rules
        self._rules: FoundRules | None = None
        self._on_change: Callable[[], None] = lambda: None
        self._bell = ChangeBell(self._call)
        self._own: Feeds | None = None
        self._control: Feeds | RuntimeShare
        if plane is None:
            self._control = self._own = Feeds(home.client, self._control_changed, timing, once=options.once)
            self._own.expect(fixed.feed for fixed in KYMA_KINDS)
        else:
            self._control = plane.part(key, self._control_changed)
        self.runtime_kymas: tuple[Object, ...] = ()
        """The runtime's own Kymas at the last look: what is edited, while the picture shows the control plane's."""
        self._inner: CatalogSession | None = None
        self._error: KymatuiError | None = None
        self._since = time.time()
        self._from = "the control plane"
        self._used: frozenset[tuple[str, str]] | None = None
        self._told: frozenset[tuple[str, str]] | None = None
        self._outdated = False
        self._again = threading.Event()
        self._closed = threading.Event()
        self._cancel = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"runtime-{key[1]}", daemon=True)

    @property
    def name(self) -> str:
        """Return the control plane's context, which selects the settings."""
        return self.home.client.transport.connection.context

    @property
    def title(self) -> str:
        """Return a name unique across control planes, used for plans, journals and backups."""
        return "/".join((self.name, *self.key))

    @property
    def namespace(self) -> str:
        return KYMA_NAMESPACE

    @property
    def target(self) -> ClusterTarget:
        """Return the runtime and its control plane as plans and confirmations name them."""
        inner = self._inner
        return read_runtime_target(
            self.home.client, self.key, self.namespace, inner.client if inner is not None else None
        )

    @property
    def read_only(self) -> bool:
        return self.home.client.transport.read_only

    @property
    def traffic(self) -> tuple[int, int]:
        """Return the number of read requests sent to the runtime, and of requests that can write."""
        return self._inner.traffic if self._inner is not None else (0, 0)

    @property
    def failure(self) -> KymatuiError | None:
        """Why the runtime cannot be looked at; None while it can, or while that is being tried."""
        return self._error

    @property
    def kyma(self) -> RuntimeKey:
        return self.key

    @property
    def cluster(self) -> KubeCluster:
        from kymatui.adapters.sessions.cluster.cluster_access import cluster_of

        return cluster_of(self.client)

    @property
    def is_connected(self) -> bool:
        return self._inner is not None

    @property
    def kymas(self) -> Sequence[Object]:
        """Return the Kymas that are edited: the runtime's own, while the picture displays the control plane's."""
        return self.runtime_kymas

    @property
    def inner(self) -> CatalogSession | None:
        """Return the runtime's own session, None without a connection."""
        return self._inner

    @property
    def client(self) -> Client:
        """Return the runtime's client. Raise the error that prevents the connection."""
        if self._inner is None:
            raise self._error or UnreachableError(f"{self.key[1]} is not connected")
        return self._inner.client

    @property
    def notes(self) -> tuple[str, ...]:
        """Return messages about the source of lifecycle-manager's configuration and its unknown parts."""
        return self._rules[1] if self._rules is not None else ()

    def chains(self) -> tuple[WatcherChain, ...]:
        """Return every Watcher's chain, read from both clusters. Raise the error of a failed read."""
        from kymatui.adapters.sessions.cluster.cluster_access import cluster_of
        from kymatui.adapters.sessions.control_plane.watcher_objects import read_control_side, read_runtime_side
        from kymatui.domain.remote.watcher_chains import build_chains

        return build_chains(read_control_side(self.home), read_runtime_side(cluster_of(self.client)))

    def start(self, on_change: Callable[[], None]) -> None:
        """Start both sides without waiting for either."""
        self._on_change = on_change
        self._thread.start()

    def snapshot(self) -> Snapshot:
        """Both sides as lifecycle-manager sees them; without the runtime what its control plane says."""
        self._bell.looked()
        inner, now = self._inner, time.time()
        runtime = inner.snapshot() if inner is not None else None
        self.runtime_kymas = runtime.kymas if runtime is not None else ()
        pair = RuntimePair(self.key[1], self._control_snapshot(now), runtime, str(self._error or ""))
        found = join_snapshots(pair)
        return replace(found, feeds={**found.feeds, RUNTIME_FEED: self._feed()})

    def _feed(self) -> Feed:
        if self._inner is not None:
            failure, silence = self._inner.failure, self._inner.client.heartbeat.silence
            if silence is not None:
                return Feed(FeedState.STALE, silence.since, silence.message)
            return Feed(FeedState.FAILED, self._since, str(failure)) if failure else Feed(FeedState.LIVE, self._since)
        if self._error is not None:
            return Feed(FeedState.FAILED, self._since, str(self._error))
        return Feed(FeedState.SYNCING)

    def pair(self) -> RuntimePair:
        """Return both sides separately, for a comparison."""
        inner = self._inner
        runtime = inner.snapshot() if inner is not None else None
        return RuntimePair(self.key[1], self._control_snapshot(time.time()), runtime, str(self._error or ""))

    def _control_snapshot(self, now: float) -> Snapshot:
        feeds = self._control
        return Snapshot(
            cluster=self.name,
            kymas=feeds.objects(_KYMAS.feed),
            templates=feeds.objects(_TEMPLATES.feed),
            release_metas=feeds.objects(_METAS.feed),
            manifests=feeds.objects(_MANIFESTS.feed),
            feeds={name: feed for name, feed in feeds.states().items() if name != _SECRET.feed},
            taken_at=now,
            rules=self._rules[0] if self._rules is not None else self._configured,
        )

    @property
    def _configured(self) -> ControllerSettings | None:
        return read_configured_rules(self._options.maintenance_policy, self._options.restricted_modules)

    def follow_events(self, refs: Iterable[ObjectRef]) -> None:
        if self._inner is not None:
            self._inner.follow_events(refs)

    def follow_owned(self, refs: Iterable[ObjectRef]) -> None:
        if self._inner is not None:
            self._inner.follow_owned(refs)

    def read(self, ref: ObjectRef) -> Object:
        """Return one object whole, from the side that the picture shows it of; raises what that side answers."""
        at_home = any((fixed.group, fixed.kind) == (ref.kind.group, ref.kind.kind) for fixed in KYMA_KINDS)
        return read_object(self.home.client if at_home else self.client, ref)

    def retry(self) -> None:
        """Asks both sides again, now."""
        self._control.retry()
        self._rules = None
        if self._inner is not None:
            self._inner.retry()
        self._again.set()

    def close(self) -> None:
        """Ends everything; waits for nothing that does not answer."""
        self._closed.set()
        self._cancel.set()
        self._again.set()
        self._control.close(timeout=0.0)
        self._drop()

    # the thread

    def _run(self) -> None:
        attempt = 0
        while not self._closed.is_set():
            self._again.clear()
            if self._outdated:
                self._drop()
                self._outdated = False
            if self._inner is None:
                attempt = self._attempt(attempt)
            self._learn_rules()
            self._again.wait(None if self._inner is not None else min(60.0, 5.0 * 2 ** min(attempt - 1, 4)))

    def _learn_rules(self) -> None:
        if self._ask_rules is None or self._rules is not None or self._closed.is_set():
            return
        try:
            self._rules = self._ask_rules()
        except KymatuiError as error:
            self._rules = (
                self._configured or ControllerSettings(),
                (f"lifecycle-manager's configuration is not known: {error}",),
            )
        self._bell.ring()

    def _attempt(self, attempt: int) -> int:
        """Tries once; returns how often that was in vain."""
        try:
            self._follow_control()
            inner = self.connect()
        except KymatuiError as error:
            self._error, self._since = error, time.time()
            self._bell.ring()
            return attempt + 1
        inner.start(self._bell.ring)
        self._inner, self._error, self._since = inner, None, time.time()
        inner.tell_templates(self._control.objects(_TEMPLATES.feed))  # from now on whenever they change
        if self._closed.is_set():
            self._drop()
        self._bell.ring()
        return 0

    def connect(self) -> CatalogSession:
        """A session with the runtime alone, which was asked once. Raises what keeps it from being reached.

        Raises UnreachableError where the runtime does not answer in time."""
        from kymatui.adapters.kube.api.client import Client
        from kymatui.adapters.kube.transport.transport import Transport
        from kymatui.adapters.sessions.cluster.catalog_session import CatalogSession

        cancel = self._cancel = threading.Event()
        timer = threading.Timer(self._give_up, cancel.set)
        timer.daemon = True
        timer.start()
        client: Client | None = None
        try:
            connection = self._connection(cancel)
            client = Client(Transport(connection, read_only=self.read_only))
            with contextlib.suppress(ForbiddenError):
                client.version(cancel)
            self._require_own(client, cancel)
        except BaseException as error:
            if client is not None:
                client.transport.close()
            if isinstance(error, CancelledError):
                raise UnreachableError(
                    f"{self.key[1]} did not answer within {self._give_up:g} s",
                    hint="ctrl-r asks again; nothing else waits for it",
                ) from None
            raise
        finally:
            timer.cancel()
        catalogs = self._options.catalogs if self._own is not None else ()  # of many at once nobody looks into these
        options = replace(self._options, kubeconfig="", context="", namespace="", catalogs=catalogs)
        return CatalogSession(client, options, self._timing)

    def _connection(self, cancel: threading.Event) -> Connection:
        from kymatui.adapters.kube.auth.connection import connect
        from kymatui.adapters.kube.auth.secret_kubeconfig import connect_from_secret, require_unexpired

        namespace, kyma = self.key
        if self._by_hand is not None:
            return replace(connect(self._by_hand.kubeconfig, self._by_hand.context), title=self.title)
        access, self._used = read_access_secret(self.home, kyma, namespace, cancel)
        if access is None and self._is_own_runtime(cancel):
            return self.home.client.transport.connection
        if access is None:
            raise ConfigurationError(
                f"access secret not found: no Secret in {namespace} is labelled {LABEL_KYMA_NAME}={kyma}",
                hint="--skr-kubeconfig and --skr-context name the runtime's cluster by hand",
            )
        self._from = f"Secret {access.secret.namespace}/{access.secret.name}"
        found = connect_from_secret(access.kubeconfig, self._from)
        require_unexpired(found, time.time())
        return replace(found, title=self.title)

    def _is_own_runtime(self, cancel: threading.Event) -> bool:
        """Return whether the modules run in the control plane: all Manifests have `remote: false`."""
        namespace, kyma = self.key
        for version in _MANIFESTS.versions:
            kind = GroupVersionKind(_MANIFESTS.group, version, _MANIFESTS.kind)
            if self.home.kind(kind) is not None:
                found = self.home.list(kind, namespace, labels=f"{LABEL_KYMA_NAME}={kyma}", cancel=cancel)
                return bool(found) and all((raw.get("spec") or {}).get("remote") is False for raw in found)
        return False

    def _require_own(self, client: Client, cancel: threading.Event) -> None:
        """A cluster must not be another Kyma's, whoever named it: what is looked at and written would be another's.

        A runtime that lets nobody read its Kyma cannot say whose it is.
        """
        try:
            owner = owner_kyma(client, cancel)
        except ForbiddenError:
            return
        if owner in ("", "/".join(self.key)):
            return
        if self._by_hand is not None:
            raise ConfigurationError(
                f"the second cluster is the runtime of {owner}, and not of {'/'.join(self.key)}",
                hint="name another with --skr-kubeconfig and --skr-context",
            )
        raise ConfigurationError(
            f"{self._from} leads to the runtime of {owner}, and not of {'/'.join(self.key)}",
            hint=f"whoever makes the access Secrets has to make it again; nothing was read of {owner} but its name",
        )

    def _follow_control(self) -> None:
        if self._own is None:
            return
        namespace, name = self.key
        label = f"{LABEL_KYMA_NAME}={name}"
        for fixed in (*KYMA_KINDS, *(() if self._by_hand is not None else (_SECRET,))):
            resource = self.home.client.discovery.find_kind(fixed.group, fixed.kind, fixed.versions)
            if resource is None:
                self._own.absent(fixed.feed, f"the control plane does not serve {fixed.kind} of {fixed.group}")
                continue
            self._own.follow(
                fixed.feed,
                resource,
                only=namespace,
                metadata_only=fixed is _SECRET,
                labels=label if fixed in (_MANIFESTS, _SECRET) else "",
                fields=f"metadata.name={name}" if fixed is _KYMAS else "",
            )

    def _control_changed(self) -> None:
        """A Secret that changed makes the connection one of the past; that nothing else changes."""
        states, inner = self._control.states(), self._inner
        if inner is not None:
            inner.tell_templates(self._control.objects(_TEMPLATES.feed))
        secrets = states.get(_SECRET.feed)
        if secrets is not None and secrets.state is FeedState.LIVE:
            now = frozenset(map(_version, self._control.objects(_SECRET.feed)))
            if now != self._told:
                first, self._told = self._told is None, now
                if not first and now != self._used:
                    self._outdated = True
                    self._cancel.set()
                    self._again.set()
        self._bell.ring()

    def _drop(self) -> None:
        inner, self._inner = self._inner, None
        if inner is not None:
            threading.Thread(target=inner.close, name="runtime-close", daemon=True).start()

    def _call(self) -> None:
        if not self._closed.is_set():
            self._on_change()


def _version(raw: Mapping[str, object]) -> tuple[str, str]:
    metadata = JsonReader(raw).child("metadata")
    return metadata.text("name"), metadata.text("resourceVersion")
