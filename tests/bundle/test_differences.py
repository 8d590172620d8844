"""The list of differences from the real tools: each with a reason, and only where those may differ."""

from __future__ import annotations

import json
import tarfile
from pathlib import Path

import pytest

from tests.bundle.differences import known_differences, main, unexpected


def test_each_difference_is_of_a_recorded_case_that_may_differ(shared: Path) -> None:
    archive = shared / "bundle" / "given.tar.gz"
    if not archive.exists():
        pytest.skip("the recorded cases are not here")
    wanted = {f"given/{name}/case.json": name for name in known_differences()}
    with tarfile.open(archive) as opened:
        classes = {
            wanted[member.name]: json.load(opened.extractfile(member))["class"]  # type: ignore[arg-type]
            for member in opened
            if member.name in wanted
        }
    assert classes == dict.fromkeys(known_differences(), "may")


def test_each_difference_has_a_reason() -> None:
    assert [name for name, reason in known_differences().items() if len(reason.split()) < 5] == []


def test_a_difference_without_a_reason_and_a_reason_without_a_difference_are_found(tmp_path: Path) -> None:
    def result(case: str, *, ok: bool, cls: str = "may") -> dict[str, object]:
        return {"family": "create", "case": case, "cls": cls, "ok": ok, "diffs": ["x"]}

    known = {"create/listed": "a reason"}
    good = [result("listed", ok=False), result("other", ok=True), result("must", ok=False, cls="must")]
    assert unexpected(good, known) == []
    assert len(unexpected([result("new", ok=False), result("listed", ok=True)], known)) == 2
    path = tmp_path / "results.json"
    for results, status in ((good[1:], 0), ([result("new", ok=False)], 1)):
        path.write_text(json.dumps({"results": results}))
        assert main(str(path)) == status
