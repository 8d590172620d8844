"""The preparation of a bundle for a cluster: names, namespaces by scope, marks, unique objects."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Final

from msgspec.structs import replace

from kymatui.domain.kubernetes.object_meta import read_ref
from kymatui.domain.kubernetes.refs import GroupVersionKind
from kymatui.engine.bundles.bundle import Bundle, BundleHook, ChartRelease
from kymatui.engine.cluster.kind_order import clean, defined_kinds, is_definition, require_named, unique_objects
from kymatui.engine.cluster.ports import Cluster, Object
from kymatui.engine.inventory.ownership_marks import with_ownership_marks
from kymatui.engine.inventory.release_store import require_storable
from kymatui.errors import ConfigurationError

_LONGEST_NAME: Final = 200  # leaves room for prefixes and suffixes within Kubernetes' 253 characters
_NAME: Final = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
"""The name becomes part of the names of a Lease and an inventory."""


def prepare(bundle: Bundle, cluster: Cluster) -> Bundle:
    """Return the bundle as it will be sent. Raises ConfigurationError that names an invalid object."""
    bundle = replace(bundle, namespace=bundle.namespace or "default")
    where = bundle.origin.address or bundle.name
    _check_name(bundle.name)
    for body in (*bundle.crds, *bundle.objects, *(hook.body for hook in bundle.hooks)):
        require_named(body, where)
    scopes = KindScopes(cluster, bundle)
    objects = [with_ownership_marks(scopes.clean(body), bundle) for body in bundle.objects]
    crds = [scopes.clean(body) for body in bundle.crds]
    known = {read_ref(body) for body in crds}
    for body in bundle.defaults:
        require_named(body, where)
    resource = scopes.clean(bundle.resource) if bundle.resource is not None else None
    prepared = replace(
        bundle,
        objects=tuple(body for body in unique_objects(objects) if read_ref(body) not in known),
        crds=tuple(unique_objects(crds)),
        hooks=tuple(BundleHook(one.hook, scopes.clean(one.body)) for one in bundle.hooks),
        resource=resource,
        release=_plain(bundle.release) if bundle.release is not None else None,
        resources=tuple(scopes.clean(body) for body in bundle.resources),
    )
    require_storable(prepared)
    return prepared


def _check_name(name: str) -> None:
    if len(name) > _LONGEST_NAME or not _NAME.fullmatch(name):
        raise ConfigurationError(
            f"{name!r} is not a valid name for an installation",
            hint=f"use lowercase letters, digits, '-' and '.', at most {_LONGEST_NAME} characters",
        )


def _plain(release: ChartRelease) -> ChartRelease:
    """Return the release with JSON's number types, as chart values have Go's."""
    chart, config = json.loads(json.dumps([dict(release.chart), dict(release.config)]))
    return replace(release, chart=chart, config=config)


class KindScopes:
    """The scopes of kinds: as the cluster serves them, else by the CRDs of the bundle."""

    def __init__(self, cluster: Cluster, bundle: Bundle) -> None:
        self._cluster = cluster
        self._namespace = bundle.namespace
        definitions = [body for body in (*bundle.crds, *bundle.objects) if is_definition(read_ref(body))]
        self.brought: Mapping[GroupVersionKind, bool] = defined_kinds(definitions)
        self._known: dict[GroupVersionKind, bool | None] = {}

    def namespaced(self, gvk: GroupVersionKind) -> bool | None:
        if gvk not in self._known:
            served = self._cluster.kind(gvk) if gvk not in self.brought else None
            self._known[gvk] = served.namespaced if served is not None else self.brought.get(gvk)
        return self._known[gvk]

    def clean(self, body: Object) -> Object:
        return clean(body, self.namespaced(read_ref(body).kind), self._namespace)
