"""What a control plane knows of one runtime: its Kyma, Manifests, templates, access Secret and configuration."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final

from kymatui.domain.kubernetes.json_reader import JsonReader
from kymatui.domain.kubernetes.object_meta import LABEL_KYMA_NAME
from kymatui.domain.kyma.maintenance_windows import ControllerSettings
from kymatui.domain.snapshot.snapshots import FeedState, Object, Snapshot
from kymatui.errors import KymatuiError
from kymatui.sessions.cluster.controller_rules import read_configured_rules
from kymatui.sessions.feeds.feeds import Feeds
from kymatui.sessions.feeds.watched_kinds import KYMA_KINDS, WatchedKind

if TYPE_CHECKING:
    from kymatui.adapters.kube.watch.kube_cluster import KubeCluster
    from kymatui.adapters.kube.watch.watch_reader import WatchTiming
    from kymatui.domain.fleet.fleet_tracker import RuntimeKey
    from kymatui.sessions.cluster.controller_rules import FoundRules
    from kymatui.sessions.cluster.session_options import SessionOptions
    from kymatui.sessions.control_plane.shared_feeds import ControlPlane, RuntimeShare

_SECRET: Final = WatchedKind("secrets", "", "Secret", ("v1",))
_KYMAS, _TEMPLATES, _METAS, _MANIFESTS = KYMA_KINDS


class ControlSide:
    """Follows the objects of one runtime, or takes them from a listing that others share (`plane`).

    `rules` is asked for lifecycle-manager's configuration by `read_rules`, once until `retry`.
    """

    def __init__(
        self,
        home: KubeCluster,
        key: RuntimeKey,
        options: SessionOptions,
        changed: Callable[[], None],
        *,
        has_secret: bool,
        timing: WatchTiming | None,
        plane: ControlPlane | None,
        rules: Callable[[], FoundRules] | None,
    ) -> None:
        self._home, self._key, self._options = home, key, options
        self._has_secret = has_secret
        self._ask_rules = rules
        self._rules: FoundRules | None = None
        self._own: Feeds | None = None
        self._feeds: Feeds | RuntimeShare
        if plane is None:
            self._feeds = self._own = Feeds(home.client, changed, timing, once=options.once)
            self._own.expect(fixed.feed for fixed in KYMA_KINDS)
        else:
            self._feeds = plane.part(key, changed)

    @property
    def is_shared(self) -> bool:
        """Return whether the objects come from a listing that other runtimes use too."""
        return self._own is None

    @property
    def templates(self) -> tuple[Object, ...]:
        return self._feeds.objects(_TEMPLATES.feed)

    @property
    def secrets(self) -> frozenset[tuple[str, str]] | None:
        """Return names and resource versions of the access Secrets; None if they are not watched now."""
        feed = self._feeds.states().get(_SECRET.feed)
        if feed is None or feed.state is not FeedState.LIVE:
            return None
        return frozenset(map(_version, self._feeds.objects(_SECRET.feed)))

    @property
    def notes(self) -> tuple[str, ...]:
        """Return messages about the source of lifecycle-manager's configuration and its unknown parts."""
        return self._rules[1] if self._rules is not None else self._configured()[1]

    def snapshot(self, now: float) -> Snapshot:
        """Return what the control plane says; `now` in seconds since 1970."""
        feeds = self._feeds
        return Snapshot(
            cluster=self._home.client.transport.connection.context,
            kymas=feeds.objects(_KYMAS.feed),
            templates=self.templates,
            release_metas=feeds.objects(_METAS.feed),
            manifests=feeds.objects(_MANIFESTS.feed),
            feeds={name: feed for name, feed in feeds.states().items() if name != _SECRET.feed},
            taken_at=now,
            rules=self._rules[0] if self._rules is not None else self._configured()[0],
        )

    def follow(self) -> None:
        """Watch the runtime's own objects. Raise what discovery raises."""
        if self._own is None:
            return
        namespace, name = self._key
        label = f"{LABEL_KYMA_NAME}={name}"
        for fixed in (*KYMA_KINDS, *((_SECRET,) if self._has_secret else ())):
            resource = self._home.client.discovery.find_kind(fixed.group, fixed.kind, fixed.versions)
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

    def read_rules(self) -> bool:
        """Read lifecycle-manager's configuration if it is not known; return whether it was read."""
        if self._ask_rules is None or self._rules is not None:
            return False
        try:
            self._rules = self._ask_rules()
        except KymatuiError as error:
            rules, notes = self._configured()
            unknown = f"lifecycle-manager's configuration is unknown: {error}"
            self._rules = (
                rules or ControllerSettings(),
                (unknown, *(note for note in notes if str(error) not in note)),
            )
        return True

    def retry(self) -> None:
        self._feeds.retry()
        self._rules = None

    def close(self) -> None:
        """End the watches; wait for nothing."""
        self._feeds.close(timeout=0.0)

    def _configured(self) -> tuple[ControllerSettings | None, tuple[str, ...]]:
        """Return the configured rules, and why they cannot be read; the file may be repaired meanwhile."""
        try:
            return read_configured_rules(self._options.maintenance_policy, self._options.restricted_modules), ()
        except KymatuiError as error:
            return None, (str(error),)


def _version(raw: Mapping[str, object]) -> tuple[str, str]:
    metadata = JsonReader(raw).child("metadata")
    return metadata.text("name"), metadata.text("resourceVersion")
