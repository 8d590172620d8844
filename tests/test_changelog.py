"""The changelog has one line for each change, under one of four titles."""

from __future__ import annotations

from tests.documents import ROOT


def test_the_changelog_has_one_line_for_each_change() -> None:
    lines = (ROOT / "CHANGELOG.md").read_text("utf-8").splitlines()
    assert {line for line in lines if line.startswith("### ")} <= {
        "### Added",
        "### Changed",
        "### Fixed",
        "### Removed",
    }
    assert [line for line in lines[4:] if line and not line.startswith(("## ", "### ", "- "))] == []
    assert [line for line in lines if len(line) > 120 or (line.startswith("- ") and not line.endswith("."))] == []
