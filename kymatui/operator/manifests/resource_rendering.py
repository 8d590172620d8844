"""The objects of a module's layer, marked as lifecycle-manager marks them; each layer is read and parsed once."""

from __future__ import annotations

import copy
import threading
from collections import OrderedDict
from collections.abc import Sequence
from typing import Final, Protocol

from kymatui.domain.kubernetes.object_meta import LABEL_MANAGED_BY, OPERATOR, read_ref
from kymatui.domain.kubernetes.refs import ObjectRef
from kymatui.domain.kyma.manifests import ImageSpec, Manifest
from kymatui.domain.remote.kyma_sync import ANNOTATION_OWNED_BY
from kymatui.engine.cluster.ports import Cluster, Object
from kymatui.engine.plans.transforms import Transform, with_annotations, with_labels
from kymatui.errors import SourceError
from kymatui.operator.manifests.manifest_marks import COMPONENT, LAYER_TYPES, PART_OF

DISCLAIMER: Final = f"{OPERATOR}/managed-by-reconciler-disclaimer"
DISCLAIMER_TEXT: Final = (
    "DO NOT EDIT - This resource is managed by Kyma.\n"
    "Any modifications are discarded and the resource is reverted to the original state."
)
_MOST_LAYERS: Final = 64  # parsed layers in memory; the least recently used is dropped


class LayerReader(Protocol):
    """The layers of Manifests."""

    def objects(self, manifest: Manifest) -> Sequence[Object]:
        """Return a layer's objects, each once, with localized images.

        Raises SourceError, RegistryError, ConfigurationError.
        """
        ...


class ModuleRenderer:
    """The renderer of Manifests with one layer; thread-safe."""

    def __init__(self, layers: LayerReader, transforms: Sequence[Transform] = ()) -> None:
        self._layers = layers
        self._transforms = tuple(transforms)
        self._lock = threading.Lock()
        self._parsed: OrderedDict[tuple[str, ...], Sequence[Object]] = OrderedDict()

    def render(self, manifest: Manifest, cluster: Cluster) -> list[Object]:
        """Return the objects to apply. Raises SourceError, RegistryError, ConfigurationError.

        The namespace of an object of a kind that the cluster does not serve (yet) stays as it is.
        """
        marks = _marks(manifest)
        objects = []
        for body in self._objects(manifest):
            marked = copy.deepcopy(body)
            for mark in (*marks, *self._transforms):
                marked = mark(marked)
            objects.append(_normalised(marked, cluster))
        return objects

    def _objects(self, manifest: Manifest) -> Sequence[Object]:
        source = layer_of(manifest)
        raw = (manifest.raw.get("spec") or {}).get("localizedImages")
        images = map(str, raw) if isinstance(raw, list) else ()
        key = (source.repo, source.name, source.ref, source.type, *images)
        with self._lock:
            if (known := self._parsed.get(key)) is not None:
                self._parsed.move_to_end(key)
                return known
        objects = self._layers.objects(manifest)
        with self._lock:
            self._parsed[key] = objects
            while len(self._parsed) > _MOST_LAYERS:
                self._parsed.popitem(last=False)
        return objects


def layer_of(manifest: Manifest) -> ImageSpec:
    """Return the layer of a Manifest. Raises SourceError if it has another source."""
    source = manifest.installs[0].source if manifest.installs else None
    if not isinstance(source, ImageSpec) or source.type not in LAYER_TYPES:
        raise SourceError(f"{manifest.ref} has no layer of type oci-ref or oci-dir")
    return source


def _marks(manifest: Manifest) -> tuple[Transform, ...]:
    name = manifest.meta.name
    return (
        with_labels({LABEL_MANAGED_BY: "kyma", COMPONENT: name, PART_OF: "Kyma"}),
        with_annotations({ANNOTATION_OWNED_BY: f"{manifest.meta.namespace}/{name}", DISCLAIMER: DISCLAIMER_TEXT}),
    )


def _normalised(body: Object, cluster: Cluster) -> Object:
    """Give a namespaced object without a namespace `default`, take the namespace of a cluster-scoped one."""
    kind = cluster.kind(read_ref(body).kind)
    if kind is None:
        return body
    metadata = dict(body.get("metadata") or {})
    if kind.namespaced:
        metadata["namespace"] = metadata.get("namespace") or "default"
    else:
        metadata.pop("namespace", None)
    return {**body, "metadata": metadata}


def refs_of(objects: Sequence[Object]) -> tuple[ObjectRef, ...]:
    return tuple(map(read_ref, objects))
