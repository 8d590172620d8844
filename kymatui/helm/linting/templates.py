"""helm lint on templates: renders them and checks the results."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final, NamedTuple

from msgspec import Struct

from kymatui.errors import HelmError
from kymatui.helm.charts.chart import Chart
from kymatui.helm.charts.structs import decode_yaml, struct
from kymatui.helm.charts.structs import text as text_field
from kymatui.helm.charts.values import split_documents
from kymatui.helm.govalues.text import from_bytes, to_bytes
from kymatui.helm.linting.results import Examination, Linting, LintSeverity
from kymatui.helm.rendering.capabilities import KUBE_VERSION
from kymatui.helm.rendering.manifests import name_problems
from kymatui.helm.rendering.render import render_to_lint
from kymatui.helm.semver.versions import parse_version
from kymatui.helm.yaml.errors import YamlError
from kymatui.helm.yaml.reading import load_yaml


def examine_templates(examined: Examination) -> None:
    where = "templates/"
    folder = examined.path / "templates"  # counts also where .helmignore leaves out all that is in it
    if not any(name.startswith("templates/") for name in examined.files) and not folder.is_dir():
        examined.add(LintSeverity.WARNING, where, "directory does not exist")
        return
    try:
        chart = examined.load()
        files = _render(chart, examined)
    except (HelmError, YamlError) as error:
        examined.add(LintSeverity.ERROR, where, str(error))
        return
    if files is None:
        return
    for template in chart.templates:
        if not _template(examined, template.name, files.get(f"{chart.name}/{template.name}", "")):
            return


def _render(chart: Chart, examined: Examination) -> dict[str, str] | None:
    linting = examined.linting
    return render_to_lint(
        chart,
        examined.values,
        namespace=linting.namespace,
        kube_version=linting.kube_version or KUBE_VERSION,
        check_schema=linting.check_schema,
    )


def _template(examined: Examination, name: str, text: str) -> bool:
    """Check one rendered template; return False if it is unreadable, which ends the checks as in helm."""
    ending = Path(name).suffix
    if ending not in (".yaml", ".yml", ".tpl", ".txt"):
        message = f"file extension '{ending}' not valid. Valid extensions are .yaml, .yml, .tpl, or .txt"
        examined.add(LintSeverity.ERROR, name, message)
    if ending.lower() not in (".yaml", ".yml") or not text.strip():
        return True
    first = next(line for line in text.splitlines() if line.strip())
    if first.startswith((" ", "\t")):
        message = f'document starts with an illegal indent: "{first}", which may cause parsing problems'
        examined.add(LintSeverity.WARNING, name, message)
    try:
        for document in split_documents(to_bytes(text)):
            head = decode_yaml(document, _HEAD)
            if head is not None:
                _object(examined, name, head, load_yaml(from_bytes(document)), text)
    except YamlError as error:
        examined.add(LintSeverity.ERROR, name, f"unable to parse YAML: {error}")
        return False
    return True


class _Head(NamedTuple):
    """What helm lint reads of an object."""

    api_version: str
    kind: str
    name: str


_METADATA: Final = struct(
    "rules.k8sYamlMetadata", {"Namespace": text_field, "Name": text_field}, lambda fields: fields.get("Name", "")
)
_HEAD: Final = struct(
    "rules.k8sYamlStruct",
    {"apiVersion": text_field, "Kind": text_field, "Metadata": _METADATA},
    lambda fields: _Head(fields.get("apiVersion", ""), fields.get("Kind", ""), fields.get("Metadata", "")),
)


def _object(examined: Examination, where: str, head: _Head, body: Mapping[str, Any], text: str) -> None:
    kind, name = head.kind, head.name
    problems = [f'metadata.name: Invalid value: "{name}": {problem}' for problem in name_problems(kind, name)]
    if problems:
        reason = problems[0] if len(problems) == 1 else f"[{', '.join(problems)}]"
        message = f'object name does not conform to Kubernetes naming requirements: "{name}": {reason}'
        examined.add(LintSeverity.WARNING, where, message)
    old = deprecation(head.api_version, kind, _kubernetes(examined.linting))
    if old is not None:
        examined.add(LintSeverity.WARNING, where, str(old))
    selects = "matchLabels" in text or "matchExpressions" in text
    if kind in ("Deployment", "ReplicaSet", "DaemonSet", "StatefulSet") and not selects:
        message = f'a {kind} must contain matchLabels or matchExpressions, and "{name}" does not'
        examined.add(LintSeverity.ERROR, where, message)
    if kind == "List" and any("helm.sh/resource-policy" in _annotations(item) for item in body.get("items") or ()):
        examined.add(LintSeverity.ERROR, where, "annotation 'helm.sh/resource-policy' within List objects are ignored")


def _annotations(body: object) -> Mapping[str, Any]:
    metadata = body.get("metadata") if isinstance(body, dict) else None
    values = metadata.get("annotations") if isinstance(metadata, dict) else None
    return values if isinstance(values, dict) else {}


def _kubernetes(linting: Linting) -> tuple[int, int]:
    version = parse_version(linting.kube_version or KUBE_VERSION)
    return version.major, version.minor


# Deprecated and removed Kubernetes kinds, for the warnings of API servers and `helm lint`.


# group/version, deprecated in, removed in (0.0: not yet), replacement (or -), the kinds (=successor)
_TABLE = """
admissionregistration.k8s.io/v1alpha1 1.35 1.38 - MutatingAdmissionPolicyBinding MutatingAdmissionPolicy
admissionregistration.k8s.io/v1alpha1 1.29 1.32 - ValidatingAdmissionPolicyBinding ValidatingAdmissionPolicy
admissionregistration.k8s.io/v1beta1 1.37 1.40 - MutatingAdmissionPolicyBinding MutatingAdmissionPolicy
admissionregistration.k8s.io/v1beta1 1.16 1.22 admissionregistration.k8s.io/v1 MutatingWebhookConfiguration
admissionregistration.k8s.io/v1beta1 1.16 1.22 admissionregistration.k8s.io/v1 ValidatingWebhookConfiguration
admissionregistration.k8s.io/v1beta1 1.31 1.34 - ValidatingAdmissionPolicyBinding ValidatingAdmissionPolicy
apps/v1beta1 1.8 1.16 apps/v1 ControllerRevision DeploymentRollback Deployment StatefulSet
apps/v1beta1 1.8 1.16 autoscaling/v1 Scale
apps/v1beta2 1.9 1.16 apps/v1 ControllerRevision DaemonSet Deployment ReplicaSet StatefulSet
apps/v1beta2 1.9 1.16 autoscaling/v1 Scale
authentication.k8s.io/v1alpha1 1.29 1.32 - SelfSubjectReview
authentication.k8s.io/v1beta1 1.30 1.33 - SelfSubjectReview
authentication.k8s.io/v1beta1 1.19 1.22 authentication.k8s.io/v1 TokenReview
authorization.k8s.io/v1beta1 1.19 1.22 authorization.k8s.io/v1 LocalSubjectAccessReview
authorization.k8s.io/v1beta1 1.19 1.22 authorization.k8s.io/v1 SelfSubjectAccessReview
authorization.k8s.io/v1beta1 1.19 1.22 authorization.k8s.io/v1 SelfSubjectRulesReview
authorization.k8s.io/v1beta1 1.19 1.22 authorization.k8s.io/v1 SubjectAccessReview
autoscaling/v2beta1 1.22 1.25 autoscaling/v2beta2 HorizontalPodAutoscalerList
autoscaling/v2beta1 1.22 1.25 autoscaling/v2 HorizontalPodAutoscaler
autoscaling/v2beta2 1.22 1.25 - HorizontalPodAutoscalerList
autoscaling/v2beta2 1.23 1.26 autoscaling/v2 HorizontalPodAutoscaler
batch/v1beta1 1.21 1.25 batch/v1 CronJob
certificates.k8s.io/v1alpha1 1.34 1.37 - ClusterTrustBundle
certificates.k8s.io/v1beta1 1.19 1.22 certificates.k8s.io/v1 CertificateSigningRequest
certificates.k8s.io/v1beta1 1.36 1.39 - ClusterTrustBundle
certificates.k8s.io/v1beta1 1.38 1.41 - PodCertificateRequest
coordination.k8s.io/v1alpha2 1.35 1.38 - LeaseCandidate
coordination.k8s.io/v1beta1 1.36 1.39 - LeaseCandidate
coordination.k8s.io/v1beta1 1.19 1.22 coordination.k8s.io/v1 Lease
discovery.k8s.io/v1beta1 1.21 1.25 discovery.k8s.io/v1 EndpointSlice
events.k8s.io/v1beta1 1.22 1.25 - Event
extensions/v1beta1 1.8 1.16 apps/v1 DaemonSet Deployment ReplicaSet
extensions/v1beta1 1.8 1.16 - DeploymentRollback
extensions/v1beta1 1.14 1.22 networking.k8s.io/v1 Ingress
extensions/v1beta1 1.9 1.16 networking.k8s.io/v1 NetworkPolicy
extensions/v1beta1 1.2 1.16 - Scale
flowcontrol.apiserver.k8s.io/v1beta1 1.23 1.26 flowcontrol.apiserver.k8s.io/v1beta3 FlowSchema
flowcontrol.apiserver.k8s.io/v1beta1 1.23 1.26 flowcontrol.apiserver.k8s.io/v1beta3 PriorityLevelConfiguration
flowcontrol.apiserver.k8s.io/v1beta2 1.26 1.29 flowcontrol.apiserver.k8s.io/v1beta3 FlowSchema
flowcontrol.apiserver.k8s.io/v1beta2 1.26 1.29 flowcontrol.apiserver.k8s.io/v1beta3 PriorityLevelConfiguration
flowcontrol.apiserver.k8s.io/v1beta3 1.29 1.32 flowcontrol.apiserver.k8s.io/v1 FlowSchema
flowcontrol.apiserver.k8s.io/v1beta3 1.29 1.32 flowcontrol.apiserver.k8s.io/v1 PriorityLevelConfiguration
networking.k8s.io/v1beta1 1.34 1.37 - IPAddress ServiceCIDR
networking.k8s.io/v1beta1 1.19 1.22 networking.k8s.io/v1 IngressClass Ingress
node.k8s.io/v1beta1 1.22 1.25 - RuntimeClass
policy/v1beta1 1.22 1.25 - Eviction
policy/v1beta1 1.21 1.25 policy/v1 PodDisruptionBudget
rbac.authorization.k8s.io/v1beta1 1.17 1.22 rbac.authorization.k8s.io/v1 ClusterRoleBinding
rbac.authorization.k8s.io/v1beta1 1.17 1.22 rbac.authorization.k8s.io/v1 ClusterRole
rbac.authorization.k8s.io/v1beta1 1.17 1.22 rbac.authorization.k8s.io/v1 RoleBinding
rbac.authorization.k8s.io/v1beta1 1.17 1.22 rbac.authorization.k8s.io/v1 Role
resource.k8s.io/v1alpha3 1.36 1.39 - DeviceTaintRule
resource.k8s.io/v1beta1 1.35 1.38 - DeviceClass ResourceClaimTemplate ResourceClaim ResourceSlice
resource.k8s.io/v1beta2 1.36 1.39 - DeviceClass ResourceClaimTemplate ResourceClaim ResourceSlice
scheduling.k8s.io/v1beta1 1.14 1.22 scheduling.k8s.io/v1 PriorityClass
storage.k8s.io/v1alpha1 1.21 1.24 storage.k8s.io/v1beta1 CSIStorageCapacity
storage.k8s.io/v1alpha1 1.21 1.24 storage.k8s.io/v1 VolumeAttachment
storage.k8s.io/v1alpha1 1.32 1.35 storage.k8s.io/v1 VolumeAttributesClass
storage.k8s.io/v1beta1 1.19 1.22 storage.k8s.io/v1 CSIDriver StorageClass VolumeAttachment
storage.k8s.io/v1beta1 1.17 1.22 storage.k8s.io/v1 CSINode
storage.k8s.io/v1beta1 1.24 1.27 storage.k8s.io/v1 CSIStorageCapacity
storage.k8s.io/v1beta1 1.34 1.37 storage.k8s.io/v1 VolumeAttributesClass
storagemigration.k8s.io/v1beta1 1.38 1.41 - StorageVersionMigration
v1 1.19 0.0 - ComponentStatus
v1 1.33 0.0 discovery.k8s.io/v1 Endpoints=EndpointSlice
"""


class Deprecation(Struct, frozen=True):
    """The (major, minor) of deprecation and removal; `replacement` is "group/version Kind" or ""."""

    api_version: str
    kind: str
    deprecated: tuple[int, int]
    removed: tuple[int, int]
    replacement: str

    def __str__(self) -> str:
        """Return the API server's warning."""
        text = f"{self.api_version} {self.kind} is deprecated in v{self.deprecated[0]}.{self.deprecated[1]}+"
        if self.removed[0]:
            text += f", unavailable in v{self.removed[0]}.{self.removed[1]}+"
        return f"{text}; use {self.replacement}" if self.replacement else text


@cache
def _entries() -> dict[tuple[str, str], Deprecation]:
    deprecations = {}
    for line in _TABLE.strip().split("\n"):
        api_version, deprecated, removed, replacement, *kinds = line.split()
        for api_kind in kinds:
            kind, _, successor = api_kind.partition("=")
            for end in ("", "List"):
                instead = "" if replacement == "-" else f"{replacement} {successor or kind}{end}"
                deprecations[api_version, kind + end] = Deprecation(
                    api_version, kind + end, _numbers(deprecated), _numbers(removed), instead
                )
    return deprecations


def _numbers(text: str) -> tuple[int, int]:
    major, _, minor = text.partition(".")
    return int(major), int(minor)


def deprecation(api_version: str, kind: str, version: tuple[int, int]) -> Deprecation | None:
    """Return the deprecation of a kind on Kubernetes (major, minor), None if it is not deprecated."""
    entry = _entries().get((api_version, kind))
    return entry if entry is not None and entry.deprecated <= version else None
