"""Charts, loaded as in Helm: from files in memory, a packed archive, or a directory."""

from __future__ import annotations

import hashlib
import os
import posixpath
import stat
from collections.abc import Hashable, Iterable, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

from kymatui.errors import HelmError
from kymatui.helm.charts.archives import MAX_ENTRIES, MAX_FILE, Budget, ChartFile, is_gzip, read_archive
from kymatui.helm.charts.glob_patterns import PatternError, match_path
from kymatui.helm.charts.metadata import V1, Lock, Metadata, check_metadata, read_into, read_lock
from kymatui.helm.charts.values import load_values, yaml_advice
from kymatui.helm.govalues.quoting import quote
from kymatui.helm.govalues.text import from_bytes, to_bytes
from kymatui.helm.yaml.errors import YamlError

_BOM: Final = b"\xef\xbb\xbf"
MANIFEST_SUFFIXES: Final = (".yaml", ".yml", ".json")


class Chart:
    """A chart, immutable after loading: renderings copy what they change.

    metadata      Chart.yaml (and requirements.yaml)
    values        values.yaml
    schema        values.schema.json, None if there is none
    templates, files   files below templates/, and all others, which templates read by .Files
    raw           every file, unchanged
    dependencies  the charts below charts/
    links         symbolic links that lead out of the folder that was loaded
    """

    __slots__ = (
        "_digest",
        "compiled",
        "dependencies",
        "files",
        "links",
        "lock",
        "metadata",
        "raw",
        "schema",
        "templates",
        "values",
    )

    def __init__(self) -> None:
        self.metadata = Metadata()
        self.lock: Lock | None = None
        self.values: dict[str, Any] = {}
        self.schema: bytes | None = None
        self.templates: list[ChartFile] = []
        self.files: list[ChartFile] = []
        self.raw: list[ChartFile] = []
        self.dependencies: list[Chart] = []
        self.links: tuple[str, ...] = ()
        self.compiled: dict[Hashable, Any] = {}  # used by renderings
        self._digest = ""

    @classmethod
    def from_files(cls, files: Mapping[str, str | bytes]) -> Chart:
        """Load {path within the chart: content} like a directory (with .helmignore). Raise HelmError."""
        named = {name: to_bytes(data) if isinstance(data, str) else data for name, data in files.items()}
        rules = IgnoreRules(from_bytes(named.get(".helmignore", b"")))
        kept = sorted((name for name in named if not _is_ignored(rules, name)), key=lambda name: name.split("/"))
        return load_files([ChartFile(name, named[name].removeprefix(_BOM)) for name in kept])

    @classmethod
    def from_archive(cls, data: bytes) -> Chart:
        """Load a packed chart (.tgz). Raise HelmError."""
        return load_archive(data)

    @property
    def name(self) -> str:
        return self.metadata.name

    @property
    def version(self) -> str:
        return self.metadata.version

    @property
    def digest(self) -> str:
        """Return the SHA-256 of names and contents of all files, for cache keys."""
        if not self._digest:
            hashed = hashlib.sha256()
            for name, data in self.raw:
                encoded = to_bytes(name)
                hashed.update(b"%d:%b%d:" % (len(encoded), encoded, len(data)))
                hashed.update(data)
            self._digest = hashed.hexdigest()
        return self._digest

    @property
    def is_library(self) -> bool:
        return self.metadata.type.lower() == "library"

    def crd_files(self) -> list[ChartFile]:
        """Return the files below crds/ of this chart, without dependencies."""
        return [
            file
            for file in self.files
            if file.name.startswith("crds/") and file.name.lower().endswith(MANIFEST_SUFFIXES)
        ]


def _is_ignored(rules: IgnoreRules, name: str) -> bool:
    """Return whether a file or one of its parent folders is ignored."""
    folders = name.split("/")[:-1]
    above = ["/".join(folders[: depth + 1]) for depth in range(len(folders))]
    return any(rules.ignores(folder, True) for folder in above) or rules.ignores(name, False)


def load_chart(path: str | os.PathLike[str], *, links_out: bool = False) -> Chart:
    """Load a chart from a directory or packed archive. Raise HelmError.

    Symbolic links in a directory may lead to files of its repository: below the folder with `.git`, else beside the
    chart; never to hidden ones. `links_out` allows all (as Helm). `Chart.links` has those that lead out of the chart.
    """
    root = Path(path)
    try:
        if root.is_dir():
            links: list[str] = []
            files = read_directory(root, links_out, links)
            if not any(name in ("Chart.yaml", "requirements.yaml") for name, _ in files):
                raise HelmError(f"Chart.yaml file is missing in {root}", hint=_CHART_FOLDER)
            chart = load_files(files)
            chart.links = tuple(links)
            return chart
        data = root.read_bytes()
    except OSError as error:
        raise HelmError(f"cannot read chart {root}: {error.strerror or error}") from error
    if not is_gzip(data):
        kind = "seems to be a YAML file, but expected" if root.suffix in (".yml", ".yaml") else "does not appear to be"
        raise HelmError(f"file '{root}' {kind} a gzipped archive")
    return load_archive(data)


def load_archive(data: bytes) -> Chart:
    """Load a packed chart from its bytes. Raise HelmError."""
    budget = Budget()
    return load_files(read_archive(data, budget), budget)


def load_files(files: Iterable[ChartFile], budget: Budget | None = None) -> Chart:
    """Load a chart and its subcharts from files (Helm's LoadFiles). Raise HelmError."""
    budget = budget or Budget()
    chart = Chart()
    chart.raw = list(files)
    has_chart_file = False
    for name, data in chart.raw:
        if name == "Chart.yaml":
            _read(name, read_into, chart.metadata, data, budget.yaml)
            has_chart_file = True
    if has_chart_file and not chart.metadata.api_version:
        chart.metadata.api_version = V1
    packed: dict[str, list[ChartFile]] = {}
    for file in chart.raw:
        _sort_in(chart, file, packed, budget)
    if not has_chart_file and not any(name == "requirements.yaml" for name, _ in chart.raw):
        raise HelmError("Chart.yaml file is missing")
    check_metadata(chart.metadata)
    for name in sorted(packed):
        if name[0] not in "_.":
            chart.dependencies.append(_load_subchart(chart, name, packed[name], budget))
    return chart


_CHART_FOLDER: Final = "Name the folder of the chart itself, which has Chart.yaml, values.yaml and templates/."


def _read(name: str, reader: Any, *args: Any) -> Any:
    try:
        return reader(*args)
    except YamlError as error:
        raise HelmError(f"cannot load {name}: {error}", hint=yaml_advice(name, error)) from error
    except RecursionError as error:
        raise HelmError(f"cannot load {name}: it is nested too deeply") from error


def _sort_in(chart: Chart, file: ChartFile, packed: dict[str, list[ChartFile]], budget: Budget) -> None:
    name, data = file
    if name == "Chart.yaml":
        return
    if name == "values.yaml":
        chart.values = _read(name, load_values, data, budget.yaml)
    elif name == "values.schema.json":
        chart.schema = data
    elif name in ("Chart.lock", "requirements.lock"):
        chart.lock = _read(name, read_lock, data, budget.yaml)
        _keep_old(chart, file)
    elif name == "requirements.yaml":
        _read(name, read_into, chart.metadata, data, budget.yaml)
        _keep_old(chart, file)
    elif name.startswith("templates/"):
        chart.templates.append(file)
    elif name.startswith("charts/") and not name.endswith(".prov"):
        below = name.removeprefix("charts/")
        packed.setdefault(below.split("/", 1)[0] or "_", []).append(ChartFile(below, data))
    else:
        chart.files.append(file)


def _keep_old(chart: Chart, file: ChartFile) -> None:
    """Add the requirements to the files for charts of API version v1, as Helm does."""
    if file.name != "Chart.lock" and chart.metadata.api_version == V1:
        chart.files.append(file)


def _load_subchart(chart: Chart, name: str, files: list[ChartFile], budget: Budget) -> Chart:
    budget.depth -= 1
    try:
        if budget.depth < 0:
            raise HelmError("charts are nested too deeply")
        if name.endswith(".tgz"):
            if files[0].name != name:
                raise HelmError(f"expected {name}, got {files[0].name}")
            return load_files(read_archive(files[0].data, budget), budget)
        below = [ChartFile(path.split("/", 1)[1], data) for path, data in files if "/" in path]
        return load_files(below, budget)
    except HelmError as error:
        raise HelmError(f"error unpacking subchart {name} in {chart.name}: {error}") from error
    finally:
        budget.depth += 1


def read_directory(root: Path, links_out: bool = False, links: list[str] | None = None) -> list[ChartFile]:
    """Return the files of an unpacked chart without those in .helmignore; `links` gets what leads out of it.

    Raise HelmError.
    """
    ignore = root / ".helmignore"
    rules = IgnoreRules(from_bytes(ignore.read_bytes()) if ignore.is_file() else "")
    budget = Budget()
    files: list[ChartFile] = []
    targets = _LinkTargets(root.resolve(), links_out, [] if links is None else links)
    _walk(targets, root, "", rules, (budget, files), ())
    return files


class _LinkTargets:
    """Where symbolic links of a chart may lead: within the chart, and to files of its repository."""

    def __init__(self, top: Path, everywhere: bool, outside: list[str]) -> None:
        self._top = top
        self._everywhere = everywhere
        self._outside = outside
        self._repository = next((folder for folder in top.parents if (folder / ".git").exists()), None)

    def check(self, link: Path, name: str) -> None:
        """Raise HelmError for a link that leads out of the repository."""
        target = link.resolve()
        if target.is_relative_to(self._top):
            return
        if not (self._everywhere or self._is_in_repository(target)):
            raise HelmError(
                f"symbolic link {name} leads out of the chart {self._top}",
                hint="Copy what it points to into the chart, list the link in .helmignore, or use --follow-links.",
            )
        self._outside.append(name)

    def _is_in_repository(self, target: Path) -> bool:
        top = self._repository or self._top.parent
        if not target.is_relative_to(top) or (self._repository is None and target.parent != top):
            return False
        return not any(part.startswith(".") for part in target.relative_to(top).parts)


def _walk(
    targets: _LinkTargets,
    folder: Path,
    prefix: str,
    rules: IgnoreRules,
    collected: tuple[Budget, list[ChartFile]],
    above: tuple[str, ...],
) -> None:
    budget, files = collected
    real = os.path.realpath(folder)
    if real in above:
        raise HelmError(f"{folder}: symbolic links go round in a circle")
    for entry in sorted(os.scandir(folder), key=lambda dir_entry: os.fsencode(dir_entry.name)):
        name = prefix + entry.name
        path = Path(entry.path)
        is_directory = entry.is_dir()
        if rules.ignores(name, is_directory):
            continue
        if entry.is_symlink():
            targets.check(path, name)
        if is_directory:
            _walk(targets, path, f"{name}/", rules, collected, (*above, real))
            continue
        mode = entry.stat()
        if not stat.S_ISREG(mode.st_mode):
            raise HelmError(f"cannot load irregular file {path} as it has file mode type bits set")
        if mode.st_size > MAX_FILE:
            raise HelmError(f"chart file {quote(entry.name)} is larger than the maximum file size {MAX_FILE}")
        if len(files) >= MAX_ENTRIES:
            raise HelmError(f"chart has more than {MAX_ENTRIES} files")
        data = path.read_bytes().removeprefix(_BOM)
        budget.take(len(data))
        files.append(ChartFile(name, data))


# .helmignore: the files of a directory that do not belong to the chart.


class Rule(NamedTuple):
    """One line: whether it is negated (`!`), for directories only (trailing `/`), and where it matches."""

    pattern: str
    negated: bool
    directories: bool
    base_only: bool

    def matches(self, path: str) -> bool:
        return match_path(self.pattern, posixpath.basename(path) if self.base_only else path)


class IgnoreRules:
    """The rules of a .helmignore and Helm's rule for dot files in templates/.

    The first decisive rule wins.
    """

    def __init__(self, text: str = "") -> None:
        lines = text.removeprefix("\ufeff").split("\n")
        self.rules = [rule for line in [*lines, "templates/.?*"] if (rule := _parse(line)) is not None]

    def ignores(self, path: str, is_directory: bool) -> bool:
        for rule in self.rules:
            wrong_kind = rule.directories and not is_directory
            if rule.negated:
                if wrong_kind or not rule.matches(path):
                    return True
            elif not wrong_kind and rule.matches(path):
                return True
        return False


def _parse(line: str) -> Rule | None:
    line = line.strip()
    if not line or line.startswith("#"):
        return None
    if "**" in line:
        raise HelmError("double-star (**) syntax is not supported", hint="Write .helmignore without `**`.")
    try:
        match_path(line, "abc")
    except PatternError as error:
        raise HelmError(str(error), hint=f"The pattern {line} in .helmignore has no end.") from error
    negated = line.startswith("!")
    pattern = line.removeprefix("!")
    directories = pattern.endswith("/")
    pattern = pattern.removesuffix("/")
    if pattern.startswith("/"):
        return Rule(pattern[1:], negated, directories, base_only=False)
    return Rule(pattern, negated, directories, base_only="/" not in pattern)
