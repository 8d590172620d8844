"""Variables, blocks and loops within each other, deep enough to be compiled into functions of their own."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helm.language.rendering import render


def nested(opening: str, inner: str, depth: int) -> str:
    return opening * depth + inner + "{{ end }}" * depth


@pytest.mark.parametrize("depth", [1, 11, 12, 13, 24, 25, 40])
def test_an_assignment_in_a_deep_block_reaches_the_variable_outside(depth: int) -> None:
    text = "{{ $x := 1 }}" + nested("{{ if true }}", "{{ $x = 2 }}{{ $y := 3 }}{{ $y }}", depth) + "{{ $x }}"
    assert render(text) == "32"


@pytest.mark.parametrize("depth", [1, 12, 13, 25, 40])
def test_break_in_a_deep_block_leaves_the_loop_around_it(depth: int) -> None:
    inner = nested("{{ if true }}", "{{ if eq . 2 }}{{ break }}{{ end }}", depth)
    assert render("{{ range 5 }}{{ . }}" + inner + "{{ end }}!") == "012!"


@pytest.mark.parametrize("depth", [1, 12, 13, 25, 40])
def test_continue_in_a_deep_block_takes_the_next_turn(depth: int) -> None:
    inner = nested("{{ with 1 }}", "{{ continue }}", depth)
    assert render("{{ range $i := 3 }}{{ $i }}" + inner + "x{{ end }}!") == "012!"


@pytest.mark.parametrize("depth", [12, 25, 40])
def test_loops_within_loops_keep_their_own_elements(depth: int) -> None:
    inner = nested("{{ range 1 }}", "{{ . }}", depth)
    assert render("{{ range $v := .Values.l }}" + inner + "{{ $v }}{{ end }}") == "0a0b0c"


def test_errors_in_a_deep_block_name_their_place() -> None:
    text = nested("{{ if true }}", "\n{{ .Values.s.x }}", 30)
    with pytest.raises(Exception, match=r"c/templates/t.txt:2:10\n  executing .* at <\.Values\.s\.x>"):
        render(text)


@given(st.lists(st.sampled_from(["set", "shadow", "read"]), max_size=8), st.integers(1, 30))
def test_scope_is_lexical(steps: list[str], depth: int) -> None:
    """A block sees and changes what is around it; what it declares ends with it."""
    outer, written, text = 0, "", ""
    shadow: int | None = None
    for number, step in enumerate(steps, 1):
        if step == "set":
            text += f"{{{{ $x = {number} }}}}"
            if shadow is None:
                outer = number
            else:
                shadow = number
        elif step == "shadow":
            text += f"{{{{ $x := {number} }}}}"
            shadow = number
        else:
            text += "{{ $x }},"
            written += f"{outer if shadow is None else shadow},"
    assert render("{{ $x := 0 }}" + nested("{{ if true }}", text, depth) + "{{ $x }}") == written + str(outer)
