"""`kubectl kymatui …`: the plugin `kubectl-kymatui`, and its completion `kubectl_complete-kymatui`.

kubectl runs the first for every command line that begins with its name, and the second with the words typed so far and
the one under the cursor; it reads candidates, one a line, and cobra's directive behind a colon on the last line.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Final

from kymatui.cli.main import main as run_kymatui
from kymatui.cli.output.printing import PLUGIN, PROGRAM
from kymatui.cli.shell_completion import FILES, candidates, complete

_FILES: Final = 0  # directives of cobra's completion: the shell completes files
_NO_SPACE, _NO_FILES = 2, 4  # directives of cobra's completion


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command line of the plugin and return its exit status."""
    before, PROGRAM.name = PROGRAM.name, PLUGIN
    try:
        return run_kymatui(argv)
    finally:
        PROGRAM.name = before


def print_completion(argv: Sequence[str] | None = None) -> int:
    """Print what can stand in the place of the last word, for kubectl."""
    *before, last = [*(sys.argv[1:] if argv is None else argv)] or [""]
    return complete(lambda: _lines(before, last))


def _lines(before: Sequence[str], last: str) -> list[str]:
    matches = candidates(before, last)
    if matches == [FILES]:
        return [f":{_FILES}"]
    return [*matches, f":{_NO_FILES | (_NO_SPACE if len(matches) == 1 and matches[0].endswith('=') else 0)}"]
