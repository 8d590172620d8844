"""The types of data classes are resolved under a lock before threads read values into them."""

from __future__ import annotations

import ast
import subprocess
import sys

import pytest

from tests import structure

_RACE = """
import sys, threading
import msgspec
from kymatui.adapters.kube.objects import decoder

item = {"metadata": {"name": "a", "ownerReferences": [{"name": "x"}], "managedFields": [{"manager": "m"}]}}
sys.setswitchinterval(1e-6)
for _ in range(400):
    decoder._envelope.cache_clear()
    begin = threading.Barrier(4)
    def check():
        begin.wait()
        msgspec.convert(item, decoder._envelope())
    threads = [threading.Thread(target=check) for _ in range(4)]
    for thread in threads: thread.start()
    for thread in threads: thread.join()
"""
_READERS = ("convert", "decode")
_BUILT_IN = {"Any", "dict", "list", "str"}


def test_threads_that_check_the_first_objects_at_once_do_not_end_the_process() -> None:
    done = subprocess.run([sys.executable, "-c", _RACE], capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stderr


def test_every_type_that_values_are_read_into_is_resolved() -> None:
    unresolved = [f"{module.path}:{node.lineno}" for module in structure.modules() for node in _unresolved(module.tree)]
    assert unresolved == []


@pytest.mark.parametrize(
    ("code", "count"),
    [
        ("msgspec.convert(value, Plan)", 1),
        ("msgspec.json.decode(line, type=Entry)", 1),
        ("msgspec.convert(value, resolved_type(Plan))", 0),
        ("msgspec.json.decode(line, type=dict[str, Any])", 0),
        ("msgspec.json.decode(line)", 0),
    ],
)
def test_the_search_finds_types_that_are_not_resolved(code: str, count: int) -> None:
    assert len(_unresolved(ast.parse(code))) == count


def _unresolved(tree: ast.AST) -> list[ast.Call]:
    return [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in _READERS
        and ast.unparse(node.func).startswith("msgspec.")
        and any(not _is_resolved(given) for given in _types(node))
    ]


def _types(call: ast.Call) -> list[ast.expr]:
    return call.args[1:2] + [keyword.value for keyword in call.keywords if keyword.arg == "type"]


def _is_resolved(given: ast.expr) -> bool:
    if isinstance(given, ast.Call):
        return ast.unparse(given.func) in ("resolved_type", "_envelope")
    return {name.id for name in ast.walk(given) if isinstance(name, ast.Name)} <= _BUILT_IN
