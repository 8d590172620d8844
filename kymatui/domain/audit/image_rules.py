"""Rules about container images: named by digest, by a tag that can move, or by no valid reference."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from kymatui.domain.audit.findings import AuditFinding, AuditInput, AuditRule
from kymatui.domain.kubernetes.image_references import parse_image
from kymatui.domain.kubernetes.json_reader import JsonReader
from kymatui.domain.kubernetes.object_meta import read_ref
from kymatui.domain.kubernetes.refs import ObjectRef
from kymatui.domain.kyma.problems import Actor, Severity

TAG = AuditRule(
    "image.tag",
    "a module's image is referenced by a tag",
    Severity.INFO,
    "A tag can be moved: a pod that starts tomorrow may run another image than today.",
    "Reference the image by its digest.",
)
MUTABLE = AuditRule(
    "image.mutable",
    "a module's image has no version",
    Severity.WARNING,
    "Without a tag, or with a tag such as latest, each start may run another version.",
    "Reference the image by version and digest.",
)
INVALID = AuditRule(
    "image.invalid",
    "a module's image reference is invalid",
    Severity.ERROR,
    "No node can pull it.",
    "Fix the image reference.",
)
RULES = (TAG, MUTABLE, INVALID)
_WITH_PODS = ("Deployment", "StatefulSet", "DaemonSet", "Job", "CronJob")
_MOVING = ("latest", "main", "master", "edge", "nightly", "stable", "dev")


def check(case: AuditInput) -> Iterator[AuditFinding]:
    """Check the images of managers and of all other workloads that a module installs."""
    workloads = {read_ref(raw): raw for raw in case.snapshot.workloads}
    known = {}
    for row in case.catalog.rows:
        raw = workloads.get(row.manager) if row.manager is not None else None
        if raw is not None and row.manager is not None:
            known[row.manager] = row.name, raw
    for installation in case.inspection.installations:
        for ref in installation.refs:
            raw = case.inspection.objects.get(ref)
            if raw is not None and ref.kind.kind in _WITH_PODS:
                known.setdefault(ref, (installation.module, raw))
    for ref, (module, raw) in known.items():
        yield from _workload(module, ref, raw)


def _workload(module: str, ref: ObjectRef, raw: Mapping[str, Any]) -> Iterator[AuditFinding]:
    spec = JsonReader(raw).child("spec")
    spec = spec.child("jobTemplate").child("spec") if spec.has("jobTemplate") else spec
    pod = spec.child("template").child("spec")
    for key in ("initContainers", "containers"):
        for container in pod.children(key):
            text = container.text("image")
            path = f"spec.template.spec.{key}[{container.text('name')}].image"
            yield from _image(module, str(ref), text, path)


def _image(module: str, where: str, text: str, path: str) -> Iterator[AuditFinding]:
    image = parse_image(text)
    if image is None:
        yield AuditFinding(
            INVALID, f"{text!r} is not an image reference", module, where, path, text, actor=Actor.CATALOG
        )
    elif image.digest:
        return
    elif not image.tag or image.tag in _MOVING:
        words = f"{text} has no version"
        yield AuditFinding(MUTABLE, words, module, where, path, text, actor=Actor.CATALOG)
    else:
        yield AuditFinding(TAG, f"{text} has no digest", module, where, path, text, actor=Actor.CATALOG)
