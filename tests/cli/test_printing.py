"""Tables: as wide as they are in a pipe, and on a terminal no wider than that is."""

from __future__ import annotations

import sys

import pytest

from kymatui.cli.output.printing import table

HEADS = ("ACTION", "OBJECT", "WHAT")
ROWS = (
    ("change", "Deployment shop/web", "spec.template.spec.containers[manager].env[MODULE_VERSION].value: 1 → 2"),
    ("create", "CustomResourceDefinition registryproxies.registry-proxy.kyma-project.io", "-"),
)


@pytest.mark.parametrize("columns", [60, 80, 200])
def test_a_table_fits_the_terminal_and_loses_nothing(columns: int, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = table(HEADS, ROWS)
    assert len(whole.splitlines()) == 3
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", str(columns))
    drawn = table(HEADS, ROWS)
    assert max(map(len, drawn.splitlines())) <= max(columns, 81)
    assert sorted("".join(drawn.split())) == sorted("".join(whole.split()))
    assert (drawn == whole) == (columns == 200)


def test_columns_that_can_be_spared_are_left_out_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "20")
    monkeypatch.setenv("NO_COLOR", "1")
    assert table(("NAME", "SOURCE", "STATE"), [("keda", "community", "Ready")], spare=("SOURCE",)) == (
        "NAME   STATE\nkeda   Ready"
    )
