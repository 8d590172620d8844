"""A control plane and its runtimes, for a screen: the fleet is followed, a runtime only when somebody looks at it."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from kymatui.domain.fleet_pictures import FleetPicture, Key
from kymatui.errors import ConfigurationError, KymatuiError
from kymatui.wiring.engine import open_cluster
from kymatui.wiring.fleet_sessions import FleetSession
from kymatui.wiring.options import SessionOptions
from kymatui.wiring.runtime_sessions import RuntimeSession
from kymatui.wiring.runtimes import owner_of

if TYPE_CHECKING:
    from kymatui.actions.uninstall import Consent
    from kymatui.adapters.kube.watching import Timing
    from kymatui.domain.snapshots import Feed
    from kymatui.domain.targets import ClusterTarget
    from kymatui.domain.toggling import Toggle
    from kymatui.domain.watcher_chains import Chain
    from kymatui.wiring.campaigns import Campaign, Pace
    from kymatui.wiring.controllers import Found


@dataclass(frozen=True, slots=True)
class RemoteOptions:
    """The control plane, and where somebody says so, one runtime: its name, and its cluster named by hand."""

    control: SessionOptions
    runtime: str = ""
    by_hand: SessionOptions | None = None


def open_remote(options: RemoteOptions, timing: Timing | None = None) -> RemoteSession:
    """Reads the configuration; raises ConfigurationError where it cannot be used. Nothing is sent before `start`."""
    return RemoteSession(options, timing)


class RemoteSession:
    """The fleet's session with a way to each runtime."""

    def __init__(self, options: RemoteOptions, timing: Timing | None = None) -> None:
        self._options, self._timing = options, timing
        self.home = open_cluster(options.control)
        self._fleet = FleetSession(self.home, options.control.namespace, timing)
        self._rules: dict[str, Found] = {}
        self._by_hand_owner = ""
        self._straight: Key | None = None

    @property
    def name(self) -> str:
        return self._fleet.name

    @property
    def namespace(self) -> str:
        return self._fleet.namespace

    @property
    def target(self) -> ClusterTarget:
        """The control plane, as plans and questions name it."""
        return self._fleet.target

    @property
    def read_only(self) -> bool:
        return self._fleet.read_only

    @property
    def traffic(self) -> tuple[int, int]:
        """How many requests left that only read, and how many that could have changed something."""
        return self._fleet.traffic

    @property
    def feeds(self) -> Mapping[str, Feed]:
        return self._fleet.feeds

    @property
    def failure(self) -> KymatuiError | None:
        return self._fleet.failure

    def start(self, on_change: Callable[[], None]) -> None:
        """Begins to follow the fleet. Whose cluster was named by hand is asked on the way."""
        self._fleet.start(on_change)
        if self._options.by_hand is not None:
            threading.Thread(target=self._ask_owner, args=(on_change,), name="runtime-owner", daemon=True).start()

    def picture(self) -> FleetPicture:
        """The fleet as it is known now; never waits."""
        found = self._fleet.picture()
        if self._straight is None and self.wanted:
            named = found.named(self.wanted)
            self._straight = (named.ref.namespace, named.name) if named is not None else None
        return found

    @property
    def straight_to(self) -> Key | None:
        """The one runtime that was asked for, as soon as it is known."""
        return self._straight

    @property
    def wanted(self) -> str:
        """The one runtime that was asked for, in the words in which it was; "" where the fleet is wanted."""
        return self._options.runtime or self._by_hand_owner

    def runtime(self, key: Key) -> RuntimeSession:
        """A session with one runtime; nothing is sent before its `start`."""
        from kymatui.wiring.controllers import found_rules

        by_hand = self._options.by_hand if self._straight in (None, key) else None
        return RuntimeSession(
            self.home,
            key,
            self._options.control,
            by_hand=by_hand,
            timing=self._timing,
            rules=lambda: found_rules(self.home, key[0], self._options.control),
        )

    def rules(self, namespace: str) -> Found:
        """lifecycle-manager's configuration for the Kymas of a namespace; the server is asked once, until `retry`.

        Raises ConfigurationError for a configured file that is no policy.
        """
        from kymatui.wiring.controllers import found_rules

        if namespace not in self._rules:
            self._rules[namespace] = found_rules(self.home, namespace, self._options.control)
        return self._rules[namespace]

    def chains(self) -> tuple[Chain, ...]:
        """Every Watcher's chain as far as it is in the control plane; raises what keeps it from being read."""
        from kymatui.domain.watcher_chains import chains
        from kymatui.wiring.watchers import control_side

        return chains(control_side(self.home), None)

    def campaign(self, toggle: Toggle, pace: Pace, consent: Consent | None = None) -> Campaign:
        """One edit over many runtimes; ConfigurationError where the one runtime's cluster was named by hand."""
        from kymatui.wiring.campaigns import Campaign

        if self._options.by_hand is not None:
            raise ConfigurationError("the second cluster is named by hand: there is no way to the other runtimes")
        return Campaign(replace(self._options, runtime=""), toggle, pace, consent)

    def retry(self) -> None:
        self._rules.clear()
        self._fleet.retry()

    def close(self) -> None:
        self._fleet.close()

    def wait_complete(self, timeout: float) -> bool:
        """Waits until the whole fleet is listed or refused; False where that took too long."""
        return self._fleet.wait_complete(timeout)

    def require_kyma(self) -> None:
        """Raises where there is no fleet to be shown."""
        self._fleet.require_kymas()

    def _ask_owner(self, on_change: Callable[[], None]) -> None:
        assert self._options.by_hand is not None
        with contextlib.suppress(KymatuiError):  # it is asked, and told, again when somebody looks at a runtime
            cluster = open_cluster(replace(self._options.by_hand, read_only=True))
            try:
                self._by_hand_owner = owner_of(cluster.client)
            finally:
                cluster.client.transport.close()
        on_change()
