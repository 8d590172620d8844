"""The maintenance windows of a control plane's runtimes; no runtime is asked."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

from kymatui.domain.kymas import Kyma, read_kyma
from kymatui.domain.lists import Gap, Unknown
from kymatui.domain.maintenance import Maintenance, maintenance
from kymatui.domain.resolution import Rules
from kymatui.domain.shelves import Shelf, read_shelf
from kymatui.errors import ForbiddenError, NotFoundError
from kymatui.wiring.collecting import relax_collector
from kymatui.wiring.controllers import found_rules
from kymatui.wiring.engine import open_cluster
from kymatui.wiring.fleets import list_fixed
from kymatui.wiring.kinds import KYMA_KINDS, Fixed
from kymatui.wiring.pairs import find_runtime

if TYPE_CHECKING:
    from kymatui.adapters.kube.clusters import KubeCluster
    from kymatui.wiring.options import SessionOptions
    from kymatui.wiring.remote import RemoteOptions

_KYMAS, _TEMPLATES, _METAS, _ = KYMA_KINDS


def read_maintenance(
    options: RemoteOptions, policy: str, now: float
) -> tuple[tuple[Maintenance, ...], tuple[str, ...]]:
    """Every runtime, or the one that is named, and what is to be known of the policy, in sentences.

    `policy` is a file that wins over what is configured; `now` in seconds of the Unix clock.
    """
    relax_collector()
    control = replace(options.control, maintenance_policy=policy) if policy else options.control
    home = open_cluster(control)
    try:
        kymas = _kymas(home, control, options.runtime)
        rules: dict[str, Rules] = {}
        shelves: dict[str, Shelf] = {}
        unknown: dict[str, Unknown | None] = {}
        notes: list[str] = []
        for namespace in sorted({kyma.meta.namespace for kyma in kymas}):
            rules[namespace], said = found_rules(home, namespace, control)
            notes += said
            (templates, why), (metas, also) = (_listed(home, fixed, namespace) for fixed in (_TEMPLATES, _METAS))
            shelves[namespace], unknown[namespace] = read_shelf(templates, metas, namespace), why or also
        found = (
            maintenance(k, shelves[place], rules[place], now, unknown[place])
            for k in kymas
            for place in (k.meta.namespace,)
        )
        return tuple(sorted(found, key=lambda one: one.ref)), tuple(dict.fromkeys(notes))
    finally:
        home.client.transport.close()


def _kymas(home: KubeCluster, control: SessionOptions, runtime: str) -> list[Kyma]:
    if not runtime:
        raws: Iterable[object] = list_fixed(home.client, _KYMAS, control.namespace)
    else:
        namespace, name = find_runtime(home, runtime, control.namespace)
        raws = list_fixed(home.client, _KYMAS, namespace, fields=f"metadata.name={name}")
    return [kyma for kyma in map(read_kyma, raws) if isinstance(kyma, Kyma)]


def _listed(home: KubeCluster, fixed: Fixed, namespace: str) -> tuple[list[dict[str, object]], Unknown | None]:
    """The objects, or why they are not known; a kind that is not served has none."""
    try:
        return list_fixed(home.client, fixed, namespace), None
    except NotFoundError:
        return [], None
    except ForbiddenError as error:
        return [], Unknown(Gap.FORBIDDEN, (fixed.feed,), str(error))
