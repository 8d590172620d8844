"""The order of the output: by kind, dependencies first and webhooks last, or as read ("fifo")."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from msgspec import Struct

from kymatui.errors import SourceError
from kymatui.kustomize.model.resmap import KustomizeResource, ResId
from kymatui.kustomize.model.strict_fields import StrictFields

_FIRST: Final = """
Namespace ResourceQuota StorageClass CustomResourceDefinition ServiceAccount PodSecurityPolicy Role ClusterRole
RoleBinding ClusterRoleBinding ConfigMap Secret Endpoints Service LimitRange PriorityClass PersistentVolume
PersistentVolumeClaim Deployment StatefulSet CronJob PodDisruptionBudget
"""
_LAST: Final = ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration")


class SortOptions(Struct, frozen=True):
    """The order; `first` and `last` are kinds, None keeps the order of reading."""

    first: tuple[str, ...] | None = tuple(_FIRST.split())
    last: tuple[str, ...] = _LAST

    @classmethod
    def read(cls, fields: StrictFields) -> SortOptions:
        """Read sortOptions. Raises SourceError."""
        order = fields.text("order", "legacy" if not fields.raw else "fifo")
        if order not in ("legacy", "fifo"):
            raise SourceError(f"{fields.where}: order is {order!r}, expected legacy or fifo")
        options = fields.child("legacySortOptions")
        if options.raw and order == "fifo":
            raise SourceError(f"{fields.where}: legacySortOptions require order: legacy")
        first, last = options.list_of_texts("orderFirst"), options.list_of_texts("orderLast")
        options.finish()
        fields.finish()
        if order == "fifo":
            return cls(None)
        return cls(tuple(first), tuple(last)) if options.raw else cls()

    def sorted(self, resources: Iterable[KustomizeResource]) -> list[KustomizeResource]:
        if self.first is None:
            return list(resources)
        ranks = {kind: rank - len(self.first) for rank, kind in enumerate(self.first)}
        ranks.update({kind: rank for rank, kind in enumerate(self.last, 1)})
        return sorted(resources, key=lambda resource: _key(resource.current, ranks))


def _key(res_id: ResId, ranks: dict[str, int]) -> tuple[int, str, str]:
    """Return the sort key; kustomize sorts namespace and name as one text, so a prefix comes last."""
    group, version, kind = res_id.kind
    kinds = f"{group or '~G'}_{version or '~V'}_{kind or '~K'}"
    return ranks.get(kind, 0), kinds, f"{res_id.namespace or '~X'}|{res_id.name or '~N'}"
