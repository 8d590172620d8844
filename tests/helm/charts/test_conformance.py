"""Whole trees and real charts against what Helm v4.1.4 made of them (the reference data beside the checkout)."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kymatui.helm import Chart, HelmError, Rendered, load_chart, merge_values, render
from kymatui.helm.charts.archives import read_archive

FLAGS = {"-set": "set", "-set-string": "set_string", "-set-json": "set_json", "-set-literal": "set_literal"}


def cases(shared: Path) -> Iterator[dict[str, Any]]:
    with gzip.open(shared / "helm" / "tree-cases.jsonl.gz", "rt", encoding="utf-8") as lines:
        for line in lines:
            yield json.loads(line)


def flags(args: list[str]) -> tuple[dict[str, Any], bool]:
    """The keywords of merge_values, and whether it is an upgrade."""
    waiting, sets, upgrade = list(args), {name: list[str]() for name in FLAGS.values()}, False
    while waiting:
        flag = waiting.pop(0)
        if flag == "-is-upgrade":
            upgrade = True
        else:
            sets[FLAGS[flag]].append(waiting.pop(0))
    return sets, upgrade


def outcome(case: dict[str, Any], folder: Path) -> dict[str, Any]:
    """What we make of a case, in the words of the reference data."""
    sets, upgrade = flags(case["args"])
    values_file = folder / "values.yaml"
    values_file.write_text(json.dumps(case.get("values") or {}))
    try:
        if "chart" not in case:
            return {"values": merge_values(**sets)}
        values = merge_values([values_file], **sets)
        return described(
            render(
                Chart.from_files(case["chart"]), values, release_name="rel", namespace="ns", is_upgrade=upgrade,
                kube_version="v1.33.0", include_crds=True,
            )
        )  # fmt: skip
    except HelmError as error:
        return {"error": str(error).strip()}


def described(found: Rendered) -> dict[str, Any]:
    return {
        "files": found.files,
        "manifests": [(one.path, one.kind, one.content) for one in found.manifests],
        "hooks": [
            (one.name, one.kind, one.path, list(one.events), one.weight, list(one.delete_policies))
            for one in found.hooks
        ],
        "notes": found.notes,
        "crds": [(one.path, one.content) for one in found.crds],
    }


def expected(case: dict[str, Any], files: str) -> dict[str, Any]:
    if case.get("error"):
        return {"error": case["error"].strip()}
    return {
        "files": case.get(files) or {},
        "manifests": [(one["path"], one["kind"], one["content"]) for one in case["manifests"] or []],
        "hooks": [
            (one["name"], one["kind"], one["path"], one["events"] or [], one["weight"], one["delete"] or [])
            for one in case["hooks"] or []
        ],
        "notes": case.get("notes") or "",
        "crds": [(one["path"], one["content"]) for one in case.get("crds") or []],
    }


def test_trees_and_lines_of_set(shared: Path, tmp_path: Path) -> None:
    failed = []
    for case in cases(shared):
        wanted = (
            {"values": case["values"]} if "chart" not in case and not case.get("error") else expected(case, "rendered")
        )
        if outcome(case, tmp_path) != wanted:
            failed.append(case["id"])
    assert failed == []


@pytest.mark.parametrize("part", range(4))
def test_real_charts(shared: Path, part: int) -> None:
    """A quarter of the charts, in four parts that may run at the same time; CI has a script that goes through all."""
    failed = []
    for golden_file in sorted((shared / "helm" / "golden").glob("*.json.gz"))[part::16]:
        golden = json.loads(gzip.decompress(golden_file.read_bytes()))
        archive = shared / "helm" / golden["chart"]
        case = golden["cases"][0]
        if case["values_file"] or case.get("error"):
            continue
        found = render(
            load_chart(archive), {}, release_name=golden["release"], namespace=golden["namespace"],
            kube_version=golden["kube_version"], include_crds=golden["include_crds"],
        )  # fmt: skip
        if described(found) != expected(case, "files"):
            failed.append(golden["chart"])
        assert read_archive(archive.read_bytes())
    assert failed == []
