"""Plan files, which another person may have written: each is read within limits, or refused with a message."""

from __future__ import annotations

from pathlib import Path

import pytest

from kymatui.adapters.files import plan_files
from kymatui.adapters.files.plan_files import read_plan, save_plan
from kymatui.domain.inventories import Origin
from kymatui.engine.bundles.bundle import Bundle
from kymatui.engine.plans.plan import PLAN_SCHEMA, Intent, Plan
from kymatui.errors import ConfigurationError
from kymatui.helm.yaml.limits import YamlBudget

SECRET = "hunter2-token"
LAUGH = "a0: &a0 [x]\n" + "".join(f"a{n}: &a{n} [{','.join([f'*a{n - 1}'] * 10)}]\n" for n in range(1, 12))
YAML = [
    LAUGH,
    f"a: !!bool {SECRET}",
    "a: !!int ''",
    f"a: !!timestamp {SECRET}",
    f"a: *{SECRET}",
    f"? [{SECRET}]\n: x",
    f"a: '{SECRET}",
    "a: 1" + ":1" * 300_000,
    "[" * 300_000,
    "- " * 300_000,
    f"schema: {SECRET * 1000}\n",
    "schema: [[[]]]\n",
    f"schema: {PLAN_SCHEMA}\nplan: {'[' * 450}{']' * 450}\n",
    f"schema: {PLAN_SCHEMA}\nplan: {{steps: {SECRET}}}\n",
    f"schema: {PLAN_SCHEMA}\n",
    "",
    "- a\n",
    "%TAG ! x\n" * 1000 + "--- a",
]
JSON = [
    "",
    SECRET,
    "[" * 300_000,
    f'{{"a": "{SECRET}',
    f'{{"schema": "{PLAN_SCHEMA}", "plan": {"[" * 150}{"]" * 150}}}',
    f'{{"schema": "{PLAN_SCHEMA}", "plan": {{"steps": {"[" * 250}{"]" * 250}}}}}',
    f'{{"schema": "{PLAN_SCHEMA}", "plan": 1e999}}',
    f'{{"schema": {"7" * 5000}}}',
    f'"{SECRET}"',
    "null",
]


@pytest.mark.parametrize(("text", "name"), [(text, "a.yaml") for text in YAML] + [(text, "a.json") for text in JSON])
def test_what_is_no_plan_is_refused_with_a_short_message(tmp_path: Path, text: str, name: str) -> None:
    file = tmp_path / name
    file.write_text(text)
    with pytest.raises(ConfigurationError, match="plan") as caught:
        read_plan(file)
    assert len(str(caught.value)) < 300
    assert SECRET not in str(caught.value) or "schema is" in str(caught.value)


def test_values_of_a_plan_are_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan_files, "YamlBudget", lambda most: YamlBudget(most // 2000))
    (tmp_path / "a.yaml").write_text("a: [" + "[]," * 1000 + "]\n")
    with pytest.raises(ConfigurationError, match="more than 1000 values"):
        read_plan(tmp_path / "a.yaml")
    (tmp_path / "a.json").write_text("[" + "[]," * 2_000_000 + "[]]")
    with pytest.raises(ConfigurationError, match="more than 2000000 values"):
        read_plan(tmp_path / "a.json")


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"none\.json cannot be read: No such file"):
        read_plan(tmp_path / "none.json")


WORDS = ["y", "no", "1e3", "0o7", "12:30", "2026-01-01", "~", "=", "<<", "", "a: b", "&a", "\u2713", "9" * 40, "0x1F"]


def plan() -> Plan:
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {word: word for word in WORDS}}
    bundle = Bundle("a", "default", Origin("raw", "inline"), objects=({**body, "x": [1, 2**60, 1.5, None, True]},))
    return Plan("cluster", Intent(bundle), (), True, 1.0)


@pytest.mark.parametrize("name", ["a.yaml", "a.json"])
def test_a_saved_plan_is_read_as_the_same_plan(tmp_path: Path, name: str) -> None:
    save_plan(tmp_path / name, plan())
    assert read_plan(tmp_path / name) == plan()


def test_a_plan_that_could_not_be_read_again_is_not_saved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan_files, "LARGEST_TEXT", 10)
    with pytest.raises(ConfigurationError, match="the plan has more than"):
        save_plan(tmp_path / "a.json", plan())
    assert not list(tmp_path.iterdir())
