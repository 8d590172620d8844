"""Hypothesis strategies for templates: well-formed ones by the grammar, and damaged ones."""

from __future__ import annotations

from typing import Final

from hypothesis import strategies as st

from kymatui.helm.functions import FUNCTIONS

NAMES: Final = ("a", "b", "l", "m", "n", "s", "f", "mm", "missing", "x")
# What changes with the clock or takes long says nothing about the language.
_LEFT_OUT: Final = {name for name in FUNCTIONS if name.startswith(("gen", "rand", "bcrypt", "htpasswd", "derive"))}
WORDS: Final = (
    *sorted(set(FUNCTIONS) - _LEFT_OUT),
    *("and", "or", "not", "eq", "ne", "lt", "le", "gt", "ge", "len", "index", "print", "printf", "println", "html"),
    *("js", "urlquery", "call", "include", "tpl", "required", "lookup"),
)

constants = st.sampled_from(
    [
        *["0", "1", "-3", "2.5", "1e3", "0x1F", "1_000", "'c'", "1i", "true", "false", "nil", '""', '"a"', '"é☃"'],
        *["`raw`", '"%d %s"', '"%v"', '"h"', '"{{ . }}"', '"{{ .a.b }}"', '"["', '"1.2.3"', '"a: 1"', '"2006-01-02"'],
    ]
)
paths = st.builds(
    lambda start, names: start + "".join("." + name for name in names) if names else (start or "."),
    st.sampled_from(["", "$", ".Values", "$.Values", "$v"]),
    st.lists(st.sampled_from(NAMES), max_size=3),
)


def _chain(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.builds("({}){}".format, inner, st.sampled_from(["", "", "", ".a", ".b.c"]))


def _call(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.builds(lambda word, args: " ".join([word, *args]), st.sampled_from(WORDS), st.lists(inner, max_size=3))


terms = st.recursive(
    constants | paths,
    lambda inner: _chain(st.lists(_call(inner) | inner, min_size=1, max_size=2).map(" | ".join)),
    max_leaves=6,
)
pipelines = st.lists(_call(terms) | terms, min_size=1, max_size=3).map(" | ".join)
actions = st.builds(
    "{{{{{}{}{}}}}}".format, st.sampled_from(["", " ", "- "]), pipelines, st.sampled_from(["", " ", " -"])
)


def _blocks(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    body = st.lists(inner, max_size=3).map("".join)
    headed = st.builds(
        "{{{{ {} {} }}}}{}{}{{{{ end }}}}".format,
        st.sampled_from(
            ["if", "with", "range", "range $v :=", "range $i, $v :=", "with $v :=", "if $v :=", "range $v ="]
        ),
        pipelines,
        body,
        st.one_of(st.just(""), body.map("{{ else }}".__add__), body.map("{{ else if .a }}".__add__)),
    )
    defined = st.builds('{{{{ define "d" }}}}{}{{{{ end }}}}{{{{ template "d" . }}}}'.format, body)
    declared = st.builds("{{{{ $v {} {} }}}}".format, st.sampled_from([":=", "="]), pipelines)
    return st.one_of(
        headed, defined, declared, st.sampled_from(["{{ break }}", "{{ continue }}", "{{/* c */}}", " \n"])
    )


templates = st.lists(
    st.recursive(actions | st.text(max_size=5), lambda inner: _blocks(inner) | inner, max_leaves=8), max_size=5
).map(lambda parts: "{{ $v := 1 }}" + "".join(parts))


_scraps = st.sampled_from([*"{}()|.$\"`'-:=,!1x\\\n\0é", "{{", "}}", "{{ end }}", "/*", "-}}", "\udc80"])


@st.composite
def damaged(draw: st.DrawFn) -> str:
    """A template with some of its text cut, doubled or replaced."""
    text = draw(templates)
    for _ in range(draw(st.integers(1, 3))):
        start = draw(st.integers(0, len(text)))
        end = min(len(text), start + draw(st.integers(0, 4)))
        scrap = draw(_scraps)
        text = text[:start] + scrap + text[end:]
    return text
