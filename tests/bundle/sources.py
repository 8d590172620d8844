"""The sources of a small module: config, manifest, default CR and a git repository whose commit is always the same."""

from __future__ import annotations

import hashlib
import zlib
from pathlib import Path
from typing import Any

import yaml

NAME = "kyma-project.io/module/sample"
VERSION = "1.0.0"
IMAGE = "registry.example.com/prod/sample-manager:1.0.0"
CONFIG: dict[str, Any] = {
    "name": NAME,
    "version": VERSION,
    "manifest": "manifest.yaml",
    "repository": "https://git.example.com/acme/sample",
    "team": "kyma/blue",
    "documentation": "https://docs.example.com/sample/README.md",
    "icons": [{"name": "module-icon", "link": "https://docs.example.com/sample/logo.png"}],
}
CR = {
    "apiVersion": "things.example.com/v1alpha1",
    "kind": "Thing",
    "metadata": {"name": "default", "namespace": "kyma-system"},
    "spec": {"size": 1},
}


def workload(
    image: str = IMAGE, *, kind: str = "Deployment", name: str = "sample-manager", **more: Any
) -> dict[str, Any]:
    container = {"name": "manager", "image": image, **more}
    template = {"metadata": {"labels": {"app": name}}, "spec": {"containers": [container]}}
    spec = {"selector": {"matchLabels": {"app": name}}, "template": template}
    return {
        "apiVersion": "apps/v1",
        "kind": kind,
        "metadata": {"name": name, "namespace": "sample-system"},
        "spec": spec,
    }


def crd(scope: str = "Namespaced", group: str = "things.example.com", **schema: Any) -> dict[str, Any]:
    root = {"type": "object", "properties": {"spec": {"type": "object", **schema}}}
    version = {"name": "v1alpha1", "served": True, "storage": True, "schema": {"openAPIV3Schema": root}}
    names = {"kind": "Thing", "listKind": "ThingList", "plural": "things", "singular": "thing"}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"things.{group}"},
        "spec": {"group": group, "scope": scope, "names": names, "versions": [version]},
    }


def write_sources(
    folder: Path, *objects: dict[str, Any], default_cr: dict[str, Any] | None = None, **config: Any
) -> Path:
    """Write the sources of a module to a folder; return the path of its config. A value of None leaves a field out."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "manifest.yaml").write_text(yaml.safe_dump_all(objects or [workload()], sort_keys=False))
    found = {**CONFIG, **config}
    if default_cr is not None:
        (folder / "default-cr.yaml").write_text(yaml.safe_dump(default_cr, sort_keys=False))
        found = {"defaultCR": "default-cr.yaml", **found}
    path = folder / "module-config.yaml"
    path.write_text(yaml.safe_dump({key: value for key, value in found.items() if value is not None}, sort_keys=False))
    commit(folder)
    return path


def commit(folder: Path, time: int = 1_700_000_000) -> str:
    """Write a git repository with one commit, as loose objects; return its hash."""
    git = folder / ".git"
    for name in ("objects", "refs/heads"):
        (git / name).mkdir(parents=True, exist_ok=True)
    tree = _object(git, b"tree", b"")
    who = f"A B <a@example.com> {time} +0100"
    found = _object(git, b"commit", f"tree {tree}\nauthor {who}\ncommitter {who}\n\nfirst\n".encode())
    (git / "HEAD").write_text("ref: refs/heads/main\n")
    (git / "refs/heads/main").write_text(f"{found}\n")
    return found


def _object(git: Path, kind: bytes, content: bytes) -> str:
    raw = b"%s %d\0" % (kind, len(content)) + content
    found = hashlib.sha1(raw).hexdigest()
    path = git / "objects" / found[:2] / found[2:]
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(zlib.compress(raw))
    return found
