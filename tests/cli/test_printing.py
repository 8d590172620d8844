"""Tables: as wide as they are in a pipe, and on a terminal no wider than that is."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest
from msgspec.structs import replace

from kymatui.cli.options.editing import confirm, confirm_by_typing
from kymatui.cli.output.deletion import deletion_text
from kymatui.cli.output.plan_changes import plan_text
from kymatui.cli.output.printing import paragraph, table, wrapped
from kymatui.cli.output.terminal import visible
from kymatui.domain.plans.cluster_target import ClusterTarget
from kymatui.engine.deletion.deletion_state import DeletionState, ManagedBy
from kymatui.engine.inventory.managed_resources import ManagedObjects

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


class Person(io.StringIO):
    """A terminal with answers to read."""

    def isatty(self) -> bool:
        return True


def asking(monkeypatch: pytest.MonkeyPatch) -> Person:
    """Answer y on a terminal of 60 columns; return what standard error displays."""
    shown = Person()
    monkeypatch.setenv("COLUMNS", "60")
    monkeypatch.setattr(sys, "stdin", Person("y\n"))
    monkeypatch.setattr(sys, "stderr", shown)
    return shown


FAR = ClusterTarget(
    "kcp-prod", "api.skr.example.com", "kyma-system", runtime="kcp-system/skr", control="kcp.example.com"
)


@pytest.mark.parametrize("target", [ClusterTarget("prod-eu", "api.prod-eu.example.com", "kyma-system"), FAR])
def test_every_question_starts_with_the_line_of_its_plan(
    target: ClusterTarget, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = asking(monkeypatch)
    confirm(target, "Delete nats", "3 objects, backup saved", yes=False)
    shown = asked.getvalue()
    assert max(map(len, shown.splitlines())) <= 60
    assert shown.split() == [
        *target.line.split(),
        *target.question("Delete nats", "3 objects, backup saved").split(),
        "[y/N]",
    ]
    assert shown.endswith("[y/N] "), "the answer follows on the same line"
    sentence = target.question("Delete nats").split()[0]
    assert f"\n{sentence}" in shown, "the question starts a line of its own"


def test_a_text_of_a_server_is_no_markdown() -> None:
    link, shown = "[click](https://evil.example/)", "\\[click\\](https://evil.example/)"
    state = DeletionState(
        *("prod", "keda", ManagedBy.KYMA),
        remaining=ManagedObjects((), ((link, link),)),
        foreseen=(link,),
        control=link,
        requested=True,
    )
    for seen in (state, replace(state, refusal=link)):
        text = deletion_text(seen, "md", cascade=False)
        assert link not in text
        assert text.count(shown) >= 2
        assert link in deletion_text(seen, "table", cascade=False)
    assert paragraph(f"warning: {link}", "md") == f"warning: {shown}"


def test_the_question_for_a_name_starts_with_the_same_line(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = asking(monkeypatch)
    assert confirm_by_typing(FAR, "Remove a/b from Widget x", "x", "--typed x") == "y"
    assert " ".join(asked.getvalue().split()).startswith(f"{FAR.line} Remove a/b from Widget x in runtime")
    assert asked.getvalue().endswith("Type x to confirm: ")


def test_plans_and_questions_have_the_accent_of_the_context(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = asking(monkeypatch)
    (tmp_path / "config.toml").write_text('[contexts."kcp-*"]\naccent = "red"\n')
    monkeypatch.setenv("KYMATUI_CONFIG", str(tmp_path / "config.toml"))
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    confirm(FAR, "Delete nats", yes=False)
    assert asked.getvalue().startswith("\x1b[97;41mCluster: ")
    assert "\x1b" not in asked.getvalue().splitlines()[-1]
    assert visible(plan_text(FAR, "1 to delete", "", "table"), has_colours=True).startswith("\x1b[97;41mCluster: ")
    assert "\x1b" not in plan_text(FAR, "1 to delete", "", "md")
    assert "\x1b" not in plan_text(ClusterTarget("dev"), "1 to delete", "", "table")
    monkeypatch.setenv("NO_COLOR", "1")
    asked = asking(monkeypatch)
    confirm(FAR, "Delete nats", yes=False)
    assert "\x1b" not in asked.getvalue()
