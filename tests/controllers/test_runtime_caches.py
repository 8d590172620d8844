"""What the controllers of an operator know of runtimes: one reads an access Secret for all, each forgets for itself."""

from __future__ import annotations

import threading
from typing import cast

from kymatui.engine.cluster.ports import Cluster
from kymatui.operator.framework.runtime_cache import KymaKey, RuntimeCache

KYMA = ("kcp-system", "one")
CANCEL = threading.Event()


class Secrets:
    """Implements `RuntimeClusters`: each reading of a Secret gives another cluster."""

    def __init__(self) -> None:
        self.confirmed: list[Cluster] = []
        self.is_open = True
        self.caches: list[RuntimeCache] = []
        for _ in range(2):
            self.caches.append(RuntimeCache(self, others=self.caches, confirm=self.confirm))

    def runtime(self, kyma: str, namespace: str, cancel: threading.Event | None = None) -> Cluster:
        return cast(Cluster, object())

    def confirm(self, kyma: KymaKey, cluster: Cluster, cancel: threading.Event) -> bool:
        self.confirmed.append(cluster)
        return self.is_open


def test_a_second_controller_takes_the_runtime_that_the_first_has_read() -> None:
    secrets = Secrets()
    first, second = secrets.caches
    found = first.of(KYMA, CANCEL)
    assert second.of(KYMA, CANCEL) is second.of(KYMA, CANCEL) is found
    assert secrets.confirmed == [found]


def test_a_closed_client_is_not_taken() -> None:
    secrets = Secrets()
    secrets.is_open = False
    first, second = secrets.caches
    assert second.of(KYMA, CANCEL) is not first.of(KYMA, CANCEL)


def test_a_controller_that_drops_a_runtime_reads_its_secret_itself() -> None:
    first, second = Secrets().caches
    old = first.of(KYMA, CANCEL)
    assert second.of(KYMA, CANCEL) is old
    second.forget(KYMA)
    fresh = second.of(KYMA, CANCEL)
    assert fresh is not old
    assert first.of(KYMA, CANCEL) is old
    assert second.of(KYMA, CANCEL) is fresh


def test_the_runtime_of_a_kyma_that_is_gone_is_known_to_no_controller() -> None:
    first, second = Secrets().caches
    old = first.of(KYMA, CANCEL)
    second.of(KYMA, CANCEL)
    first.leave(KYMA)
    assert second.of(KYMA, CANCEL) is not old
