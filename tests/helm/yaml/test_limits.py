"""YAML from outside: bounds in nodes, depth, aliases, numbers and time, and errors without a word of the text."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest

from kymatui.errors import HelmError
from kymatui.helm.charts import archives
from kymatui.helm.charts import values as chart_values
from kymatui.helm.charts.chart import Chart
from kymatui.helm.charts.values import load_values
from kymatui.helm.yaml import reading
from kymatui.helm.yaml.errors import YamlError, YamlLimitError
from kymatui.helm.yaml.limits import (
    LARGEST_REPETITION,
    LARGEST_TEXT,
    MAX_DEPTH,
    MOST_NODES,
    MOST_TAG_DIRECTIVES,
    YamlBudget,
)
from kymatui.helm.yaml.reading import compose_yaml, documents, load_as_json, load_exactly, load_yaml
from kymatui.helm.yaml.writing import dump_yaml

Load = Callable[[Any], Any]


def stream(text: str | bytes) -> list[Any]:
    return list(documents(text, keeps_integers=True))


DOORS = (load_yaml, load_exactly, load_as_json, stream, compose_yaml)
every_door = pytest.mark.parametrize("load", DOORS, ids=lambda load: load.__name__)


def lists(number: int) -> str:
    return "x: [" + "[]," * number + "]\n"


def summary_of(load: Load, text: str) -> str:
    """Return the summary of the error, "" for a text that is read."""
    try:
        load(text)
    except YamlError as error:
        return error.summary
    return ""


def nested(depth: int, inner: str = "x") -> str:
    return "[" * depth + inner + "]" * depth


@pytest.mark.parametrize(
    "text",
    [
        lists(1000),
        "x: [" + "a," * 1000 + "]\n",
        "- \n" * 1000,
        "? \n" * 1000,
        "x: {" + "a: b," * 500 + "}\n",
        "a: &a [" + "x," * 50 + "]\nb:\n" + "- x\n" * 900 + "c: [" + "*a," * 5 + "]\n",
        "---\n" * 1002,
    ],
    ids=["lists", "scalars", "empty entries", "empty keys", "pairs", "aliases", "documents"],
)
def test_nodes_are_counted_before_they_take_memory(text: str) -> None:
    with pytest.raises(YamlError) as caught:
        list(documents(text, budget=YamlBudget(1000)))
    summary = "excessive aliasing" if "&a" in text else "it has more than 1000 values"
    assert summary in caught.value.summary


def test_each_door_counts_nodes(monkeypatch: pytest.MonkeyPatch) -> None:
    assert YamlBudget().nodes == MOST_NODES
    monkeypatch.setattr(reading, "YamlBudget", lambda: YamlBudget(1000))
    for load in DOORS:
        load(lists(997))
        with pytest.raises(YamlLimitError) as caught:
            load(lists(998))
        assert caught.value.summary == "line 1, column 2996: it has more than 1000 values"


def test_what_is_within_the_bounds_is_read() -> None:
    assert len(load_exactly(lists(100_000))["x"]) == 100_000
    assert load_exactly("a: &a [1, {b: c}]\nb: *a\n")["b"] == [1, {"b": "c"}]
    assert load_yaml(nested(MAX_DEPTH, "1e20")) != []
    assert load_yaml(f"a: &a {nested(MAX_DEPTH - 1)}\nb: *a\n")["b"] == load_yaml(nested(MAX_DEPTH - 1))


def test_several_texts_share_the_budget_of_their_source() -> None:
    budget = YamlBudget(1000)
    for _ in range(3):
        load_exactly("x: [" + "a," * 300 + "]\n", budget=budget)
    with pytest.raises(YamlLimitError, match="max count of 1000 nodes"):
        load_exactly("x: [" + "a," * 300 + "]\n", budget=budget)
    with pytest.raises(YamlLimitError):
        list(documents("- a\n- b\n", budget=budget))


def test_a_chart_has_one_budget_for_all_of_its_files(monkeypatch: pytest.MonkeyPatch) -> None:
    files = {"Chart.yaml": "apiVersion: v2\nname: a\nversion: 1.0.0\n", "values.yaml": lists(300)}
    for name in "bcd":
        about = f"apiVersion: v2\nname: {name}\nversion: 1.0.0\n"
        files |= {f"charts/{name}/Chart.yaml": about, f"charts/{name}/values.yaml": lists(300)}
    Chart.from_files(files)
    monkeypatch.setattr(archives, "YamlBudget", lambda: YamlBudget(1000))
    with pytest.raises(HelmError, match="max count of 1000 nodes"):
        Chart.from_files(files)


@every_door
@pytest.mark.parametrize(
    "text",
    [
        nested(MAX_DEPTH + 1),
        "- " * (MAX_DEPTH + 1),
        "[" * 1_000_000,
        "- " * 1_000_000,
        "? " * 1_000_000,
        "{a: " * 1_000_000,
        f"a: &a {nested(300)}\nb: {nested(300, '*a')}\n",
        "a0: &a0 [x]\n" + "".join(f"a{n}: &a{n} [*a{n - 1}]\n" for n in range(1, 600)) + "- x\n" * 0,
    ],
    ids=["lists", "entries", "open lists", "open entries", "open keys", "open maps", "by an alias", "by many aliases"],
)
def test_depth_is_bounded_also_where_aliases_make_it(load: Load, text: str) -> None:
    with pytest.raises(YamlError) as caught:
        load(text)
    assert "levels" in caught.value.summary or "aliasing" in caught.value.summary


def test_text_that_aliases_repeat_is_bounded() -> None:
    """A hundred thousand aliases of a text take no memory until the value is written as JSON."""
    times = LARGEST_REPETITION // 100_000 + 1
    with pytest.raises(YamlError, match="excessive aliasing"):
        load_yaml(f"a: &a {'x' * 100_000}\nb:\n" + "- *a\n" * times)
    with pytest.raises(YamlError, match="excessive aliasing"):
        load_yaml(f"a: &a {{ ? {'x' * 100_000} : y}}\nb:\n" + "- *a\n" * times)


def test_a_text_is_bounded_in_bytes() -> None:
    text = b"#" * (LARGEST_TEXT + 1)
    for load in DOORS:
        with pytest.raises(YamlLimitError, match="is larger than 64 MiB"):
            load(text)


@every_door
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_directives_are_bounded(load: Load, encoding: str) -> None:
    """libyaml compares each with all others: a million would take it a day, in which no other thread runs."""
    many = "".join(f"%TAG !a{number}! x\n" for number in range(MOST_TAG_DIRECTIVES + 1)) + "--- a\n"
    with pytest.raises(YamlLimitError, match=f"max count of {MOST_TAG_DIRECTIVES} %TAG directives"):
        load(many.encode(encoding))
    few = "".join(f"%TAG !a{number}! x\n" for number in range(MOST_TAG_DIRECTIVES)) + "--- a\n"
    load(few.encode(encoding))


def test_the_word_of_a_directive_is_free_within_lines() -> None:
    assert load_exactly("a: '" + "%TAG " * 1000 + "'\n") == {"a": "%TAG " * 1000}


PADDING = "# " + "\u2713" * 3_000_000 + "\n"
LONG = {  # before limits, each took minutes or gigabytes
    "base 60": "a: 1" + ":1" * 2_000_000,
    "base 60 with a fraction": "a: 1" + ":1" * 2_000_000 + ".5",
    "digits": "a: " + "7" * 5_000_000,
    "digits of a float": "a: 1." + "7" * 5_000_000,
    "exponent": "a: 1e" + "9" * 5_000_000,
    "hexadecimal digits": "a: 0x" + "f" * 5_000_000,
    "binary digits": "a: 0b" + "1" * 5_000_000,
    "underscores": "a: 1" + "_" * 5_000_000,
    "time": "a: 2001-01-01T00:00:00." + "0" * 5_000_000 + "Z",
    "tags in brackets": PADDING + "a: [" + "!!str x," * 50_000 + "]\n",
    "maps with tags": PADDING + "a: [" + "!!map {}," * 50_000 + "]\n",
    "quoted texts": PADDING + '? a\n: ["a/b",' + '"a/b",' * 50_000 + "]\n",
    "empty brackets": PADDING + "a: {" + "&x [] : x," * 50_000 + "}\n",
    "explicit keys": PADDING + "? []\n: x\n" * 50_000,
    "spaces before brackets": "? " + " " * 3_000_000 + "[]\n: x\n",
    "colons": "{" + "a:},{" * 99 + "}\n#" + "x" * 20_000_000,
    "slashes": 'a: "' + "x/" * 1_000_000 + '\\n"\nb: "\\/"\n',
    "apostrophes": 'a: "' + "\\n" * 500_000 + "\\'\"\n",
    "comments in brackets": "a: b\n[ " + "# " * 5_000 + "\nx: y\n",
    "documents": "---\n" * 100_000,
    "anchors": "".join(f"- &a{number} x\n" for number in range(100_000)),
    "merges": "a: &a {" + ",".join(f"k{number}: 1" for number in range(900)) + "}\nb:\n" + "- <<: *a\n" * 900,
    "binary": "a: !!binary " + "aaaa" * 1_000_000,
}


@pytest.mark.parametrize("name", LONG)
def test_no_text_takes_long(name: str) -> None:
    """What is quadratic runs into the time limit of the test."""
    assert len(summary_of(load_as_json, LONG[name])) < 200


def test_the_documents_of_a_values_file_are_merged_without_copies(monkeypatch: pytest.MonkeyPatch) -> None:
    """A copy for each of many documents takes quadratic time."""
    monkeypatch.delattr(chart_values, "merge_maps")
    found = load_values(b"a: {b: 1, c: {d: 1}}\nx: [1]\n---\na: {c: {e: 2}}\nx: [2]\n---\na: {b: ~}\n")
    assert found == {"a": {"b": None, "c": {"d": 1, "e": 2}}, "x": [2]}


def test_spaces_before_a_line_break_of_unicode_take_no_time_for_each() -> None:
    assert "x" in dump_yaml({"a": " " * 1_000_000 + "x\u0085y"})


SECRET = "hunter2-token"
BROKEN = [
    f"a: !!bool {SECRET}",
    f"a: !!int {SECRET}",
    f"a: !!float {SECRET}",
    f"a: !!null {SECRET}",
    f"a: !!timestamp {SECRET}",
    f"a: !!binary {SECRET}",
    f"a: *{SECRET}",
    f"a: &{SECRET} [*{SECRET}]",
    f"? [{SECRET}]\n: x",
    f"? {{{SECRET}: x}}\n: y",
    f"~: {SECRET}",
    f"18446744073709551615: {SECRET}",
    f"a: {SECRET}\n b: {SECRET}",
    f"a: '{SECRET}",
    f'a: "{SECRET}\\q"',
    f"a: [{SECRET}",
    f"{SECRET}: [1\n{SECRET}: 2",
    f"\t{SECRET}",
    f"a: @{SECRET}",
    f"%{SECRET}\n--- a",
    f"a: !{SECRET}!x y",
    f"%TAG !{SECRET}",
    f"a: !<{SECRET} x",
    f"<<: {SECRET}",
    f"<<: [{SECRET}]",
    f"a: {SECRET}\0",
    f"a: \ud800{SECRET}",
    f"{SECRET}: .inf",
    f"%YAML 1.2\n---\n{SECRET}: a",
]


@every_door
@pytest.mark.parametrize("text", BROKEN)
def test_an_error_has_a_summary_without_the_text(load: Load, text: str) -> None:
    with pytest.raises(YamlError) as caught:
        load(text)
    assert caught.value.problem
    assert "hunter2" not in caught.value.summary


def test_a_summary_has_line_and_kind_of_the_problem() -> None:
    texts = {
        "a: b\nc: !!bool x\n": "line 2, column 4: a value does not fit its tag",
        "a: b\nc: *d\n": "line 2, column 4: an alias has no anchor",
        "a: b\n? [c]\n: d\n": "line 2, column 5: a map or a list is a key",
        "a: .nan\n": "a number is not finite",
        "a: b\n\tc: d\n": "line 2, column 1: found a tab character that violates indentation",
    }
    for text, summary in texts.items():
        with pytest.raises(YamlError) as caught:
            load_yaml(text)
        assert caught.value.summary == summary
    with pytest.raises(YamlError) as caught:
        load_yaml(f"{SECRET}: 1\n{SECRET}: 2\n", strict=True)
    assert caught.value.summary == "line 2, column 16: a key is repeated"


@pytest.mark.parametrize("tag", ["!x", "!!set", "!!omap", "!!python/object/apply:os.system", "!<tag:x>"])
def test_other_tags_have_no_effect(tag: str) -> None:
    assert load_exactly(f"a: {tag} [x]\nb: {tag} y\n") == {"a": ["x"], "b": "y"}


def test_whatever_the_text_is_only_a_yaml_error_comes_out() -> None:
    chance = random.Random(31)
    pieces = [
        "a",
        ": ",
        "- ",
        "? ",
        "[",
        "]",
        "{",
        "}",
        ",",
        "\n",
        "  ",
        "&a ",
        "*a",
        "!!int ",
        "!",
        "<<",
        "#",
        "'",
        '"',
    ]
    pieces += [
        "|\n",
        ">\n",
        "%TAG ! x\n",
        "---\n",
        "...\n",
        "1:1",
        "0x1",
        "1e9",
        "\\",
        "\u0085",
        "\ufeff",
        "\ud800",
        "\0",
    ]
    for _ in range(1000):
        text = "".join(chance.choice(pieces) for _ in range(chance.randrange(1, 25)))
        for load in DOORS:
            assert len(summary_of(load, text)) < 200
