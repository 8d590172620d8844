"""Input for doors, by a seed alone: samples that are changed, and texts that are made by a grammar of odd things."""

from __future__ import annotations

import copy
import functools
import gzip
import io
import json
import random
import tarfile
from collections.abc import Callable, Sequence
from typing import Any, Final

import yaml

LONGEST: Final = 2_000_000
"""Bytes of an input; most have some hundred."""

SCALARS: Final = (
    "~",
    "null",
    "yes",
    "0x1F",
    "0o17",
    "1_000",
    "1e999",
    "-.inf",
    ".nan",
    "190:20:30",
    "1:1:1:1",
    "9" * 400,
    "2001-01-01",
    "!!binary aGk=",
    "!!python/object/apply:os.system ['x']",
    "!!timestamp x",
    "!<tag:x> y",
    "&a x",
    "*a",
    "<<",
    "? x",
    "''",
    '"\\u0000"',
    '"\\x9b31m"',
    "\u202e",
    "\ufeff",
    "|",
    ">-",
    "@",
    "`",
    "%",
    "- -",
    "a: b: c",
    "{a:}",
    "[]: x",
    "{}:",
    "é" * 50,
    "\x85",
    "\u2028",
    "x" * 3000,
    "99999999999999999999",
    "-0",
    "1.5e-400",
    "\\",
    "'",
    '"',
    "\t",
    "\x00",
    "\x1b[2J",
)
ODD: Final[tuple[Any, ...]] = (
    None,
    True,
    0,
    -1,
    2**31,
    2**63,
    2**64,
    10**400,
    0.1,
    1e308,
    "",
    " ",
    "a",
    "\u0000",
    "\x1b]0;x\x07",
    "\u202e",
    "../../x",
    "a" * 5_000,
    [],
    [[]],
    [None],
    {},
    {"": ""},
    {"a": {"b": {"c": {}}}},
    [1, "a", None, True],
    "1.0.0",
    "*",
    "a/b/c",
    "@",
    "{{",
    "sha256:" + "0" * 64,
    "sha512:x",
    "https://127.0.0.1:1/",
    "2026-13-45T99:99:99Z",
    "-----BEGIN X-----",
    "${HOME}",
    "$(x)",
)


SIGNS: Final = b"{}[]:,-#&*!|>'\"%@`\\\n \t\x00\xff\xed\xa0\x80"


def make_input(language: str, samples: Sequence[bytes], seed: str, longest: int = LONGEST) -> bytes:
    """Return the input of a seed."""
    rng = random.Random(seed)
    makers = MAKERS[language]
    data = rng.choice(makers)(rng, samples)
    if rng.random() < 0.15:
        data = _damaged(rng, data)
    return data[:longest]


Damage = Callable[[random.Random, bytes, int], bytes]
DAMAGES: Final[tuple[Damage, ...]] = (
    lambda rng, data, at: data[:at],
    lambda rng, data, at: data[:at] + bytes([rng.randrange(256)]) + data[at + 1 :],
    lambda rng, data, at: data[:at] + bytes(rng.choices(SIGNS, k=3)) + data[at:],
    lambda rng, data, at: data[:at] + data[at : at + 40] * rng.choice((2, 100, 5000)) + data[at:],
    lambda rng, data, at: data[at:] + data[:at],
    lambda rng, data, at: data[:at] + data[at + 1 + rng.randrange(30) :],
)


def _damaged(rng: random.Random, data: bytes) -> bytes:
    for _ in range(rng.choice((1, 1, 3, 20))):
        data = rng.choice(DAMAGES)(rng, data, rng.randrange(len(data) + 1))
    return data


# values


def _odd_value(rng: random.Random, depth: int = 0) -> Any:
    if depth > 3 or rng.random() < 0.6:
        return copy.deepcopy(rng.choice(ODD))  # the document it goes into is changed again
    if rng.random() < 0.5:
        return [_odd_value(rng, depth + 1) for _ in range(rng.choice((0, 1, 3, 50)))]
    return {str(rng.choice(ODD))[:100]: _odd_value(rng, depth + 1) for _ in range(rng.choice((1, 2, 5)))}


def _places(value: Any) -> list[tuple[Any, Any]]:
    found: list[tuple[Any, Any]] = []
    waiting = [value]
    while waiting and len(found) < 5000:
        part = waiting.pop()
        entries = part.items() if isinstance(part, dict) else enumerate(part) if isinstance(part, list) else ()
        for key, below in entries:
            found.append((part, key))
            waiting.append(below)
    return found


def _change(rng: random.Random, value: Any) -> Any:
    """Return a document with some of its parts exchanged, doubled, renamed, removed or grown."""
    grown = False  # repetitions of repetitions would take ages to write down
    for _ in range(rng.choice((1, 1, 2, 5))):
        places = _places(value)
        if not places:
            return _odd_value(rng)
        holder, key = rng.choice(places)
        choice = rng.random()
        if choice < 0.45:
            holder[key] = _odd_value(rng)
        elif choice < 0.6:
            other, name = rng.choice(places)
            holder[key] = json.loads(json.dumps(other[name], default=str)) if len(places) < 300 else None
        elif choice < 0.7 and isinstance(holder, dict):
            holder[str(rng.choice(ODD))[:60]] = holder.pop(key)
        elif choice < 0.8:
            del holder[key]
            if isinstance(holder, list):
                continue
        elif choice < 0.9 and not grown:
            holder[key] = [holder[key]] * rng.choice((2, 10, 1000))
            grown = True
        else:
            part = holder[key]
            for _ in range(rng.choice((5, 50, 600))):
                part = {"a": part} if rng.random() < 0.5 else [part]
            holder[key] = part
    return value


def _dumped(value: Any) -> bytes:
    try:
        return json.dumps(value, default=str).encode("utf-8", "surrogatepass")
    except (RecursionError, ValueError):
        return b"[" * 5_000


@functools.lru_cache(maxsize=256)
def _parsed(sample: bytes) -> str:
    """Return the documents of a sample as JSON, since each input changes a copy."""
    try:
        return json.dumps(list(yaml.safe_load_all(sample)), default=str)
    except (yaml.YAMLError, UnicodeDecodeError, TypeError, ValueError, AttributeError):
        return ""


def _changed_yaml(rng: random.Random, samples: Sequence[bytes]) -> bytes:
    sample = rng.choice(samples)
    if b"# file: " in sample:
        head, *parts = sample.split(b"# file: ")
        at = rng.randrange(len(parts))
        name, _, text = parts[at].partition(b"\n")
        parts[at] = name + b"\n" + _changed_yaml(rng, [text])
        return head + b"".join(b"# file: " + part for part in parts)
    plain = _parsed(sample)
    if not plain:
        return _damaged(rng, sample)
    documents = [_change(rng, one) for one in json.loads(plain)]
    if rng.random() < 0.5:
        return b"\n---\n".join(_dumped(one) for one in documents)
    try:
        return yaml.dump_all(documents, allow_unicode=rng.random() < 0.5).encode("utf-8", "surrogatepass")
    except (RecursionError, yaml.YAMLError):
        return b"\n---\n".join(_dumped(one) for one in documents)


def _changed_json(rng: random.Random, samples: Sequence[bytes]) -> bytes:
    try:
        return _dumped(_change(rng, json.loads(rng.choice(samples))))
    except ValueError:
        return _dumped(_odd_value(rng))


# YAML, JSON


def _yaml_node(rng: random.Random, depth: int, indent: int) -> str:
    choice = rng.random()
    if depth > 5 or choice < 0.4:
        return rng.choice(SCALARS)
    if choice < 0.55:
        return "[" + ",".join(_yaml_node(rng, depth + 1, 0) for _ in range(rng.choice((0, 1, 3)))) + "]"
    if choice < 0.7:
        return "{" + ",".join(f"{rng.choice(SCALARS)}: {_yaml_node(rng, depth + 1, 0)}" for _ in range(2)) + "}"
    pad = "\n" + " " * indent
    if choice < 0.85:
        return "".join(f"{pad}- {_yaml_node(rng, depth + 1, indent + 2)}" for _ in range(rng.choice((1, 2, 3))))
    return "".join(
        f"{pad}{rng.choice((*SCALARS, *'abcde'))}: {_yaml_node(rng, depth + 1, indent + 2)}" for _ in range(2)
    )


def _grown_yaml(rng: random.Random, samples: Sequence[bytes]) -> bytes:
    del samples
    return _yaml_node(rng, 0, 0).lstrip("\n").encode("utf-8", "surrogatepass")


def _bomb(rng: random.Random, samples: Sequence[bytes]) -> bytes:
    """Return what costs much more than it is long."""
    count = rng.choice((10, 1_000, 20_000, 200_000))
    aliases = "\n".join(f"a{n}: &a{n} [{','.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 20))
    bombs = (
        "[" * count,
        "{" * count,
        "[" * count + "]" * count,
        "- " * count + "a",
        "? " * count,
        '{"a":' * count + "1" + "}" * count,
        "a: " + "1:" * count + "1",
        "a: " + "9" * count,
        "a: 0x" + "f" * count,
        "a: 1e" + "9" * min(count, 1000),
        "\n".join(f"k{n}: v" for n in range(count)),
        "\n".join(["k: v"] * count),
        "[" + "[]," * count + "1]",
        "[" + "{}," * count + "1]",
        '["' + '","' * count + '"]',
        f"a0: &a0 [x]\n{aliases}",
        "a: &a [*a, *a]",
        "a: &a {<<: *a}",
        "b: &b {x: 1}\n" + "a: {" + "<<: *b, " * count + "}",
        "%TAG ! x\n" * count + "---\na",
        "---\n" * count,
        "...\n" * count,
        "#" * count,
        "# c\n" * count,
        "a: |\n" + "  x\n" * count,
        "a: >\n" + "  x \n" * count,
        'a: "' + "\\n" * count + '"',
        'a: "' + "\\u1234" * count + '"',
        "a: '" + "''" * count + "'",
        "!!set {" + "a," * min(count, 1000) + "}",
        "[" + "!a x, " * min(count, 20_000) + "1]",
        "[" + "{a:}, " * min(count, 20_000) + "1]",
        "&a " * min(count, 1000) + "x",
        " " * count + "a",
        "\t" * count,
        "\ufeff" * count + "a",
        "[" + "#" * count,
        "x" * count + ": y",
        "\x85" * count,
        " \x85" * count,
    )
    text = rng.choice(bombs).encode()
    if rng.random() < 0.4:
        sample = rng.choice(samples)
        at = sample.rfind(b"\n", 0, rng.randrange(len(sample) + 1)) + 1
        return sample[:at] + text + b"\n" + sample[at:]
    return text


def _repeated(rng: random.Random, samples: Sequence[bytes]) -> bytes:
    sample = rng.choice(samples)
    return rng.choice((b"\n---\n", b"\n", b"", b",")).join([sample] * rng.choice((2, 50, 2_000)))[:LONGEST]


# archives


def _member_name(rng: random.Random) -> str:
    names = (
        "c/Chart.yaml",
        "c/values.yaml",
        "c/templates/a.yaml",
        "c/crds/a.yaml",
        "c/values.schema.json",
        "kustomization.yaml",
        "a.yaml",
        "/etc/passwd",
        "../../x",
        "c/../../x",
        "c\\..\\x",
        "C:/x",
        "",
        ".",
        "..",
        "./",
        "a/" * 200 + "b",
        "a\x00b",
        "\udcff",
        "c/charts/d.tgz",
        "c/charts/d/Chart.yaml",
        "._a.yaml",
        "index.json",
        "oci-layout",
        "blobs/sha256/" + "0" * 64,
    )
    return rng.choice(names)


def _tar(rng: random.Random, samples: Sequence[bytes]) -> bytes:
    """Return an archive of odd entries, or one of the samples with some added."""
    out = io.BytesIO()
    kinds = (
        tarfile.REGTYPE,
        tarfile.AREGTYPE,
        tarfile.SYMTYPE,
        tarfile.LNKTYPE,
        tarfile.DIRTYPE,
        tarfile.FIFOTYPE,
        b"S",
        b"x",
        b"L",
        b"Z",
    )
    with tarfile.open(
        fileobj=out, mode="w", format=rng.choice((tarfile.PAX_FORMAT, tarfile.GNU_FORMAT, tarfile.USTAR_FORMAT))
    ) as tar:
        if rng.random() < 0.7:
            changed = rng.choice((0.0, 0.2, 0.7))
            for name, data in _members(rng.choice(samples)):
                change = rng.choice((_changed_yaml, _bomb)) if rng.random() < changed else None
                _add(tar, name, change(rng, [data or b"a: b"]) if change is not None else data)
        for _ in range(rng.choice((0, 0, 0, 1, 3, 300))):
            entry = tarfile.TarInfo(_member_name(rng))
            entry.type = rng.choice((*kinds[:1] * 6, *kinds))
            entry.linkname = rng.choice(("", "a", "../../x", "/x", "c/Chart.yaml", entry.name))
            content = rng.choice((b"", b"a: b\n", b"{{ .Values }}", b"x" * 10_000))
            entry.size = len(content) if entry.type in kinds[:2] else rng.choice((0, 0, 1, 1 << 20, 1 << 40))
            if rng.random() < 0.1:
                entry.pax_headers = {
                    rng.choice(("path", "size", "comment", "GNU.sparse.map")): rng.choice(("x", "-1", "9" * 50))
                }
            try:
                tar.addfile(entry, io.BytesIO(content) if entry.type in kinds[:2] else None)
            except (ValueError, OSError, UnicodeEncodeError):
                continue
    data = out.getvalue()
    if rng.random() < 0.1:
        at = rng.randrange(max(len(data) - 512, 1))
        data = data[:at] + rng.choice((b"\xff" * 12, b"9" * 12, b"\x80" + b"\x00" * 11)) + data[at + 12 :]
    choice = rng.random()
    if choice < 0.8:
        return gzip.compress(data, 1, mtime=0)
    return data if choice < 0.9 else gzip.compress(data + b"\0" * 20_000_000, 1, mtime=0)


def _add(tar: tarfile.TarFile, name: str, data: bytes) -> None:
    entry = tarfile.TarInfo(name)
    entry.size = len(data)
    tar.addfile(entry, io.BytesIO(data))


@functools.lru_cache(maxsize=16)
def _members(archive: bytes) -> tuple[tuple[str, bytes], ...]:
    with tarfile.open(fileobj=io.BytesIO(archive), mode="r:*") as tar:
        return tuple((one.name, file.read()) for one in tar if (file := tar.extractfile(one)) is not None)


# templates

HOSTILE: Final = (
    '(repeat 8000000 "a")',
    '(repeat 100000 "é")',
    '(repeat 60000 "\\"\\\\<&")',
    '(repeat 200000 "a b\\n")',
    "(until 100000)",
    "(until 1000 | toJson)",
    '(repeat 100000 "[],")',
    '(repeat 30000 "- a: 1\\n")',
    '(printf "[%s1]" (repeat 50000 "{},"))',
    '(list (dict "a" (list 1 "b" nil)) 2)',
    '(dict "a" (dict "b" (dict "c" 1)))',
    ".Values",
    ".",
    "$",
    "nil",
    '""',
    "0",
    "-1",
    "9223372036854775807",
    "-9223372036854775808",
    "1e308",
    "true",
    '"x"',
    '"%s %d %v %!"',
    '"(a*)*b"',
    '"(a|b)*a(a|b){500}c"',
    '"a.*b|a"',
    '"2006-01-02"',
    '"Mon Jan _2 15:04:05.000 MST"',
    '"1.2.3"',
    '">=1.0.0 <2 || ~3"',
    '"1h30m"',
    '"rsa"',
    '"ecdsa"',
    '"https://a:b@c/d?e=f#g"',
    "now",
    '(genCA "a" 1)',
    ".Files",
    '(.Files.Glob "**")',
    '(.Files.Get "files/a")',
    ".Capabilities",
    "(index (list 1 2) 1)",
    "(list)",
    "(dict)",
    '(fromYaml "a: [1]")',
    '(fromJson "{\\"a\\":1}")',
    "(tuple 1 2 3)",
    "1.5",
    "'x'",
    '(repeat 2000 (print "9" "_"))',
    '(trimAll "é" (repeat 1000 "é"))',
    '(split "a" (repeat 40000 "ba"))',
    '(repeat 3000000 "\\n")',
)
FORMATS: Final = (
    "%v",
    "%#v",
    "%+v",
    "%q",
    "%x",
    "%1000000d",
    "%.1000000f",
    "%[1]*[2]d",
    "%T",
    "%p",
    "%U",
    "%c",
    "%s" * 1000,
)


@functools.cache
def _functions() -> tuple[tuple[str, int], ...]:
    from kymatui.helm.functions import FUNCTIONS
    from kymatui.helm.language.builtins import BUILTINS

    every = {**{name: FUNCTIONS[name] for name in FUNCTIONS}, **BUILTINS}
    return tuple(sorted((name, len(one.params)) for name, one in every.items()))


def _expression(rng: random.Random, depth: int = 0) -> str:
    name, count = rng.choice(_functions())
    if name == "printf":
        arguments = [f'"{rng.choice(FORMATS)}"', *(rng.choice(HOSTILE) for _ in range(rng.randrange(3)))]
    else:
        given = count + rng.choice((0, 0, 0, 1, -1, 5))
        arguments = [
            f"({_expression(rng, depth + 1)})" if depth < 2 and rng.random() < 0.25 else rng.choice(HOSTILE)
            for _ in range(max(given, 0))
        ]
    return " ".join([name, *arguments])


def _pipeline(rng: random.Random) -> str:
    stages = [_expression(rng)]
    for _ in range(rng.choice((0, 0, 1, 3))):
        name, count = rng.choice(_functions())
        stages.append(" ".join([name, *(rng.choice(HOSTILE) for _ in range(max(count - 1, 0)))]))
    return " | ".join(stages)


def _block(rng: random.Random, depth: int = 0) -> str:
    text = f"{{{{ {_pipeline(rng)} }}}}"
    if depth > 3:
        return text
    below = "".join(_block(rng, depth + 1) for _ in range(rng.choice((1, 1, 2))))
    names = ("a", "b", "c")
    return rng.choice(
        (
            lambda: text,
            lambda: f"{{{{ $x := {_pipeline(rng)} }}}}{below}",
            lambda: f"{{{{ if {_pipeline(rng)} }}}}{below}{{{{ else }}}}x{{{{ end }}}}",
            lambda: f"{{{{ range {rng.choice(HOSTILE)} }}}}{below}{{{{ end }}}}",
            lambda: f"{{{{ range $i, $e := {rng.choice(HOSTILE)} }}}}{below}{{{{ end }}}}",
            lambda: f"{{{{ range until {rng.choice((3, 1000, 100000))} }}}}{below}{{{{ end }}}}",
            lambda: f"{{{{ with {_pipeline(rng)} }}}}{below}{{{{ end }}}}",
            lambda: (
                f'{{{{ define "{rng.choice(names)}" }}}}{below}{{{{ end }}}}{{{{ include "{rng.choice(names)}" . }}}}'
            ),
            lambda: f'{{{{ template "{rng.choice(names)}" {rng.choice(HOSTILE)} }}}}',
            lambda: f"{{{{ tpl ({_pipeline(rng)}) . }}}}",
            lambda: "{{ $l := list }}{{ range until 5000 }}{{ $l = append $l (" + _pipeline(rng) + ") }}{{ end }}",
            lambda: (
                "{{ $d := dict }}{{ range until 5000 }}{{ $_ := set $d (print .) (" + _pipeline(rng) + ") }}{{ end }}"
            ),
            lambda: (
                "{{ $x := "
                + rng.choice(HOSTILE)
                + " }}{{ range until 40 }}{{ $x = list $x $x }}{{ end }}{{ "
                + rng.choice(("toJson", "toYaml", "print", "deepCopy", "quote", "len", "toToml"))
                + " $x }}"
            ),
        )
    )()


def _made_template(rng: random.Random, samples: Sequence[bytes]) -> bytes:
    del samples
    return "".join(_block(rng) for _ in range(rng.choice((1, 2, 4)))).encode("utf-8", "surrogatepass")


def _damaged_text(rng: random.Random, samples: Sequence[bytes]) -> bytes:
    return _damaged(rng, rng.choice(samples))


def _long_template(rng: random.Random, samples: Sequence[bytes]) -> bytes:
    piece = rng.choice(
        (*samples, b"{{ .a }}", b"{{ if .a }}", b"{{ (", b"{{/* */}}", b"{{ `", b'{{ define "x" }}', b"{{ 1 | print ")
    )
    return piece * rng.choice((10, 1_000, 30_000))


# schemas


def _schema(rng: random.Random, depth: int = 0) -> Any:
    if depth > 3:
        return rng.choice(
            (True, False, {}, {"type": "object"}, {"$ref": f"#/$defs/d{rng.randrange(4)}"}, {"$ref": "#"})
        )
    below: Callable[[], Any] = lambda: _schema(rng, depth + 1)  # noqa: E731
    patterns = ("^(a+)+$", ".*", "(a|b)*a(a|b){200}", "[", "^x-", "\\d+(?=x)", "")
    words: dict[str, Callable[[], Any]] = {
        "$ref": lambda: rng.choice(
            ("#", "#/$defs/d0", "#/$defs/d1", "#/$defs/missing", "#a", "urn:x", "http://127.0.0.1:1/x", "")
        ),
        "$dynamicRef": lambda: rng.choice(("#", "#a")),
        "$anchor": lambda: "a",
        "$id": lambda: rng.choice(("x", "http://a/b", "#c", "")),
        "allOf": lambda: [below()] * rng.choice((1, 2, 10)),
        "anyOf": lambda: [below(), below()],
        "oneOf": lambda: [below()] * rng.choice((1, 2, 10)),
        "not": below,
        "if": below,
        "then": below,
        "else": below,
        "properties": lambda: {rng.choice("abcd"): below() for _ in range(3)},
        "patternProperties": lambda: {rng.choice(patterns): below() for _ in range(2)},
        "additionalProperties": below,
        "unevaluatedProperties": below,
        "unevaluatedItems": below,
        "propertyNames": below,
        "items": below,
        "prefixItems": lambda: [below()] * 3,
        "contains": below,
        "dependentSchemas": lambda: {"a": below()},
        "dependentRequired": lambda: {"a": ["b"] * rng.choice((1, 1000))},
        "enum": lambda: [_odd_value(rng) for _ in range(rng.choice((1, 5, 300)))],
        "const": lambda: _odd_value(rng),
        "pattern": lambda: rng.choice(patterns),
        "format": lambda: rng.choice(("date-time", "email", "uri", "regex", "hostname", "ipv6", "duration", "x")),
        "type": lambda: rng.choice(("object", "array", "string", "integer", ["null", "number"], "x", 5)),
        "multipleOf": lambda: rng.choice((0, 0.1, 1e-300, 10**300, -1, "x")),
        "minimum": lambda: rng.choice((0, 10**400, "x")),
        "minLength": lambda: rng.choice((0, 2**70, 1.5)),
        "uniqueItems": lambda: True,
        "required": lambda: ["a"] * rng.choice((1, 2000)),
    }
    return {word: words[word]() for word in rng.sample(sorted(words), rng.choice((1, 2, 4)))}


def _made_schema(rng: random.Random, samples: Sequence[bytes]) -> bytes:
    del samples
    document = _schema(rng)
    if isinstance(document, dict):
        document["$defs"] = {f"d{n}": _schema(rng, 1) for n in range(4)}
        document["$schema"] = rng.choice(
            (
                "https://json-schema.org/draft/2020-12/schema",
                "http://json-schema.org/draft-07/schema#",
                "http://json-schema.org/draft-04/schema#",
                "https://json-schema.org/draft/2019-09/schema",
                "urn:x",
                "x",
                5,
            )
        )
        document |= {name: _odd_value(rng) for name in "abcd"}
        if rng.random() < 0.3:
            count = rng.choice((5, 40, 300))
            document["$defs"] |= {f"c{n}": {"allOf": [{"$ref": f"#/$defs/c{n + 1}"}] * 2} for n in range(count)}
            document["allOf"] = [{"$ref": "#/$defs/c0"}]
        if rng.random() < 0.2:
            document["a"] = [{"n": n, "m": [n]} for n in range(rng.choice((100, 5_000)))]
            document["properties"] = {"a": {"uniqueItems": True, "items": {"enum": document["a"][:300]}}}
    return _dumped(document)


# CEL

LEAVES: Final = (
    *(
        "self.a",
        "self.b",
        "self.c",
        "self.d",
        "self.l",
        "self.s",
        "x",
        "1",
        "-1",
        "1.5",
        "'a'",
        "true",
        "null",
        "[1,2]",
    ),
    *("{'a':1}", "0u", "b'x'", "r'\\'"),
)
OPERATORS: Final = ("+", "-", "*", "/", "%", "==", "<", "in", "&&", "||")
METHODS: Final = (
    *(
        "size()",
        "split(%s)",
        "join()",
        "matches(%s)",
        "replace(%s, 'aa')",
        "format([%s])",
        "indexOf(%s)",
        "substring(%s)",
    ),
    *("sum()", "reverse()", "find(%s)", "findAll(%s)", "sort()", "min()", "isSorted()", "lowerAscii()", "charAt(%s)"),
)
CALLS: Final = (
    *(
        "string",
        "int",
        "double",
        "duration",
        "timestamp",
        "quantity",
        "url",
        "ip",
        "cidr",
        "semver",
        "type",
        "has",
        "size",
    ),
    *("optional.of", "bool", "isURL", "format.named", "strings.quote"),
)


def _cel(rng: random.Random, depth: int = 0) -> str:
    if depth > 4 or rng.random() < 0.25:
        return rng.choice(LEAVES)
    one, other = _cel(rng, depth + 1), _cel(rng, depth + 1)
    return rng.choice(
        (
            f"{one} {rng.choice(OPERATORS)} {other}",
            f"self.l.{rng.choice(('map', 'filter', 'all', 'exists', 'exists_one'))}(x, {one})",
            f"{one}.{rng.choice(METHODS)}".replace("%s", other),
            f"{rng.choice(CALLS)}({one})",
            f"({one})",
            f"{one} ? {other} : {one}",
            f"!{one}",
            f"[{one}, {other}][{one}]",
            f"{one}.?a[?{other}].orValue({one})",
            "self.l.map(x, self.l.map(x, self.l.map(x, x + 1)))",
            f"'%s'.format([{one}])",
        )
    )


def _made_cel(rng: random.Random, samples: Sequence[bytes]) -> bytes:
    del samples
    text = _cel(rng)
    if rng.random() < 0.1:
        text = (
            rng.choice(("(", "[", "!", "-", "self.a+", "'a'+", "self.l.map(x,")) * rng.choice((10, 1_000, 50_000))
            + text
        )
    return text.encode("utf-8", "surrogatepass")


Maker = Callable[[random.Random, Sequence[bytes]], bytes]
MAKERS: Final[dict[str, tuple[Maker, ...]]] = {
    "yaml": (_changed_yaml, _changed_yaml, _changed_yaml, _grown_yaml, _bomb, _repeated, _damaged_text),
    "json": (_changed_json, _changed_json, _changed_json, _bomb, _repeated, _damaged_text),
    "tar": (_tar, _tar, _tar, _damaged_text),
    "template": (_made_template, _made_template, _made_template, _long_template, _damaged_text),
    "schema": (_made_schema, _made_schema, _changed_json, _damaged_text),
    "cel": (_made_cel, _made_cel, _damaged_text),
    "text": (_damaged_text, _damaged_text, _repeated, _bomb),
}
"""What makes input of a language; the more often it stands here, the more often it is used."""
