"""The table of families is complete, and asking for one function does not import the others."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module

import pytest

from kymatui.helm.functions import FAMILIES, FUNCTIONS


@pytest.mark.parametrize("family", FAMILIES)
def test_a_family_has_the_functions_that_the_table_says(family: str) -> None:
    functions = import_module(f"kymatui.helm.functions.{family}").FUNCTIONS
    assert set(functions) == set(FAMILIES[family].split())
    assert all(FUNCTIONS[name] is functions[name] and functions[name].name == name for name in functions)


def test_no_name_stands_in_two_families() -> None:
    names = [name for family in FAMILIES.values() for name in family.split()]
    assert len(names) == len(set(names)) == len(FUNCTIONS) == len(list(FUNCTIONS))


def test_one_function_imports_one_family() -> None:
    program = (
        "import sys; from kymatui.helm.functions import FUNCTIONS; FUNCTIONS['trim'], FUNCTIONS['genCA'];"
        "print('kymatui.helm.functions.dates' in sys.modules, 'cryptography' in sys.modules,"
        " 'trim' in FUNCTIONS, 'nope' in FUNCTIONS)"
    )
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert run.stdout.split() == ["False", "False", "True", "False"]
