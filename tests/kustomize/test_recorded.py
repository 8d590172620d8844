"""What kustomize v5 built of kustomizations, object by object: the same comes out here.

`recorded.json.gz` holds cases by name: files, and the objects that `kustomize build` printed for the folder `top`
(null where it refused). Those called `patch-…` are drawn at random, the others are made for what they are called.
"""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from kymatui.errors import SourceError
from kymatui.kustomize.model.file_tree import ArchiveTree, FolderTree, KustomizationFolder
from kymatui.kustomize.transformers.build import build

RECORDED = Path(__file__).with_name("recorded.json.gz")


def cases() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(gzip.decompress(RECORDED.read_bytes()))
    return found


def contents(case: dict[str, Any]) -> dict[str, bytes]:
    binary = case["binary"]
    return {name: text.encode("latin-1" if name in binary else "utf-8") for name, text in case["files"].items()}


CASES = cases()
NAMED = [case for case in CASES if not case["name"].startswith("patch-")]


@pytest.mark.parametrize("case", NAMED, ids=lambda case: case["name"])
def test_the_same_is_built(case: dict[str, Any]) -> None:
    place = KustomizationFolder(ArchiveTree(contents(case), "archive"), "/top")
    if case["objects"] is None:
        with pytest.raises(SourceError):
            build(place)
    else:
        assert list(build(place).objects) == case["objects"]


def test_patches_of_any_shape_merge_the_same() -> None:
    for case in CASES:
        if case["name"].startswith("patch-"):
            built = list(build(KustomizationFolder(ArchiveTree(contents(case), "archive"), "/top")).objects)
            assert built == case["objects"], case["name"]


def test_a_folder_is_built_as_an_archive_is(tmp_path: Path) -> None:
    case = next(case for case in CASES if case["name"] == "base-overlay")
    for name, data in contents(case).items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(data)
    assert list(build(KustomizationFolder(FolderTree(), str(tmp_path / "top"))).objects) == case["objects"]
