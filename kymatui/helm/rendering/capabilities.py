"""Capabilities for charts: versions of Kubernetes and Helm, and the API versions."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, ClassVar, Final

from kymatui.errors import HelmError
from kymatui.helm.govalues.quoting import quote
from kymatui.helm.govalues.types import Function, Object, TypedList

HELM_VERSION: Final = "v4.1"
GO_VERSION: Final = "go1.26.8"
KUBE_VERSION: Final = "v1.35.0"

_GROUPS: Final = """
v1
admissionregistration.k8s.io v1 v1alpha1 v1beta1
internal.apiserver.k8s.io v1alpha1
apps v1 v1beta1 v1beta2
authentication.k8s.io v1 v1alpha1 v1beta1
authorization.k8s.io v1 v1beta1
autoscaling v1 v2 v2beta1 v2beta2
batch v1 v1beta1
certificates.k8s.io v1 v1beta1 v1alpha1
coordination.k8s.io v1alpha2 v1beta1 v1
discovery.k8s.io v1 v1beta1
events.k8s.io v1 v1beta1
extensions v1beta1
flowcontrol.apiserver.k8s.io v1 v1beta1 v1beta2 v1beta3
networking.k8s.io v1 v1beta1
node.k8s.io v1 v1alpha1 v1beta1
policy v1 v1beta1
rbac.authorization.k8s.io v1 v1beta1 v1alpha1
resource.k8s.io v1 v1beta2 v1beta1 v1alpha3
scheduling.k8s.io v1alpha1 v1beta1 v1
storage.k8s.io v1beta1 v1 v1alpha1
storagemigration.k8s.io v1beta1
apiextensions.k8s.io v1beta1 v1
"""


def _default_versions() -> tuple[str, ...]:
    versions: list[str] = []
    for line in _GROUPS.split("\n"):
        group, *names = line.split() or [""]
        versions += [f"{group}/{name}" for name in names] or ([group] if group else [])
    return tuple(versions)


DEFAULT_API_VERSIONS: Final = _default_versions()
"""What Helm v4.1 takes for known where it asks no cluster: the API of Kubernetes 1.35, in its order."""

_VERSION: Final = re.compile(r"[\t\n\f\r ]*v?([0-9]+(?:\.[0-9]+)*)[^\n]*\Z")
_LARGEST: Final = (1 << 64) - 1


def _numbers(text: str) -> list[int]:
    """Return the leading numbers of a version, as ParseGeneric of k8s.io/apimachinery."""
    match = _VERSION.match(text)
    if match is None:
        raise ValueError(f"could not parse {quote(text)} as version")
    parts = match[1].split(".")
    if len(parts) < 2:
        raise ValueError(f"illegal version string {quote(text)}")
    if parts[0].startswith("0") and parts[0] != "0":
        raise ValueError(f"illegal zero-prefixed version component {quote(parts[0])} in {quote(text)}")
    for part in parts:
        if len(part.lstrip("0")) > 20 or int(part) > _LARGEST:
            reason = f"strconv.ParseUint: parsing {quote(part)}: value out of range"
            raise ValueError(f"illegal non-numeric version component {quote(part)} in {quote(text)}: {reason}")
    return [int(part) for part in parts]


class VersionSet(TypedList):
    """.Capabilities.APIVersions: a slice of strings with the method Has."""

    __slots__ = ()
    go_methods: ClassVar[dict[str, Function]] = {
        "Has": Function("Has", ("string",), False, lambda versions, name: name in versions)
    }

    def __init__(self, items: Iterable[str]) -> None:
        super().__init__("common.VersionSet", items)

    def __reduce__(self) -> tuple[Any, ...]:
        return (type(self), (list(self),))


class _Struct(Object):
    """A struct whose fields are attributes of the same names."""

    __slots__ = ()

    def read_field(self, name: str) -> Any:
        return getattr(self, f"_{name}")


class KubeVersion(_Struct):
    """.Capabilities.KubeVersion; as text only its numbers (v1.33.4-gke.1 is v1.33.4)."""

    __slots__ = ("_Major", "_Minor", "_Version", "_normalizedVersion")
    go_type = "common.KubeVersion"
    go_fields = ("Version", "normalizedVersion", "Major", "Minor")
    go_methods: ClassVar[dict[str, Function]] = {
        "String": Function("String", (), False, str),
        "GitVersion": Function("GitVersion", (), False, lambda version: version.version),
    }

    def __init__(self, text: str) -> None:
        try:
            numbers = list(map(str, _numbers(text)))
        except ValueError as error:
            raise HelmError(f"invalid kube version '{text}': {error}") from error
        self._Version = text if text.startswith("v") else f"v{text}"
        self._normalizedVersion = "v" + ".".join(numbers)
        self._Major, self._Minor = numbers[0], numbers[1]

    def __str__(self) -> str:
        return self._normalizedVersion

    def go_address_string(self) -> str:
        return self._normalizedVersion

    def go_copy(self) -> KubeVersion:
        """Return a deep copy, which holds only the exported fields."""
        version = KubeVersion(self._Version)
        version._normalizedVersion = ""
        return version

    @property
    def version(self) -> str:
        """Return the whole version, with a leading v."""
        return self._Version


class HelmVersion(_Struct):
    """.Capabilities.HelmVersion."""

    __slots__ = ()
    go_type = "version.BuildInfo"
    go_fields = ("Version", "GitCommit", "GitTreeState", "GoVersion", "KubeClientVersion")
    _Version = HELM_VERSION
    _GitCommit = ""
    _GitTreeState = ""
    _GoVersion = GO_VERSION
    _KubeClientVersion = "v1.35"

    def go_tagged(self) -> dict[str, str]:
        return {"version": self._Version, "go_version": self._GoVersion, "kube_client_version": self._KubeClientVersion}


class Capabilities(_Struct):
    """.Capabilities: what a chart can query about the cluster."""

    __slots__ = ("_APIVersions", "_KubeVersion")
    go_type = "*common.Capabilities"
    go_kind = "ptr"
    go_fields = ("KubeVersion", "APIVersions", "HelmVersion")
    _HelmVersion = HelmVersion()

    def __init__(
        self, kube_version: str = KUBE_VERSION, api_versions: Iterable[str] = (), served: Iterable[str] | None = None
    ) -> None:
        """Add `api_versions` to the cluster's API versions (`served`), or to DEFAULT_API_VERSIONS.

        Raise HelmError for an invalid version.
        """
        self._KubeVersion = KubeVersion(kube_version)
        self._APIVersions = VersionSet([*(DEFAULT_API_VERSIONS if served is None else served), *api_versions])

    def go_copy(self) -> Capabilities:
        capabilities = Capabilities.__new__(Capabilities)
        capabilities._KubeVersion = self._KubeVersion.go_copy()
        capabilities._APIVersions = VersionSet(self._APIVersions)
        return capabilities

    @property
    def kube_version(self) -> KubeVersion:
        return self._KubeVersion
