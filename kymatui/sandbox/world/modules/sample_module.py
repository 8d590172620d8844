"""The description of a sample module: names, versions, packaging, behaviour."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from msgspec import Struct, field


class ModuleStyle(StrEnum):
    """The way a module is announced."""

    NEW = "new"  # ModuleReleaseMeta and `name-version` templates
    OLD = "old"  # one template per channel, with the whole descriptor
    COMMUNITY = "community"  # only templates, installed manually


class Packing(StrEnum):
    """The format of a module in the registry."""

    PLAIN = "plain"  # the raw manifest
    TAR = "tar"  # the raw manifest in a tar archive
    CHART = "chart"  # a Helm chart
    KUSTOMIZATION = "kustomization"  # a folder with a kustomization, in a tar archive


class ModuleKind(Struct, frozen=True, dict=True):
    """A kind of a module; `plural` is given, never derived."""

    group: str
    version: str
    kind: str
    plural: str

    @property
    def resource(self) -> str:
        return f"{self.plural}.{self.group}" if self.group else self.plural

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    def gvk(self) -> dict[str, str]:
        return {"group": self.group, "version": self.version, "kind": self.kind}


class StateRule(Struct, frozen=True, dict=True):
    """One rule of a customStateCheck."""

    path: str
    value: str
    state: str


class SampleModule(Struct, frozen=True, dict=True):
    """One module. `versions` are all packed versions; `channels` maps channels to versions."""

    name: str
    resource: ModuleKind
    versions: tuple[str, ...]
    channels: Mapping[str, str] = field(default_factory=dict)
    style: ModuleStyle = ModuleStyle.NEW
    packing: Packing = Packing.PLAIN
    manager: str = ""
    namespace: str = "kyma-system"
    stateful: bool = False
    user_kinds: tuple[ModuleKind, ...] = ()
    workloads: tuple[str, ...] = ()
    spec: Mapping[str, Any] = field(default_factory=dict)
    needs_secret: str = ""
    downtime: tuple[str, ...] = ()
    mandatory: bool = False
    beta: bool = False
    internal: bool = False
    broken: tuple[str, ...] = ()
    rules: tuple[StateRule, ...] = ()
    reports: Mapping[str, Any] = field(default_factory=dict)
    about: str = ""

    @property
    def component(self) -> str:
        return f"kyma-project.io/module/{self.name}"

    @property
    def manager_name(self) -> str:
        return self.manager or f"{self.name}-manager"

    @property
    def manager_kind(self) -> str:
        return "StatefulSet" if self.stateful else "Deployment"

    @property
    def resource_name(self) -> str:
        return "default"

    def image(self, version: str) -> str:
        """Return the manager's image; a broken version has an image that cannot be pulled."""
        name = f"{self.manager_name}-broken" if version in self.broken else self.manager_name
        return f"registry.sandbox.local/kyma-project/prod/{name}:{version}"

    def workload_image(self, workload: str, version: str) -> str:
        return f"registry.sandbox.local/kyma-project/prod/{workload}:{version}"
