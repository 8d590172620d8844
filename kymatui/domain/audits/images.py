"""Images of managers: by a digest, or by a tag that may name something else tomorrow."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from kymatui.domain.audits.findings import Case, Finding, Rule
from kymatui.domain.images import parse_image
from kymatui.domain.objects import read_ref
from kymatui.domain.problems import Actor, Severity
from kymatui.domain.reading import Reader
from kymatui.domain.rows import Row

TAG = Rule(
    "image.tag",
    "a manager's image is named by a tag",
    Severity.INFO,
    "A tag can be moved: a pod that starts tomorrow may run something else than one that started today.",
    "Name the image by its digest.",
)
MUTABLE = Rule(
    "image.mutable",
    "a manager's image has no version",
    Severity.WARNING,
    "Without a tag, or with one such as latest, every start may bring another version.",
    "Name the image by its version and its digest.",
)
INVALID = Rule(
    "image.invalid",
    "a manager's image is no reference",
    Severity.ERROR,
    "No node can pull it.",
    "Mend the reference.",
)
RULES = (TAG, MUTABLE, INVALID)
_MOVING = ("latest", "main", "master", "edge", "nightly", "stable", "dev")


def check(case: Case) -> Iterator[Finding]:
    workloads = {read_ref(raw): raw for raw in case.snapshot.workloads}
    for row in case.catalog.rows:
        raw = workloads.get(row.manager) if row.manager is not None else None
        if raw is not None:
            yield from _manager(row, raw)


def _manager(row: Row, raw: Mapping[str, Any]) -> Iterator[Finding]:
    pod = Reader(raw).child("spec").child("template").child("spec")
    for key in ("initContainers", "containers"):
        for container in pod.children(key):
            text = container.text("image")
            path = f"spec.template.spec.{key}[{container.text('name')}].image"
            yield from _image(row, text, path)


def _image(row: Row, text: str, path: str) -> Iterator[Finding]:
    image, where = parse_image(text), str(row.manager)
    if image is None:
        yield Finding(INVALID, f"{text!r} is no image reference", row.name, where, path, text, actor=Actor.CATALOG)
    elif image.digest:
        return
    elif not image.tag or image.tag in _MOVING:
        words = f"{text} names no version"
        yield Finding(MUTABLE, words, row.name, where, path, text, actor=Actor.CATALOG)
    else:
        yield Finding(TAG, f"{text} has no digest", row.name, where, path, text, actor=Actor.CATALOG)
