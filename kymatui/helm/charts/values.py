"""Values: files of one or more documents, flags, and their merge order."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from kymatui.errors import HelmError, nearest_names
from kymatui.helm.charts import strvals
from kymatui.helm.charts.structs import mismatch
from kymatui.helm.govalues.text import from_bytes
from kymatui.helm.yaml.errors import YamlError
from kymatui.helm.yaml.limits import YamlBudget
from kymatui.helm.yaml.reading import load_yaml

_SEPARATOR: Final = b"---"


class ValuesText(NamedTuple):
    """A values file that was read elsewhere, such as standard input; it prints as its name, its data may be secret."""

    name: str
    data: bytes

    def __repr__(self) -> str:
        return self.name


ValuesFile = str | Path | ValuesText


def load_mapping(text: str | bytes, budget: YamlBudget | None = None) -> dict[str, Any]:
    """Return yaml.Unmarshal into a map[string]interface {}, {} for nothing. Raise YamlError."""
    value = load_yaml(text, budget=budget)
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise mismatch(value, "map[string]interface {}", "")
    return value


def load_values(data: bytes, budget: YamlBudget | None = None) -> dict[str, Any]:
    """Return a values file: later documents override earlier ones. Raise YamlError."""
    budget = budget or YamlBudget()
    values: dict[str, Any] = {}
    try:
        parts = split_documents(data)
    except YamlError as error:
        raise YamlError(f"error reading yaml document: {error}") from error
    for document in parts:
        try:
            _merge_into(values, load_mapping(document, budget))
        except YamlError as error:
            message = f"cannot unmarshal yaml document: {error}"
            raise YamlError(message, problem=error.problem, mark=error.mark) from error
    return values


def _merge_into(target: dict[str, Any], source: Mapping[str, Any]) -> None:
    """Merge as `merge_maps` in place: copies for each of many documents would take quadratic time."""
    for key, value in source.items():
        before = target.get(key)
        if isinstance(value, dict) and isinstance(before, dict):
            _merge_into(before, value)
        else:
            target[key] = value


def split_documents(data: bytes) -> list[bytes]:
    """Split a file at lines that begin with `---`, as YAMLReader of k8s.io/apimachinery.

    Every line of a document ends with one newline, also the last, and carriage returns at line ends are removed.
    """
    if not data:
        return []
    *ended, last = data.replace(b"\r\n", b"\n").split(b"\n")
    if last:
        ended.append(last)
    if b"\n---" not in data and not data.startswith(_SEPARATOR):
        return [b"\n".join([*ended, b""])]
    documents: list[bytes] = []
    lines: list[bytes] = []
    for line in ended:
        if line.startswith(_SEPARATOR):
            rest = line[len(_SEPARATOR) :].strip()
            if rest and not rest.startswith(b"#"):
                shown = from_bytes(rest)
                raise YamlError(f"invalid Yaml document separator: {shown}")
            if lines:
                documents.append(b"\n".join([*lines, b""]))
                lines = []
                continue
        lines.append(line)
    if lines:
        documents.append(b"\n".join([*lines, b""]))
    return documents


def merge_maps(first: Mapping[str, Any], second: Mapping[str, Any]) -> dict[str, Any]:
    """Return both maps merged recursively; of other values, the second wins."""
    out = dict(first)
    for key, value in second.items():
        before = out.get(key)
        out[key] = merge_maps(before, value) if isinstance(value, dict) and isinstance(before, dict) else value
    return out


def merge_values(
    value_files: Iterable[ValuesFile] = (),
    set: Iterable[str] = (),
    set_string: Iterable[str] = (),
    set_json: Iterable[str] = (),
    set_literal: Iterable[str] = (),
    set_file: Iterable[str] = (),
) -> dict[str, Any]:
    """Merge helm's -f, --set-json, --set, --set-string, --set-file and --set-literal in this order.

    Whole numbers of --set are Int64, all other numbers float, as in Go. Raise HelmError.
    """
    try:
        return _merge(value_files, *map(tuple, (set_json, set, set_string, set_file, set_literal)))
    except RecursionError as error:
        raise HelmError("values are nested too deeply") from error


def _merge(
    value_files: Iterable[ValuesFile],
    in_json: Sequence[str],
    typed: Sequence[str],
    strings: Sequence[str],
    files: Sequence[str],
    literal: Sequence[str],
) -> dict[str, Any]:
    base: dict[str, Any] = {}
    for path in value_files:
        base = merge_maps(base, _read_values(path))
    if not any((in_json, typed, strings, files, literal)):
        return base
    for line in in_json:
        base = strvals.set_json(base, line, merge_maps)
    for line in typed:
        strvals.set_values(base, line)
    for line in strings:
        strvals.set_strings(base, line)
    for line in files:
        strvals.set_files(base, line, _read_text)
    for line in literal:
        strvals.set_literal(base, line)
    return base


def _read_values(file: ValuesFile) -> dict[str, Any]:
    try:
        return load_values(file.data if isinstance(file, ValuesText) else Path(file).read_bytes())
    except OSError as error:
        raise HelmError(f"open {file}: {_reason(error)}", hint=path_advice(str(file))) from error
    except YamlError as error:
        hint = yaml_advice(str(file), error) or "A values file is a table: name: value, one to a line."
        raise HelmError(f"failed to parse {file}: {error}", hint=hint) from error


def yaml_advice(name: str, error: YamlError) -> str:
    """Return the place of a problem, which Go's reader of YAML often leaves out or gives a line too early."""
    if error.mark is None:
        return ""
    return f"{name}, line {error.line}, column {error.mark.column + 1}: check indentation, colons, quotes and braces."


def path_advice(path: str) -> str:
    """Return the file or folder that a path with a typing error probably means, "" without one."""
    folder, _, name = path.rstrip("/").rpartition("/")
    try:
        names = os.listdir(folder or ("/" if path.startswith("/") else "."))
    except OSError:
        return f"The folder {folder} does not exist."
    near = nearest_names(name, names, 1)
    return f"Did you mean {path.rstrip('/').removesuffix(name)}{near[0]}?" if near else ""


def _read_text(path: str) -> str:
    try:
        return from_bytes(Path(path).read_bytes())
    except OSError as error:
        raise HelmError(f"failed parsing --set-file data: open {path}: {_reason(error)}") from error
    except ValueError as error:  # an impossible file name
        raise HelmError(f"failed parsing --set-file data: open {path!r}: {error}") from error


def _reason(error: OSError) -> str:
    """Return the reason in lower case, as in Go."""
    return (error.strerror or str(error)).lower()
