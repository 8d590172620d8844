"""A kustomization file: its fields, and those that are not supported."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from msgspec import Struct

from kymatui.errors import SourceError
from kymatui.helm.yaml.errors import YamlError
from kymatui.helm.yaml.limits import YamlBudget
from kymatui.helm.yaml.reading import load_exactly
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


KIND: Final = "Kustomization"
COMPONENT: Final = "Component"
_VERSIONS: Final = {KIND: "kustomize.config.k8s.io/v1beta1", COMPONENT: "kustomize.config.k8s.io/v1alpha1"}

_UNSUPPORTED: Final = {
    "crds": "use configurations",
    "openapi": "remove it; merge keys of custom kinds cannot be set",
    "helmCharts": "install the chart separately (--chart)",
    "helmGlobals": "install the chart separately (--chart)",
    "helmChartInflationGenerator": "install the chart separately (--chart)",
    "generators": "remove it; kymatui runs no programs",
    "validators": "remove it; kymatui runs no programs",
    "buildMetadata": "remove it",
}


class Kustomization(Struct, frozen=True):
    """The fields of a kustomization; nested ones are read where they are used."""

    is_component: bool
    resources: list[str]
    components: list[str]
    configurations: list[str]
    namespace: str
    name_prefix: str
    name_suffix: str
    common_labels: dict[str, str]
    common_annotations: dict[str, str]
    labels: list[StrictFields]
    images: list[StrictFields]
    replicas: list[StrictFields]
    patches: list[StrictFields]
    merge_patches: list[str]
    json_patches: list[StrictFields]
    replacements: list[StrictFields]
    variables: list[StrictFields]
    transformers: list[str]
    config_maps: list[StrictFields]
    secrets: list[StrictFields]
    generator_options: StrictFields
    order: SortOptions


def read_kustomization(data: bytes, where: str, budget: YamlBudget) -> Kustomization:
    """Read a kustomization. Raises SourceError that names the field."""
    try:
        document = load_exactly(data, strict=True, budget=budget)
    except YamlError as error:
        raise SourceError(f"{where}: {error.summary}") from None
    fields = StrictFields(document, where)
    kind = _check(fields)
    if {name for name, value in fields.raw.items() if value is not None and value != ""} <= {"apiVersion", "kind"}:
        raise SourceError(f"{where} is empty")
    kustomization = Kustomization(
        is_component=kind == COMPONENT,
        resources=[*fields.list_of_texts("resources"), *fields.list_of_texts("bases")],
        components=fields.list_of_texts("components"),
        configurations=fields.list_of_texts("configurations"),
        namespace=fields.text("namespace"),
        name_prefix=fields.text("namePrefix"),
        name_suffix=fields.text("nameSuffix"),
        common_labels=fields.texts("commonLabels"),
        common_annotations=fields.texts("commonAnnotations"),
        labels=fields.children("labels"),
        images=[*fields.children("images"), *fields.children("imageTags")],
        replicas=fields.children("replicas"),
        patches=fields.children("patches"),
        merge_patches=fields.list_of_texts("patchesStrategicMerge"),
        json_patches=fields.children("patchesJson6902"),
        replacements=fields.children("replacements"),
        variables=fields.children("vars"),
        transformers=fields.list_of_texts("transformers"),
        config_maps=fields.children("configMapGenerator"),
        secrets=fields.children("secretGenerator"),
        generator_options=fields.child("generatorOptions"),
        order=SortOptions.read(fields.child("sortOptions")),
    )
    fields.finish()
    return kustomization


def _check(fields: StrictFields) -> str:
    """Return the kind. Raises SourceError for another kind or unsupported fields."""
    kind = fields.text("kind", KIND)
    if kind not in _VERSIONS:
        raise fields.error("kind", f"is {kind!r}, expected {KIND} or {COMPONENT}")
    version = fields.text("apiVersion", _VERSIONS[kind])
    if version != _VERSIONS[kind]:
        raise fields.error("apiVersion", f"is {version!r}, expected {_VERSIONS[kind]}")
    fields.ignore("metadata")
    for name, instead in _UNSUPPORTED.items():
        if fields.value(name):
            raise SourceError(f"{fields.where}: {name} is not supported", hint=instead)
    return kind
