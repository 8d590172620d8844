"""Hypothesis strategies for what charts are made of: YAML texts, values, trees of files, archives, lines of --set."""

from __future__ import annotations

import gzip
import io
import json
import tarfile
from typing import Any, Final

from hypothesis import strategies as st

from tests.helm.language.grammar import damaged, templates

WORDS: Final = ("a", "b", "c", "web", "db", "lib", "global", "enabled", "tags", "x.y", "exports", "", "é", "0", "null")
VERSIONS: Final = (
    "1.0.0",
    "2.0.0",
    ">=1.0.0",
    "^1",
    "~1.2",
    "*",
    "1.x || >2",
    "",
    "v1",
    "1.0.0-rc.1",
    "nonsense",
    "> <",
)
PATHS: Final = ("a", "a.b", "a.enabled,b.enabled", "db.enabled", "global.x", ".", "", "a..b", ",", "a.b.c.d.e")

words = st.sampled_from(WORDS) | st.text(max_size=4)
scalars = (
    st.none()
    | st.booleans()
    | st.integers(-(2**65), 2**65)
    | st.floats(allow_nan=False, allow_infinity=False)
    | words
    | st.sampled_from(["{{ .Values.a }}", "1e400", "0x1F", "2001-01-01", "~", "<<", "=", "y", "!!int x", "\x85", "\t"])
)
json_values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(words, inner, max_size=4), max_leaves=12
)
values = st.dictionaries(words, json_values, max_size=5)

_yaml_scraps = st.sampled_from(
    [
        *[
            "a",
            "b: ",
            "- ",
            "? ",
            ": ",
            ", ",
            "[",
            "]",
            "{",
            "}",
            "#",
            " # c",
            "\n",
            "\n  ",
            "\n    ",
            "\n- ",
            "\t",
            "|",
        ],
        *[">", "|-\n  x", ">+\n x\n", "|2\n", "'", '"', "''", '\\"', "\\u00e9", "\\x", "&a ", "*a", "<<: *a", "!!str "],
        *[
            "!!binary ",
            "!!float ",
            "!x ",
            "!<tag> ",
            "%YAML 1.1\n",
            "---",
            "--- \n",
            "...\n",
            "~",
            "null",
            "yes",
            "0o7",
        ],
        *["0x", "1_000", ".inf", ".nan", "1e3", "190:20:30", "2001-01-01", "=", "<<", "\ufeff", "\0", "\x85", "\u2028"],
        *["{{ x }}", "key: value\n", "list:\n- 1\n- 2\n", "a: &a [1]\nb: *a\n", "\r\n", "\r", "é", "\U0001f600", "-"],
    ]
)
yaml_texts = st.lists(_yaml_scraps | st.text(max_size=3), max_size=14).map("".join)
"""Texts that are hardly ever YAML, and near it."""

_requirement = st.fixed_dictionaries(
    {"name": words, "version": st.sampled_from(VERSIONS)},
    optional={
        "repository": words | st.just("file://../x"),
        "alias": words,
        "condition": st.sampled_from(PATHS),
        "tags": st.lists(words, max_size=2),
        "enabled": st.booleans(),
        "import-values": st.lists(
            words | st.fixed_dictionaries({"child": st.sampled_from(PATHS), "parent": st.sampled_from(PATHS)}),
            max_size=3,
        ),
    },
)
_metadata = st.fixed_dictionaries(
    {"apiVersion": st.sampled_from(["v1", "v2", "v2"]), "name": words, "version": st.sampled_from(VERSIONS)},
    optional={
        "type": st.sampled_from(["application", "library", "x"]),
        "kubeVersion": st.sampled_from(VERSIONS),
        "appVersion": scalars,
        "dependencies": st.lists(_requirement, max_size=4) | json_values,
        "annotations": values,
        "maintainers": json_values,
        "keywords": json_values,
        "icon": scalars,
        "deprecated": scalars,
    },
)
chart_yamls = _metadata.map(json.dumps) | json_values.map(json.dumps) | yaml_texts

_types = st.sampled_from(["object", "string", "integer", "number", "null", "array", "boolean", "x"])
_schemas = st.recursive(
    st.booleans()
    | st.fixed_dictionaries(
        {},
        optional={
            "type": _types,
            "$ref": st.sampled_from(["#", "#/definitions/a", "http://x/y", "file:///etc/passwd", "a"]),
        },
    ),
    lambda inner: st.fixed_dictionaries(
        {},
        optional={
            "$schema": st.sampled_from(
                [
                    "http://json-schema.org/draft-04/schema#",
                    "http://json-schema.org/draft-06/schema#",
                    "http://json-schema.org/draft-07/schema#",
                    "https://json-schema.org/draft/2019-09/schema",
                    "https://json-schema.org/draft/2020-12/schema",
                    "urn:x",
                ]
            ),
            "type": _types,
            "properties": st.dictionaries(words, inner, max_size=3),
            "patternProperties": st.dictionaries(st.sampled_from(["^a", "(a+)+$", "[", ".*"]), inner, max_size=2),
            "items": inner | st.lists(inner, max_size=2),
            "anyOf": st.lists(inner, max_size=3),
            "not": inner,
            "if": inner,
            "then": inner,
            "pattern": st.sampled_from(["^[a-z]+$", "(a+)+$", "[", "\\d", "(?<x>a)"]),
            "enum": st.lists(scalars, max_size=3),
            "required": st.lists(words, max_size=2),
            "minimum": scalars,
            "format": st.sampled_from(["ipv4", "date-time", "regex", "uri", "x"]),
            "definitions": st.dictionaries(words, inner, max_size=2),
            "$ref": st.sampled_from(["#", "#/definitions/a", "#/properties/a", "http://x/y", "#x"]),
        },
    ),
    max_leaves=6,
)
schema_texts = _schemas.map(json.dumps) | json_values.map(json.dumps) | yaml_texts

_manifest = st.builds(
    "apiVersion: v1\nkind: {}\nmetadata:\n  name: {}\n  annotations:\n    helm.sh/hook: {}\n{}\n---\n{}".format,
    st.sampled_from(["ConfigMap", "Job", "Pod", "X", "", "[1]"]),
    st.sampled_from(["a", "{{ .Release.Name }}", "1", ""]),
    st.sampled_from(["pre-install", "post-install,test", "x", "", "{{ .Values.a }}", "[]"]),
    yaml_texts,
    templates,
)
template_texts = _manifest | templates | damaged() | yaml_texts

_FOLDERS: Final = ("", "", "charts/db/", "charts/lib/", "charts/db/charts/web/", "charts/_x/", "charts/", "../", "/")
_FILES: Final = (
    *(
        "templates/a.yaml",
        "templates/_h.tpl",
        "templates/NOTES.txt",
        "templates/b/c.yml",
        "templates/x.txt",
        "crds/a.yaml",
    ),
    *("Chart.lock", "requirements.yaml", "requirements.lock", "README.md", ".helmignore", "a/b.txt", "charts", ""),
)


@st.composite
def trees(draw: st.DrawFn) -> dict[str, str | bytes]:
    """The files of a chart with charts below it: mostly sound, sometimes anything."""
    files: dict[str, str | bytes] = {"Chart.yaml": draw(chart_yamls)}
    for folder in draw(st.lists(st.sampled_from(_FOLDERS), max_size=4)):
        if draw(st.booleans()):
            files[f"{folder}Chart.yaml"] = draw(chart_yamls)
        if draw(st.booleans()):
            files[f"{folder}values.yaml"] = draw(values.map(json.dumps) | yaml_texts)
        if draw(st.integers(0, 3)) == 0:
            files[f"{folder}values.schema.json"] = draw(schema_texts)
        for name in draw(st.lists(st.sampled_from(_FILES), max_size=3)):
            files[folder + name] = draw(template_texts | st.binary(max_size=8) | chart_yamls)
    if draw(st.integers(0, 4)) == 0:
        files["charts/db-1.0.0.tgz"] = draw(archives())
    return files


_member_names = st.sampled_from(
    [
        *[
            "web/Chart.yaml",
            "web/values.yaml",
            "web/templates/a.yaml",
            "web/charts/x.tgz",
            "web/../x",
            "../x",
            "/x",
            "x",
        ],
        *["web//x", "web/./x", "web\\x", "web\\..\\x", "c:/x", "web/c:/x", "other/x", "web/", "", ".", "..", "web/\0x"],
        *["web/" + "a" * 200, "web/é", "web/\udc80", "./web/Chart.yaml", "Chart.yaml", "web/Chart.yaml/x"],
    ]
)
_kinds = st.sampled_from(
    [tarfile.REGTYPE] * 8 + [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.DIRTYPE, tarfile.FIFOTYPE, b"x", b"L", b"S"]
)


@st.composite
def archives(draw: st.DrawFn) -> bytes:
    """Packed charts with members that reach out, lie about themselves, or are damaged."""
    out = io.BytesIO()
    for _ in range(draw(st.integers(0, 5))):
        content = draw(chart_yamls | template_texts).encode("utf-8", "surrogatepass")
        info = tarfile.TarInfo(draw(_member_names))
        info.type, info.linkname = draw(_kinds), draw(_member_names)
        info.size = draw(st.just(len(content)) | st.integers(0, 2**33))
        out.write(info.tobuf(tarfile.GNU_FORMAT, "utf-8", "surrogateescape"))
        out.write(content + b"\0" * (-len(content) % 512))
    packed = bytearray(out.getvalue() + b"\0" * draw(st.sampled_from([0, 512, 1024])))
    for _ in range(draw(st.integers(0, 3)) if packed else 0):
        packed[draw(st.integers(0, len(packed) - 1))] = draw(st.integers(0, 255))
    done = gzip.compress(bytes(packed), mtime=0)
    return done[: draw(st.just(len(done)) | st.integers(0, len(done)))]


_set_scraps = st.sampled_from(
    [
        "a",
        "b",
        "=",
        ".",
        ",",
        "[0]",
        "[",
        "]",
        "{",
        "}",
        "\\",
        "1",
        "null",
        "true",
        "[70000]",
        "[-1]",
        "a.b=1",
        '"',
        " ",
        "é",
    ]
)
set_lines = st.lists(_set_scraps | st.text(max_size=2), max_size=10).map("".join)
sets: st.SearchStrategy[dict[str, Any]] = st.fixed_dictionaries(
    {},
    optional={
        name: st.lists(set_lines, max_size=3) for name in ("set", "set_string", "set_json", "set_literal", "set_file")
    },
)
