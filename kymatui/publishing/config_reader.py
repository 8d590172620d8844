"""YAML of module configs with lines: fields as go-yaml v3 gives them to typed fields, and every problem."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

import yaml
from msgspec import Struct

from kymatui.domain.kubernetes.terminal_text import sanitize
from kymatui.domain.kyma.problems import Severity
from kymatui.errors import ConfigurationError
from kymatui.helm.yaml.errors import YamlError
from kymatui.helm.yaml.reading import compose_yaml


class SourceProblem(Struct, frozen=True):
    """A problem at a line (from 1; 0 if it concerns the whole file); `rule` is a stable name, `field` the wrong one."""

    file: str
    line: int
    message: str
    rule: str = "config"
    severity: Severity = Severity.ERROR
    field: str = ""

    def __str__(self) -> str:
        location = f"{self.file}:{self.line}" if self.line else self.file
        return f"{location}: {self.message}"


class SourceProblemsError(ConfigurationError):
    """The sources of a module have errors; `problems` are all of them."""

    def __init__(self, problems: Sequence[SourceProblem]) -> None:
        super().__init__("\n".join(map(str, problems)), hint="`kymatui bundle lint` reports every problem")
        self.problems = tuple(problems)


def require_no_errors(problems: Iterable[SourceProblem]) -> None:
    """Raise SourceProblemsError if there are errors."""
    errors = [problem for problem in problems if problem.severity is Severity.ERROR]
    if errors:
        raise SourceProblemsError(errors)


LARGEST_CONFIG: Final = 1024 * 1024  # bytes of a module config, which is parsed twice
LONGEST_MESSAGE: Final = 500  # characters; messages of parsers quote the file
_NULL: Final = "tag:yaml.org,2002:null"
_BOOL: Final = "tag:yaml.org,2002:bool"
_WORDS: Final = {
    written: value
    for words, value in (("y yes on", True), ("n no off", False))
    for word in words.split()
    for written in (word, word.capitalize(), word.upper())
}
_MERGE: Final = "tag:yaml.org,2002:merge"
_KINDS: Final = {yaml.MappingNode: "a map", yaml.SequenceNode: "a list", yaml.ScalarNode: "a value"}


class ConfigReader:
    """Reads fields of one document and collects problems; a wrong field reads as empty."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.problems: list[SourceProblem] = []

    def report(self, line: int, message: str, *, rule: str = "config", field: str = "") -> None:
        text = message if len(message) <= LONGEST_MESSAGE else f"{message[:LONGEST_MESSAGE]}…"
        self.problems.append(SourceProblem(self.file, line, sanitize(text), rule, field=field))

    def load(self, content: bytes) -> ConfigFields:
        """Return the fields of the first document."""
        empty = ConfigFields(self, "", {}, 1)
        if len(content) > LARGEST_CONFIG:
            self.report(0, f"the file is larger than {LARGEST_CONFIG >> 20} MiB", rule="yaml")
            return empty
        try:
            node = compose_yaml(content)
        except YamlError as error:
            self.report(error.line, f"the file is not valid YAML: {error.problem}", rule="yaml")
            return empty
        return self.fields(node, "") if node is not None and node.tag != _NULL else empty

    def fields(self, node: yaml.Node, path: str) -> ConfigFields:
        """Return the fields of a map; report keys that appear twice."""
        line = node.start_mark.line + 1
        if not isinstance(node, yaml.MappingNode):
            self.report(line, f"{path or 'the file'} must be a map, not {_KINDS[type(node)]}")
            return ConfigFields(self, path, {}, line)
        nodes: dict[str, tuple[int, yaml.Node]] = {}
        merged: dict[str, tuple[int, yaml.Node]] = {}
        for key, value in node.value:
            at = key.start_mark.line + 1
            if key.tag == _MERGE:
                merged |= {name: entry for name, entry in self._merged(value, path).items() if name not in merged}
            elif not isinstance(key, yaml.ScalarNode):
                self.report(at, f"{path or 'the file'} has a key that is {_KINDS[type(key)]}")
            elif key.value in nodes:
                self.report(at, f"key {key.value!r} is a duplicate: already defined at line {nodes[key.value][0]}")
            else:
                nodes[key.value] = (at, value)
        return ConfigFields(self, path, {**merged, **nodes}, line)

    def _merged(self, value: yaml.Node, path: str) -> dict[str, tuple[int, yaml.Node]]:
        parts = value.value if isinstance(value, yaml.SequenceNode) else [value]
        nodes: dict[str, tuple[int, yaml.Node]] = {}
        for part in parts:
            nodes = {**self.fields(part, path).nodes, **nodes}
        return nodes


class ConfigFields:
    """The fields of one map; `line` is where the map starts."""

    def __init__(self, reader: ConfigReader, path: str, nodes: Mapping[str, tuple[int, yaml.Node]], line: int) -> None:
        self.reader = reader
        self.path = path
        self.nodes = nodes
        self.line = line
        self._wrong: set[str] = set()

    def line_of(self, name: str) -> int:
        return self.nodes[name][0] if name in self.nodes else self.line

    def place(self, name: str) -> str:
        return f"{self.path}.{name}" if self.path else name

    def report(self, name: str, message: str) -> None:
        """Report a field, unless its form is wrong already."""
        if name not in self._wrong:
            field = self.place(name)
            self.reader.report(self.line_of(name), f"{field} {message}", field=field)

    def text(self, name: str) -> str:
        """Return a value as it is written, "" if it is absent or null."""
        node = self._node(name)
        if node is None:
            return ""
        if isinstance(node, yaml.ScalarNode):
            return str(node.value)
        self.report(name, f"must be text, not {_KINDS[type(node)]}")
        self._wrong.add(name)
        return ""

    def flag(self, name: str, default: bool = False) -> bool:
        node = self._node(name)
        if node is None:
            return default
        if isinstance(node, yaml.ScalarNode) and node.value in _WORDS:  # quoted or not, as modulectl reads them
            return _WORDS[node.value]
        if not isinstance(node, yaml.ScalarNode) or node.tag != _BOOL:
            self.report(name, f"must be true or false, not {self._shown(node)}")
            return default
        return node.value.lower() in ("true", "yes", "on", "y")

    def child(self, name: str) -> ConfigFields | None:
        node = self._node(name)
        return None if node is None else self.reader.fields(node, self.place(name))

    def children(self, name: str) -> list[ConfigFields]:
        node = self._node(name)
        if node is None:
            return []
        if not isinstance(node, yaml.SequenceNode):
            self.report(name, f"must be a list, not {_KINDS[type(node)]}")
            return []
        return [self.reader.fields(element, f"{self.place(name)}[{at}]") for at, element in enumerate(node.value)]

    def texts(self, name: str) -> dict[str, str]:
        """Return a map of texts."""
        child = self.child(name)
        return {} if child is None else {key: child.text(key) for key in child.nodes}

    def links(self, name: str, check: Callable[[ConfigFields, str, str, str], None]) -> dict[str, str]:
        """Return names with links, from a map or from a list of {name, link}; `check` sees each of them."""
        node = self._node(name)
        if isinstance(node, yaml.SequenceNode):
            links: dict[str, str] = {}
            for child in self.children(name):
                key, link = child.text("name"), child.text("link")
                if key in links:
                    child.report("name", f"is a duplicate: {name} has two entries {key!r}")
                links[key] = link
                check(child, "link", key, link)
            return links
        fields = self.child(name)
        if fields is None:
            return {}
        for key in fields.nodes:
            check(fields, key, key, fields.text(key))
        return {key: fields.text(key) for key in fields.nodes}

    def _node(self, name: str) -> yaml.Node | None:
        node = self.nodes[name][1] if name in self.nodes else None
        return None if node is None or node.tag == _NULL else node

    def _shown(self, node: yaml.Node) -> str:
        return repr(node.value) if isinstance(node, yaml.ScalarNode) else _KINDS[type(node)]
