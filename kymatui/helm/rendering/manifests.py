"""Rendered output split into documents, manifests and hooks in Helm's installation order."""

from __future__ import annotations

import hashlib
import itertools
import posixpath
import re
import threading
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple, TypeVar

from kymatui.errors import HelmError
from kymatui.helm.charts.structs import decode_yaml, string_map, struct, text
from kymatui.helm.charts.warnings import Warnings
from kymatui.helm.govalues.budget import charge
from kymatui.helm.govalues.text import to_bytes
from kymatui.helm.yaml.errors import YamlError
from kymatui.patterns import deferred

INSTALL_ORDER: Final = (
    "PriorityClass",
    "Namespace",
    "NetworkPolicy",
    "ResourceQuota",
    "LimitRange",
    "PodSecurityPolicy",
    "PodDisruptionBudget",
    "ServiceAccount",
    "Secret",
    "SecretList",
    "ConfigMap",
    "StorageClass",
    "PersistentVolume",
    "PersistentVolumeClaim",
    "CustomResourceDefinition",
    "ClusterRole",
    "ClusterRoleList",
    "ClusterRoleBinding",
    "ClusterRoleBindingList",
    "Role",
    "RoleList",
    "RoleBinding",
    "RoleBindingList",
    "Service",
    "DaemonSet",
    "Pod",
    "ReplicationController",
    "ReplicaSet",
    "Deployment",
    "HorizontalPodAutoscaler",
    "StatefulSet",
    "Job",
    "CronJob",
    "IngressClass",
    "Ingress",
    "APIService",
    "MutatingWebhookConfiguration",
    "ValidatingWebhookConfiguration",
)
"""Kinds as Helm installs them; all others come after these, by the names of their kinds."""

UNINSTALL_ORDER: Final = (
    "ValidatingWebhookConfiguration",
    "MutatingWebhookConfiguration",
    "APIService",
    "Ingress",
    "IngressClass",
    "Service",
    "CronJob",
    "Job",
    "StatefulSet",
    "HorizontalPodAutoscaler",
    "Deployment",
    "ReplicaSet",
    "ReplicationController",
    "Pod",
    "DaemonSet",
    "RoleBindingList",
    "RoleBinding",
    "RoleList",
    "Role",
    "ClusterRoleBindingList",
    "ClusterRoleBinding",
    "ClusterRoleList",
    "ClusterRole",
    "CustomResourceDefinition",
    "PersistentVolumeClaim",
    "PersistentVolume",
    "StorageClass",
    "ConfigMap",
    "SecretList",
    "Secret",
    "ServiceAccount",
    "PodDisruptionBudget",
    "PodSecurityPolicy",
    "LimitRange",
    "ResourceQuota",
    "NetworkPolicy",
    "Namespace",
    "PriorityClass",
)
"""Kinds as Helm removes them."""

HOOK_EVENTS: Final = {
    "pre-install": "pre-install",
    "post-install": "post-install",
    "pre-delete": "pre-delete",
    "post-delete": "post-delete",
    "pre-upgrade": "pre-upgrade",
    "post-upgrade": "post-upgrade",
    "pre-rollback": "pre-rollback",
    "post-rollback": "post-rollback",
    "test": "test",
    "test-success": "test",
}
"""Events by what charts write."""

GO_SPACE: Final = "\t\n\v\f\r \x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000" + "".join(map(chr, range(0x2000, 0x200B)))
_SPACE: Final = "\t\n\f\r "
_SPACES: Final = deferred("[\t\n\f\r ]*")
_WHOLE: Final = deferred(r"[+-]?[0-9]{1,19}\Z", re.ASCII)


DOCUMENT: Final = 500
"""Bytes that a document takes, beside its text."""
LONGEST_REMEMBERED: Final = 4_000
"""Characters of names and annotations of one head: all of those that are remembered take 32 MB at most."""


class ManifestError(HelmError):
    """Template output that is no manifest; `path` is the template."""

    def __init__(self, path: str, problem: str) -> None:
        super().__init__(
            f"YAML parse error on {path}: {problem}", hint="`kymatui helm template --debug` prints what is rendered."
        )
        self.path = path


class Head(NamedTuple):
    """The fields of a manifest that Helm reads."""

    api_version: str = ""
    kind: str = ""
    name: str = ""
    annotations: Mapping[str, str] | None = None


class RenderedManifest(NamedTuple):
    """A document to install: its template, kind ("" if missing) and text."""

    path: str
    kind: str
    content: str
    head: Head


class Hook(NamedTuple):
    """A document that Helm runs at release events ("pre-install", …), by weight, kind, name.

    `delete_policies` are "before-hook-creation", "hook-succeeded", "hook-failed", or other words of the chart.
    """

    name: str
    kind: str
    path: str
    content: str
    events: tuple[str, ...]
    weight: int
    delete_policies: tuple[str, ...]
    output_log_policies: tuple[str, ...] = ()


Kinded = TypeVar("Kinded", RenderedManifest, Hook)


def sort_manifests(
    files: Mapping[str, str], warnings: Warnings | None = None
) -> tuple[list[RenderedManifest], list[Hook]]:
    """Return manifests and hooks of rendered {path: text} in installation order. Raise ManifestError."""
    manifests: list[RenderedManifest] = []
    hooks: list[Hook] = []
    for path in sorted(files, key=to_bytes):
        if posixpath.basename(path).startswith("_") or not files[path].strip(GO_SPACE):
            continue
        for document in split_manifests(files[path]):
            head = _head(path, document)
            if not head.annotations or "helm.sh/hook" not in head.annotations:
                manifests.append(RenderedManifest(path, head.kind, document, head))
            elif (hook := _hook(path, document, head, head.annotations)) is not None:
                hooks.append(hook)
            elif warnings is not None:
                events = head.annotations["helm.sh/hook"]
                warnings.add(f"{head.kind} {head.name} of {path} is left out: its hook {events[:60]} is unknown")
    return sort_by_kind(manifests), sort_by_kind(hooks)


def split_manifests(content: str) -> list[str]:
    """Return the documents of a file without empty ones, stripped (Helm's SplitManifests)."""
    rest = content.strip(GO_SPACE)
    documents: list[str] = []
    at = _after(rest, 3) if rest.startswith("---") else 0
    while (position := rest.find("\n---", at)) >= 0:
        charge(DOCUMENT)
        documents.append(rest[at:position].rstrip(_SPACE))
        at = _after(rest, position + 4)
    documents.append(rest[at:])
    return [document.strip(GO_SPACE) for document in documents if document]


def _after(content: str, at: int) -> int:
    match = _SPACES.match(content, at)
    return match.end() if match else at


def sort_by_kind(items: list[Kinded]) -> list[Kinded]:
    """Sort items by kind; items of one kind keep their order."""
    ranks = {kind: rank for rank, kind in enumerate(INSTALL_ORDER)}
    return sorted(items, key=lambda item: (ranks.get(item.kind, len(ranks)), "" if item.kind in ranks else item.kind))


def sort_hooks(hooks: list[Hook], event: str) -> list[Hook]:
    """Return the hooks of an event in Helm's order of execution: by weight, then kind, then name."""
    chosen = sort_by_kind([hook for hook in hooks if event in hook.events])
    return sorted(chosen, key=lambda hook: (hook.weight, hook.name))


def _hook(path: str, document: str, head: Head, annotations: Mapping[str, str]) -> Hook | None:
    """Return the hook, None for an unknown event, which Helm skips."""
    events = tuple(HOOK_EVENTS.get(word, "") for word in _annotation_values(annotations, "helm.sh/hook"))
    if "" in events:
        return None
    weight = annotations.get("helm.sh/hook-weight", "")
    return Hook(
        head.name,
        head.kind,
        path,
        document,
        events,
        int(weight) if _WHOLE.match(weight) else 0,
        _annotation_values(annotations, "helm.sh/hook-delete-policy"),
        _annotation_values(annotations, "helm.sh/hook-output-log-policy"),
    )


def _annotation_values(annotations: Mapping[str, str], name: str) -> tuple[str, ...]:
    if name not in annotations:
        return ()
    return tuple(word.strip(GO_SPACE).lower() for word in annotations[name].split(","))


_METADATA = struct(
    'struct { Name string "json:\\"name\\""; Annotations map[string]string "json:\\"annotations\\"" }',
    {"name": text, "annotations": string_map},
    dict,
)


def _make_head(fields: dict[str, Any]) -> Head:
    metadata = fields.get("metadata", {})
    return Head(
        fields.get("apiVersion", ""), fields.get("kind", ""), metadata.get("name", ""), metadata.get("annotations")
    )


_HEAD = struct("util.SimpleHead", {"apiVersion": text, "kind": text, "metadata": _METADATA}, _make_head)


class _HeadCache:
    """Heads of documents by digest, since repeated renderings produce mostly the same documents."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._lock = threading.Lock()
        self._heads: OrderedDict[bytes, Head | str] = OrderedDict()

    def read(self, document: str) -> Head | str:
        """Return the head, or the error of the document."""
        data = to_bytes(document)
        key = hashlib.blake2b(data, digest_size=20).digest()
        with self._lock:
            head = self._heads.get(key)
            if head is not None:
                self._heads.move_to_end(key)
                return head
        try:
            head = decode_yaml(data, _HEAD) or Head()
        except YamlError as error:
            head = str(error)
        if _length(head) > LONGEST_REMEMBERED:
            return head
        with self._lock:
            self._heads[key] = head
            if len(self._heads) > self._size:
                self._heads.popitem(last=False)
        return head


def _length(head: Head | str) -> int:
    if isinstance(head, str):
        return len(head)
    return len(head.api_version + head.kind + head.name) + sum(
        map(len, itertools.chain(*(head.annotations or {}).items()))
    )


_HEADS: Final = _HeadCache(8192)


def _head(path: str, document: str) -> Head:
    head = _HEADS.read(document)
    if isinstance(head, str):
        raise ManifestError(path, head)
    return head


# Name rules: of Kubernetes objects by kind (apimachinery's validation), and of releases.


_SUBDOMAIN = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*"
_LABEL = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SERVICE = r"[a-z]([-a-z0-9]*[a-z0-9])?"
_ENDS = "and must start and end with an alphanumeric character"


RELEASE_PATTERN: Final = rf"^{_SUBDOMAIN}$"
LONGEST_RELEASE: Final = 53


def check_release_name(name: str) -> None:
    """Raise HelmError for an invalid release name."""
    if len(name) > LONGEST_RELEASE or not re.fullmatch(_SUBDOMAIN, name):
        raise HelmError(
            f'release name check failed: release name "{name}": invalid release name, must match regex'
            f" {RELEASE_PATTERN} and the length must not be longer than {LONGEST_RELEASE}",
            hint="Use lowercase letters, digits, - and ., and start and end with a letter or digit.",
        )


def name_problems(kind: str, name: str) -> Iterator[str]:
    """Yield Kubernetes' messages for a name, by the kind's rule."""
    match kind.lower():
        case "certificatesigningrequest":
            return
        case "role" | "clusterrole" | "rolebinding" | "clusterrolebinding":
            yield from (f"may not be '{name}'" for _ in range(name in (".", "..")))
            yield from (f"may not contain '{sign}'" for sign in "/%" if sign in name)
        case "service":
            yield from _pattern(
                name,
                _SERVICE,
                63,
                "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic"
                " character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123'",
            )
        case "namespace":
            words = f"a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', {_ENDS}"
            yield from _pattern(name, _LABEL, 63, f"{words} (e.g. 'my-name',  or '123-abc'")
        case _:
            words = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.',"
            yield from _pattern(name, _SUBDOMAIN, 253, f"{words} {_ENDS} (e.g. 'example.com'")


def _pattern(name: str, pattern: str, longest: int, words: str) -> Iterator[str]:
    if len(name.encode()) > longest:
        yield f"must be no more than {longest} characters"
    if pattern == _LABEL and "." in name and re.fullmatch(_SUBDOMAIN, name):
        yield "must not contain dots"
    elif not re.fullmatch(pattern, name):
        yield f"{words}, regex used for validation is '{pattern}')"
