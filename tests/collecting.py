"""What every worker of a run would do anew when it collects, done once before they start.

A fresh checkout has neither compiled modules of tests (rewriting their assertions costs more than importing them) nor
the constants that hypothesis reads out of the sources. Both are kept on disk, but the workers of a run begin at once,
so that each would do all of it. Copies of the first process share the work.
"""

from __future__ import annotations

import gc
import importlib
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from tests.ports import is_left_out

TESTS = Path(__file__).parent


def look_first(copies: int) -> None:
    """Imports the modules of tests in that many copies of this process, each its part, unless somebody did before."""
    if sys.dont_write_bytecode or any(TESTS.glob("__pycache__/test_*-pytest-*.pyc")):
        return
    modules = [path for path in TESTS.rglob("test_*.py") if not is_left_out(path)]
    modules.sort(key=lambda path: path.stat().st_size)
    children = [_copy(modules[number::copies]) for number in range(copies)]
    for child in children:
        os.waitpid(child, 0)


def _copy(modules: Sequence[Path]) -> int:
    child = os.fork()
    if child:
        return child
    try:
        gc.disable()  # it would look at what is imported again and again, and find nothing
        for module in modules:
            importlib.import_module(".".join(module.relative_to(TESTS.parent).with_suffix("").parts))
        _anything()
    finally:
        os._exit(0)  # what is wrong with a module is told by the worker that collects it


@settings(max_examples=1, database=None, phases=[Phase.generate])
@given(st.integers())
def _anything(number: int) -> None:
    """Makes hypothesis read the constants of all that is imported."""
