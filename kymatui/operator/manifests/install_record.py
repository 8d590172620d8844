"""The record of a Manifest's installs, stored on the Manifest, so that it needs no sources."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple

from kymatui.domain.kyma.manifests import Manifest
from kymatui.engine.bundles.bundle import Bundle
from kymatui.json_input import read_json

ANNOTATION: Final = "kymatui.io/installs"


class InstallRecord(NamedTuple):
    """One name in one namespace of the target cluster; `install` is the Manifest's name for it."""

    install: str
    name: str
    namespace: str


def read_record(manifest: Manifest) -> tuple[InstallRecord, ...]:
    """Return the record of a Manifest, empty if unreadable."""
    try:
        found = read_json(manifest.meta.annotations.get(ANNOTATION, "[]"))
        return tuple(InstallRecord(*map(str, entry)) for entry in found)
    except (ValueError, TypeError):
        return ()


def record_text(entries: Iterable[InstallRecord]) -> str:
    return json.dumps([list(entry) for entry in entries], separators=(",", ":"))


def merge_records(old: Iterable[InstallRecord], new: Iterable[InstallRecord]) -> tuple[InstallRecord, ...]:
    """Return both records without duplicates; an entry stays until its objects are deleted."""
    return tuple(dict.fromkeys((*old, *new)))


def record_patch(entries: Iterable[InstallRecord]) -> Mapping[str, Any]:
    """Return a merge patch that stores the record."""
    return {"metadata": {"annotations": {ANNOTATION: record_text(entries)}}}


def unique_name(manifest: Manifest, bundle: Bundle) -> str:
    """Return the name of an install in its cluster.

    A chart keeps its release name. Other installs are all called "raw-manifest" in their Manifests and so get the
    Manifest's name.
    """
    if bundle.release is not None:
        return bundle.name
    return manifest.meta.name if len(manifest.installs) == 1 else f"{manifest.meta.name}-{bundle.name}"
