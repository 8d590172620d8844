"""Projections: the fields that are decoded of an object; msgspec skips all others.

Projections are TypedDicts, so the decoded objects are plain dictionaries that the domain reads like any other object.
"""

from __future__ import annotations

from typing import Any, TypedDict


class FieldManager(TypedDict, total=False):
    manager: str
    operation: str
    subresource: str
    time: str


class OwnerReference(TypedDict, total=False):
    apiVersion: str
    kind: str
    name: str
    uid: str
    controller: bool


class BriefMetadata(TypedDict, total=False):
    """The metadata that a row shows in lists of thousands."""

    name: str
    namespace: str
    resourceVersion: str
    creationTimestamp: str | None
    deletionTimestamp: str | None
    labels: dict[str, str] | None
    annotations: dict[str, str] | None


class MetadataFields(BriefMetadata, total=False):
    """Metadata without `fieldsV1`, which is half of many objects and not displayed."""

    generateName: str
    uid: str
    generation: int
    deletionGracePeriodSeconds: int | None
    finalizers: list[str] | None
    ownerReferences: list[OwnerReference] | None
    managedFields: list[FieldManager] | None


class MetadataOnly(TypedDict, total=False):
    """Name and metadata of an object."""

    apiVersion: str
    kind: str
    metadata: MetadataFields


class Involved(TypedDict, total=False):
    kind: str
    apiVersion: str
    namespace: str
    name: str
    uid: str


class Series(TypedDict, total=False):
    count: int | None
    lastObservedTime: str | None


class StatusOnly(MetadataOnly, total=False):
    """Name, metadata and status of an object."""

    status: dict[str, Any] | None


class EventFields(MetadataOnly, total=False):
    """The fields of a core/v1 Event: object, message, count and times."""

    involvedObject: Involved
    type: str
    reason: str
    message: str
    count: int | None
    series: Series | None
    firstTimestamp: str | None
    lastTimestamp: str | None
    eventTime: str | None


class Container(TypedDict, total=False):
    name: str
    image: str


class PodSpec(TypedDict, total=False):
    containers: list[Container] | None
    initContainers: list[Container] | None


class PodMetadata(TypedDict, total=False):
    labels: dict[str, str] | None


class PodTemplate(TypedDict, total=False):
    metadata: PodMetadata
    spec: PodSpec


class WorkloadSpec(TypedDict, total=False):
    replicas: int | None
    paused: bool | None
    selector: dict[str, Any] | None
    strategy: dict[str, Any] | None
    updateStrategy: dict[str, Any] | None
    progressDeadlineSeconds: int | None
    minReadySeconds: int | None
    serviceName: str | None
    template: PodTemplate


class Workload(MetadataOnly, total=False):
    """The fields of a Deployment, StatefulSet or DaemonSet that show version and readiness."""

    spec: WorkloadSpec
    status: dict[str, Any] | None


class KymaSpec(TypedDict, total=False):
    channel: str | None
    skipMaintenanceWindows: bool | None
    modules: list[dict[str, Any]] | None


class TemplateReference(TypedDict, total=False):
    """That there is a template decides on the guard against downgrades; which one does not."""


class KymaModule(TypedDict, total=False):
    name: str
    channel: str | None
    version: str | None
    message: str | None
    state: str | None
    maintenance: bool | None
    template: TemplateReference | None


class FleetCondition(TypedDict, total=False):
    type: str
    status: str
    reason: str
    message: str
    lastTransitionTime: str | None


class Operation(TypedDict, total=False):
    operation: str | None
    lastUpdateTime: str | None


class FleetStatus(TypedDict, total=False):
    state: str | None
    lastOperation: Operation | None
    conditions: list[FleetCondition] | None


class KymaStatus(FleetStatus, total=False):
    activeChannel: str | None
    modules: list[KymaModule] | None


class LastWriter(TypedDict, total=False):
    manager: str
    time: str


class KymaMetadata(BriefMetadata, total=False):
    """The field managers show what works on a Kyma."""

    managedFields: list[LastWriter] | None


class FleetKyma(TypedDict, total=False):
    """The fields of a Kyma that a fleet row shows."""

    apiVersion: str
    kind: str
    metadata: KymaMetadata
    spec: KymaSpec
    status: KymaStatus


class ManifestSpec(TypedDict, total=False):
    version: str | None


class FleetManifest(TypedDict, total=False):
    """The fields of a Manifest that a fleet row shows, without its resources."""

    apiVersion: str
    kind: str
    metadata: BriefMetadata
    spec: ManifestSpec
    status: FleetStatus
