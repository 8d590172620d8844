"""Resources during a build, with their current and previous names."""

from __future__ import annotations

import copy
import re
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final, NamedTuple

from kymatui.engine.bundles.yaml_objects import MOST_OBJECTS
from kymatui.engine.cluster.ports import Object
from kymatui.errors import SourceError
from kymatui.helm.functions.text.regexes import compiled
from kymatui.helm.govalues.types import FunctionError
from kymatui.helm.yaml.limits import YamlBudget
from kymatui.helm.yaml.node_reader import MissingValues

NOWHERE: Final = "_non_namespaceable_"
_CLUSTER_SCOPED: Final = {
    "": "ComponentStatus Namespace Node PersistentVolume",
    "admissionregistration.k8s.io": "MutatingWebhookConfiguration ValidatingWebhookConfiguration"
    " ValidatingAdmissionPolicy ValidatingAdmissionPolicyBinding",
    "apiextensions.k8s.io": "CustomResourceDefinition",
    "apiregistration.k8s.io": "APIService",
    "certificates.k8s.io": "CertificateSigningRequest",
    "flowcontrol.apiserver.k8s.io": "FlowSchema PriorityLevelConfiguration",
    "networking.k8s.io": "IngressClass",
    "node.k8s.io": "RuntimeClass",
    "policy": "PodSecurityPolicy",
    "rbac.authorization.k8s.io": "ClusterRole ClusterRoleBinding",
    "scheduling.k8s.io": "PriorityClass",
    "storage.k8s.io": "CSIDriver CSINode StorageClass VolumeAttachment",
}
_SCOPED: Final = frozenset((group, kind) for group, kinds in _CLUSTER_SCOPED.items() for kind in kinds.split())
_V1_ONLY: Final = frozenset(["ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"])
_FLOWS: Final = "flowcontrol.apiserver.k8s.io"


class Gvk(NamedTuple):
    """A kind; in a selector, an empty part matches everything."""

    group: str = ""
    version: str = ""
    kind: str = ""

    def selects(self, other: Gvk) -> bool:
        return all(not expected or expected == actual for expected, actual in zip(self, other, strict=True))

    @property
    def is_cluster_scoped(self) -> bool:
        """Return whether kustomize knows it as cluster-scoped; it only knows the kinds of Kubernetes 1.21."""
        if (self.group, self.kind) not in _SCOPED:
            return False
        if self.group == _FLOWS or self.kind == "PodSecurityPolicy":
            return self.version == "v1beta1"
        return self.version == "v1" or (self.version == "v1beta1" and self.group != "" and self.kind not in _V1_ONLY)


class ResId(NamedTuple):
    """A current or previous name of an object."""

    kind: Gvk
    name: str
    namespace: str

    @property
    def effective_namespace(self) -> str:
        if self.kind.is_cluster_scoped:
            return NOWHERE
        return self.namespace or "default"

    @property
    def key(self) -> tuple[Gvk, str, str]:
        """Return the key that must be unique among objects."""
        return self.kind, self.name, self.effective_namespace

    def equals(self, other: ResId) -> bool:
        return self.key == other.key

    def __str__(self) -> str:
        return f"{self.kind.kind} {self.namespace}/{self.name}" if self.namespace else f"{self.kind.kind} {self.name}"


class KustomizeResource:
    """An object with its name history.

    previous  previous names, oldest first
    prefixes, suffixes  added to its name, oldest first
    hashed    its name gets a hash of the content at the end
    behavior  of a generated object: "create", "replace", "merge"
    variables  names of the variables whose values are fields of it
    """

    def __init__(self, body: Object, *, behavior: str = "", hashed: bool = False) -> None:
        self.body = body
        self.previous: list[ResId] = []
        self.prefixes: list[str] = []
        self.suffixes: list[str] = []
        self.hashed = hashed
        self.behavior = behavior
        self.variables: list[str] = []

    @property
    def kind(self) -> Gvk:
        group, slash, version = str(self.body.get("apiVersion", "")).partition("/")
        return Gvk(group if slash else "", version if slash else group, str(self.body.get("kind", "")))

    @property
    def metadata(self) -> dict[str, Any]:
        metadata = self.body.get("metadata")
        if not isinstance(metadata, dict):
            metadata = self.body["metadata"] = {}
        return metadata

    @property
    def name(self) -> str:
        return str(self.metadata.get("name") or "")

    @property
    def namespace(self) -> str:
        return str(self.metadata.get("namespace") or "")

    @property
    def current(self) -> ResId:
        return ResId(self.kind, self.name, self.namespace)

    @property
    def original(self) -> ResId:
        return self.ids[0]

    @property
    def ids(self) -> list[ResId]:
        """Return all names, oldest first, with the current group and version."""
        kind = self.kind
        return [
            ResId(Gvk(kind.group, kind.version, previous_id.kind.kind), previous_id.name, previous_id.namespace)
            for previous_id in self.previous
        ] + [self.current]

    def remember(self) -> None:
        """Record the current name before a change."""
        now = self.current
        self.previous.append(ResId(now.kind, now.name, now.effective_namespace))

    def texts(self, field: str) -> dict[str, str]:
        """Return labels or annotations."""
        values = self.metadata.get(field)
        return values if isinstance(values, dict) else {}

    def duplicate(self) -> KustomizeResource:
        resource = KustomizeResource(copy.deepcopy(self.body), behavior=self.behavior, hashed=self.hashed)
        resource.previous, resource.prefixes, resource.suffixes = self.previous[:], self.prefixes[:], self.suffixes[:]
        resource.variables = self.variables[:]
        return resource

    def has_same_affixes(self, other: KustomizeResource, *, or_none: bool) -> bool:
        """Return whether both have the same prefixes and suffixes, as far as both have any."""
        pairs = ((self.prefixes, other.prefixes), (self.suffixes, other.suffixes))
        return all((or_none and not (first and second)) or _end_alike(first, second) for first, second in pairs)


def _end_alike(affixes: list[str], two: list[str]) -> bool:
    length = min(len(affixes), len(two))
    if length == 0:
        return len(affixes) == len(two)
    return affixes[-length:] == two[-length:]


class ResMap:
    """Resources in order, with unique names."""

    def __init__(self, limits: BuildLimits, resources: Iterable[KustomizeResource] = ()) -> None:
        self.limits = limits
        self._all: list[KustomizeResource] = []
        self.extend(resources)

    def __iter__(self) -> Iterator[KustomizeResource]:
        return iter(list(self._each()))

    def _each(self) -> list[KustomizeResource]:
        self.limits.require_time()
        return self._all

    def append(self, resource: KustomizeResource) -> None:
        """Add a resource. Raises SourceError for a duplicate name."""
        self.extend([resource])

    def extend(self, others: Iterable[KustomizeResource]) -> None:
        """Add resources. Raises SourceError for a duplicate name or too many objects."""
        known = {resource.current.key for resource in self._each()}
        for other in others:
            if other.current.key in known:
                raise SourceError(f"{other.current} appears twice")
            known.add(other.current.key)
            self._all.append(other)
            if len(self._all) > MOST_OBJECTS:
                raise SourceError(f"the kustomization has more than {MOST_OBJECTS} objects")

    def check_names(self) -> None:
        """Raise SourceError if two resources have the same name."""
        known: set[tuple[Gvk, str, str]] = set()
        for resource in self._all:
            if resource.current.key in known:
                raise SourceError(f"{resource.current} appears twice")
            known.add(resource.current.key)

    def replace(self, old: KustomizeResource, new: KustomizeResource) -> None:
        self._all[self._all.index(old)] = new

    def remove(self, resource: KustomizeResource) -> None:
        self._all.remove(resource)

    def by_any_id(self, matches: Callable[[ResId], bool]) -> list[KustomizeResource]:
        return [resource for resource in self._each() if any(map(matches, resource.ids))]

    def target(self, res_id: ResId) -> KustomizeResource:
        """Return the only resource with this current or previous name. Raises SourceError."""
        matching = self.by_any_id(res_id.equals)
        if len(matching) != 1:
            count = "several objects match" if matching else "no object matches"
            raise SourceError(f"{count} the patch for {res_id}")
        return matching[0]

    def select(self, selector: PatchSelector) -> list[KustomizeResource]:
        return [resource for resource in self._each() if selector.matches(resource)]


class PatchSelector:
    """The target of a patch: patterns for kind, name and namespace, selectors for labels and annotations."""

    def __init__(self, kind: Gvk, name: str, namespace: str, labels: str, annotations: str) -> None:
        self._kind = [_anchored(part) for part in kind]
        self._name, self._namespace = _anchored(name), _anchored(namespace)
        self._labels, self._annotations = parse_requirements(labels), parse_requirements(annotations)
        self.has_texts = bool(self._labels or self._annotations)
        self.has_id = any((*kind, name, namespace))

    def matches(self, resource: KustomizeResource) -> bool:
        now, before = resource.current, resource.original
        return (
            self._either(self._namespace, before.effective_namespace, now.effective_namespace)
            and self._either(self._name, before.name, now.name)
            and self.matches_kind(resource.kind)
            and self.matches_texts(resource)
        )

    def matches_id(self, res_id: ResId) -> bool:
        return (
            self.matches_kind(res_id.kind)
            and self._either(self._name, res_id.name)
            and self._either(self._namespace, res_id.namespace)
        )

    def matches_kind(self, kind: Gvk) -> bool:
        return all(self._either(pattern, part) for pattern, part in zip(self._kind, kind, strict=True))

    def matches_texts(self, resource: KustomizeResource) -> bool:
        labels, annotations = resource.texts("labels"), resource.texts("annotations")
        return all(holds(labels) for holds in self._labels) and all(holds(annotations) for holds in self._annotations)

    @staticmethod
    def _either(pattern: Pattern | None, *texts: str) -> bool:
        return pattern is None or any(map(pattern, texts))


Pattern = Callable[[str], bool]
Requirement = Callable[[dict[str, str]], bool]


def _anchored(pattern: str) -> Pattern | None:
    if not pattern:
        return None
    try:
        regex = compiled(f"^(?:{pattern})$")
    except FunctionError as error:
        raise SourceError(f"{pattern!r} is not a valid pattern: {error}") from error
    return lambda text: regex.search(text.encode()) is not None


_SET: Final = re.compile(r"\s*([^\s!=,()]+)\s+(in|notin)\s*\(([^()]*)\)\s*(?:,|\Z)")
_EQUAL: Final = re.compile(r"\s*([^\s!=,()]+)\s*(==|=|!=)\s*([^\s!=,()]*)\s*(?:,|\Z)")
_EXISTS: Final = re.compile(r"\s*(!?)\s*([^\s!=,()]+)\s*(?:,|\Z)")


def parse_requirements(text: str) -> list[Requirement]:
    """Parse a kubectl selector ("a=b,c!=d,e in (f,g),!h"). Raises SourceError."""
    requirements: list[Requirement] = []
    at = 0
    while at < len(text):
        if match := _SET.match(text, at):
            values = [part.strip() for part in match[3].split(",")]
            requirements.append(_in(match[1], values, match[2] == "in"))
        elif match := _EQUAL.match(text, at):
            requirements.append(_in(match[1], [match[3]], match[2] != "!="))
        elif match := _EXISTS.match(text, at):
            requirements.append(_there(match[2], not match[1]))
        else:
            raise SourceError(f"{text!r} is not a selector", hint="use the syntax of kubectl -l: a=b,c in (d,e)")
        at = match.end()
    return requirements


def _in(key: str, values: list[str], expected: bool) -> Requirement:
    return lambda texts: (key in texts and texts[key] in values) is expected


def _there(key: str, expected: bool) -> Requirement:
    return lambda texts: (key in texts) is expected


MOST_ENTERED: Final = 1_000  # kustomizations of one build: each could name several others
MOST_SECONDS: Final = 60.0
"""Processor time of a build: each transformer passes over all objects. 500 objects and 50 transformers take one."""


class BuildLimits:
    """What a build may still enter, read, copy and take; what includes or copies itself would grow without end."""

    def __init__(self) -> None:
        self.entered = 0
        self.budget = YamlBudget()
        self.missing = MissingValues()
        self._end = time.thread_time() + MOST_SECONDS

    def enter(self) -> None:
        """Count a kustomization. Raises SourceError."""
        self.entered += 1
        if self.entered > MOST_ENTERED:
            raise SourceError(f"there are more than {MOST_ENTERED} kustomizations")

    def require_time(self) -> None:
        """Raise SourceError if the build has used up its time."""
        if time.thread_time() > self._end:
            raise SourceError(f"the kustomization takes longer than {MOST_SECONDS:.0f} seconds to build")
