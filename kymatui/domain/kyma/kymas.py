"""The Kyma resource: requested modules and channels, and lifecycle-manager's report of each module."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from enum import StrEnum
from functools import cached_property
from typing import Any, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from kymatui.domain.kubernetes.json_reader import Flaw, JsonReader
from kymatui.domain.kubernetes.object_meta import (
    LABEL_BETA,
    LABEL_INTERNAL,
    Condition,
    MalformedObject,
    ObjectMeta,
    WithRaw,
    read_conditions,
    read_meta,
    read_ref,
    unusable,
)
from kymatui.domain.kubernetes.refs import GroupVersionKind, ObjectRef
from kymatui.domain.kyma.states import State

DEFAULT_CHANNEL = "regular"
OWN_CHANNEL = "default"
"""The word of the command line for the Kyma's own channel."""
NO_CHANNEL = "none"
SKIP_WINDOWS = "skipMaintenanceWindows"
KYMA_NAMESPACE = "kyma-system"
KYMA_NAME = "default"


class Policy(StrEnum):
    """The policies for a module's default CR."""

    CREATE_AND_DELETE = "CreateAndDelete"
    IGNORE = "Ignore"


class TrackedObject(Struct, frozen=True):
    """An object that a module's status refers to."""

    ref: ObjectRef
    generation: int


class ModuleRequest(Struct, frozen=True):
    """An entry of `spec.modules`; an empty `channel` means the Kyma's, an empty `policy` an unknown one."""

    name: str
    channel: str
    version: str
    policy: str
    managed: bool

    @property
    def is_reported(self) -> bool:
        """Return whether only a control plane's status names it."""
        return not self.policy


class ModuleReport(Struct, frozen=True):
    """An entry of `status.modules`."""

    name: str
    component: str
    channel: str
    version: str
    message: str
    state: str
    maintenance: bool
    manifest: TrackedObject | None
    template: TrackedObject | None
    resource: TrackedObject | None


Entry = TypeVar("Entry", ModuleRequest, ModuleReport)


def first_by_name(entries: Iterable[Entry]) -> Mapping[str, Entry]:
    """Return the first entry of each name: users may list many modules."""
    entries_by_name: dict[str, Entry] = {}
    for entry in entries:
        entries_by_name.setdefault(entry.name, entry)
    return entries_by_name


class Kyma(WithRaw, Struct, frozen=True, dict=True):
    """A Kyma of any served version; `raw` is the whole object, including fields that are not read here."""

    meta: ObjectMeta
    channel: str
    skip_maintenance_windows: bool
    modules: tuple[ModuleRequest, ...]
    state: str
    active_channel: str
    conditions: tuple[Condition, ...]
    reports: tuple[ModuleReport, ...]
    operation: str
    flaws: tuple[Flaw, ...]
    raw: Mapping[str, Any]

    @property
    def beta(self) -> bool:
        """Return whether beta modules are allowed."""
        return self.meta.label_is_true(LABEL_BETA)

    @property
    def internal(self) -> bool:
        """Return whether internal modules are allowed."""
        return self.meta.label_is_true(LABEL_INTERNAL)

    def request(self, module: str) -> ModuleRequest | None:
        """Return the first spec entry of a module; lifecycle-manager ignores the others."""
        return self._requests.get(module)

    def report(self, module: str) -> ModuleReport | None:
        """Return the first status entry of a module."""
        return self._reports.get(module)

    @cached_property
    def _requests(self) -> Mapping[str, ModuleRequest]:
        return first_by_name(self.modules)

    @cached_property
    def _reports(self) -> Mapping[str, ModuleReport]:
        return first_by_name(self.reports)


def _tracking(reader: JsonReader, key: str) -> TrackedObject | None:
    if not reader.has(key):
        return None
    entry = reader.child(key)
    meta = entry.child("metadata")
    kind = GroupVersionKind.of(entry.text("apiVersion"), entry.text("kind"))
    return TrackedObject(ObjectRef(kind, meta.text("namespace"), meta.text("name")), meta.integer("generation"))


def read_request(entry: JsonReader) -> ModuleRequest:
    """Read an entry of `spec.modules`; absent fields have the CRD's defaults."""
    return ModuleRequest(
        name=entry.text("name"),
        channel=entry.text("channel"),
        version=entry.text("version"),
        policy=entry.text("customResourcePolicy", Policy.CREATE_AND_DELETE),
        managed=entry.flag("managed", True),
    )


def _report(entry: JsonReader) -> ModuleReport:
    return ModuleReport(
        name=entry.text("name"),
        component=entry.text("ocmComponentName") or entry.text("fqdn"),
        channel=entry.text("channel"),
        version=entry.text("version"),
        message=entry.text("message"),
        state=entry.text("state"),
        maintenance=entry.flag("maintenance"),
        manifest=_tracking(entry, "manifest"),
        template=_tracking(entry, "template"),
        resource=_tracking(entry, "resource"),
    )


def as_requested(kyma: Kyma, deleted: Container[str] = ()) -> Kyma:
    """Return a control plane's Kyma with the channel and the modules that its runtime requests.

    lifecycle-manager creates the runtime's Kyma from the spec and never reads that again: the status has what is
    requested since, without policies. The spec counts until a channel is active, and where it is the runtime's own.
    `deleted` modules have a Manifest in deletion.
    """
    if kyma.meta.namespace == KYMA_NAMESPACE:
        return kyma
    reported = tuple(
        ModuleRequest(report.name, report.channel, "", "", report.state != State.UNMANAGED)
        for report in kyma.reports
        if report.state != State.DELETING and report.name not in deleted
    )
    if kyma.active_channel:
        return replace(kyma, channel=kyma.active_channel, modules=reported)
    return replace(kyma, modules=(*kyma.modules, *(entry for entry in reported if kyma.request(entry.name) is None)))


def read_kyma(raw: object) -> Kyma | MalformedObject:
    """Read a Kyma of v1alpha1, v1beta1 or v1beta2; the fields read here are the same in all three."""
    reader = JsonReader(raw)
    meta = read_meta(reader)
    if reason := unusable(raw, meta.name):
        return MalformedObject(read_ref(raw), reason, raw)
    spec, status = reader.child("spec"), reader.child("status")
    return Kyma(
        meta=meta,
        channel=spec.text("channel"),
        skip_maintenance_windows=spec.flag(SKIP_WINDOWS),
        modules=tuple(entry for entry in map(read_request, spec.children("modules")) if entry.name),
        state=status.text("state"),
        active_channel=status.text("activeChannel"),
        conditions=read_conditions(status),
        reports=tuple(entry for entry in map(_report, status.children("modules")) if entry.name),
        operation=status.child("lastOperation").text("operation"),
        flaws=tuple(reader.flaws),
        raw=reader.raw,
    )
