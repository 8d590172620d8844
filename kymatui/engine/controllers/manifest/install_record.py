"""What a Manifest has installed under which names: kept on the Manifest, so that it is found without its sources."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple

from kymatui.domain.kyma.manifests import Manifest
from kymatui.engine.bundles.bundle import Bundle

ANNOTATION: Final = "kymatui.io/installs"


class InstallRecord(NamedTuple):
    """One name in one namespace of the target cluster; `install` is what the Manifest calls it."""

    install: str
    name: str
    namespace: str


def read_record(manifest: Manifest) -> tuple[InstallRecord, ...]:
    """What stands on the Manifest; nothing where that cannot be read."""
    try:
        found = json.loads(manifest.meta.annotations.get(ANNOTATION, "[]"))
        return tuple(InstallRecord(*map(str, entry)) for entry in found)
    except (ValueError, TypeError):
        return ()


def record_text(entries: Iterable[InstallRecord]) -> str:
    return json.dumps([list(entry) for entry in entries], separators=(",", ":"))


def merge_records(old: Iterable[InstallRecord], new: Iterable[InstallRecord]) -> tuple[InstallRecord, ...]:
    """Both, each once: nothing that may be installed is forgotten before it is gone."""
    return tuple(dict.fromkeys((*old, *new)))


def record_patch(entries: Iterable[InstallRecord]) -> Mapping[str, Any]:
    """A merge patch that makes the Manifest say so."""
    return {"metadata": {"annotations": {ANNOTATION: record_text(entries)}}}


def unique_name(manifest: Manifest, bundle: Bundle) -> str:
    """The name of an install in its cluster. Charts keep theirs, which is that of the release; what else Manifests
    call "raw-manifest", each of them, is named after the Manifest."""
    if bundle.release is not None:
        return bundle.name
    return manifest.meta.name if len(manifest.installs) == 1 else f"{manifest.meta.name}-{bundle.name}"
