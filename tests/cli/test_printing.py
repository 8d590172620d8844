"""Tables: as wide as they are in a pipe, and on a terminal no wider than that is."""

from __future__ import annotations

import sys

import pytest

from kymatui.cli.output.plan_header import plan_text
from kymatui.cli.output.printing import table, wrapped
from kymatui.domain.plans.cluster_target import ClusterTarget

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


LONG = "registry.example/" + "x" * 60
SENTENCES = f"""warning: lifecycle-manager may create it again. Delete it first, then unmanage the module
  ! this role lets the module's manager read every Secret of the whole cluster, which it does not need
{LONG} is an address"""


@pytest.mark.parametrize("columns", [40, 60, 200])
def test_sentences_are_parted_between_words(columns: int, monkeypatch: pytest.MonkeyPatch) -> None:
    assert wrapped(SENTENCES) == SENTENCES
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", str(columns))
    lines = wrapped(SENTENCES).splitlines()
    assert all(len(line) <= columns or line == LONG for line in lines)
    assert [word for line in lines for word in line.split()] == SENTENCES.split()
    assert LONG in wrapped(SENTENCES)
    assert all(line.startswith("  ") for line in lines[1:] if "Secret" in line or "does not need" in line)


def test_a_plan_is_parted_between_words(monkeypatch: pytest.MonkeyPatch) -> None:
    target = ClusterTarget("kcp", "https://127.0.0.1:34085", "kyma-system", runtime="kcp-system/skr")
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "40")
    drawn = plan_text(target, "2 to change, 1 to delete, and several more words", "", "table")
    assert max(map(len, drawn.splitlines())) <= 40
    assert drawn.split() == f"{target.line} 2 to change, 1 to delete, and several more words".split()
