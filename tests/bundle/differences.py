"""Compare the results of check.py with the known differences: `python -m tests.bundle.differences RESULTS.json`.

Exit status 1 if a case of class "may" differs that differences.toml does not name, or one that it names agrees.
"""

from __future__ import annotations

import json
import sys
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

FILE: Final = Path(__file__).with_name("differences.toml")


def known_differences() -> dict[str, str]:
    """Return the reason of each difference by `family/case`."""
    found = tomllib.loads(FILE.read_text("utf-8"))
    return {f"{family}/{case}": reason for family, cases in found.items() for case, reason in cases.items()}


def unexpected(results: Iterable[Mapping[str, Any]], known: Mapping[str, str]) -> list[str]:
    """Return a line for each case that differs without a reason, or agrees in spite of one."""
    lines = []
    for one in results:
        name = f"{one['family']}/{one['case']}"
        if one["cls"] != "may" or one["family"] == "reproducible":
            continue
        if not one["ok"] and name not in known:
            lines.append(f"{name} differs without a reason: {'; '.join(one['diffs'])[:200]}")
        if one["ok"] and name in known:
            lines.append(f"{name} agrees; remove its reason: {known[name]}")
    return lines


def main(path: str) -> int:
    lines = unexpected(json.loads(Path(path).read_text())["results"], known_differences())
    print("\n".join(lines) or "every difference has a reason")
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
