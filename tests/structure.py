"""Measure the structure of the package: circles, sizes, names, late imports, docstrings.

`python tests/structure.py` prints the measures with their aims, then the numbers; tests/test_structure.py holds the
measures, tests/test_architecture.py the rules.
"""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

PACKAGE = Path(__file__).resolve().parents[1] / "kymatui"


class Module:
    """One file of the package, parsed once."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.place = path.relative_to(PACKAGE).as_posix()
        parts = ["kymatui", *path.relative_to(PACKAGE).with_suffix("").parts]
        self.name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        self.text = path.read_text("utf-8")
        self.tree = ast.parse(self.text)
        self.nodes = [*ast.walk(self.tree)]

    def imports(self) -> Iterator[tuple[ast.Import | ast.ImportFrom, list[str]]]:
        for node in self.nodes:
            if isinstance(node, ast.Import | ast.ImportFrom):
                yield node, _imported(node)

    def late_imports(self) -> list[ast.Import | ast.ImportFrom]:
        """Imports of the package inside functions."""
        found = []
        for node in self.nodes:
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                for inner in ast.walk(node):
                    if isinstance(inner, ast.Import | ast.ImportFrom):
                        found.append(inner)
        return list({id(node): node for node in found}.values())

    def early_names(self) -> set[str]:
        """Return what importing the module imports: its packages, and the imports outside functions."""
        found = {self.name}
        blocks: list[list[ast.stmt]] = [self.tree.body]
        while blocks:
            for node in blocks.pop():
                if isinstance(node, ast.Import | ast.ImportFrom):
                    found |= set(_imported(node))
                elif isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
                    blocks.append(node.orelse)
                elif not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                    blocks += [getattr(node, name, []) for name in ("body", "orelse", "finalbody")]
                    blocks += [handler.body for handler in getattr(node, "handlers", [])]
        return {
            ".".join(parts[: end + 1]) for parts in (name.split(".") for name in found) for end in range(len(parts))
        }

    def late_names(self) -> list[str]:
        """What is imported inside functions: the package's own modules and top-level names of others."""
        found = []
        for node in self.late_imports():
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else [str(node.module)]
            found += [name if name.startswith("kymatui") else name.split(".")[0] for name in names]
        return found

    def classes(self) -> list[ast.ClassDef]:
        return [node for node in self.nodes if isinstance(node, ast.ClassDef)]


def _imported(node: ast.Import | ast.ImportFrom) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    return [f"{node.module}.{alias.name}" for alias in node.names]


def modules() -> list[Module]:
    return [Module(path) for path in sorted(PACKAGE.rglob("*.py"))]


def edges(files: list[Module]) -> dict[str, set[str]]:
    """Which file imports which, wherever in the file the import stands."""
    names = {module.name for module in files}
    out: dict[str, set[str]] = {}
    for module in files:
        targets: set[str] = set()
        for _, imported in module.imports():
            for name in imported:
                target = name if name in names else name.rpartition(".")[0]
                if target in names and target != module.name:
                    targets.add(target)
        out[module.name] = targets
    return out


def needless_late_imports(files: list[Module]) -> list[str]:
    """Return the imports inside functions of what importing the file has imported already."""
    early = {module.name: module.early_names() for module in files}
    found = []
    for module in files:
        if late := module.late_imports():
            loaded: set[str] = set()
            queue = [module.name]
            while queue:
                name = queue.pop()
                if name not in loaded:
                    loaded.add(name)
                    queue += early.get(name, ())
            found += [
                f"{module.place}:{node.lineno} {name}"
                for node in late
                for name in _imported(node)
                if name in loaded or (name not in early and name.rpartition(".")[0] in loaded)
            ]
    return found


def circles(graph: dict[str, set[str]]) -> list[list[str]]:
    """Return the strongly connected components of two files or more (Tarjan, without recursion)."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    on_stack: set[str] = set()
    found: list[list[str]] = []
    for root in graph:
        if root in index:
            continue
        work = [(root, iter(sorted(graph[root])))]
        index[root] = low[root] = len(index)
        stack.append(root)
        on_stack.add(root)
        while work:
            node, targets = work[-1]
            for target in targets:
                if target not in index:
                    index[target] = low[target] = len(index)
                    stack.append(target)
                    on_stack.add(target)
                    work.append((target, iter(sorted(graph[target]))))
                    break
                if target in on_stack:
                    low[node] = min(low[node], index[target])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == index[node]:
                    component = []
                    while True:
                        member = stack.pop()
                        on_stack.discard(member)
                        component.append(member)
                        if member == node:
                            break
                    if len(component) > 1:
                        found.append(sorted(component))
    return found


def folder_graph(graph: dict[str, set[str]], packages: set[str]) -> dict[str, set[str]]:
    """Which folder imports from which; a folder and the folders inside it are one place."""

    def folder(name: str) -> str:
        return name if name in packages else name.rpartition(".")[0]

    out: dict[str, set[str]] = defaultdict(set)
    for source, targets in graph.items():
        out[folder(source)]
        for target in targets:
            if folder(target) != folder(source) and folder(target) != "kymatui":
                out[folder(source)].add(folder(target))
                out[folder(target)]
    return dict(out)


def method_counts(files: list[Module]) -> dict[str, tuple[int, int]]:
    """Return {file:class: (methods of its own, methods with its bases inside the package)}."""
    by_name: dict[str, list[tuple[Module, ast.ClassDef]]] = defaultdict(list)
    for module in files:
        for node in module.classes():
            by_name[node.name].append((module, node))

    def own(node: ast.ClassDef) -> set[str]:
        return {n.name for n in node.body if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)}

    def whole(module: Module, node: ast.ClassDef, seen: frozenset[str]) -> set[str]:
        names = own(node)
        for base in node.bases:
            inner = base.value if isinstance(base, ast.Subscript) else base
            name = inner.id if isinstance(inner, ast.Name) else inner.attr if isinstance(inner, ast.Attribute) else ""
            if name in seen or name not in by_name:
                continue
            candidates = [pair for pair in by_name[name] if pair[0] is module] or by_name[name]
            names |= whole(*candidates[0], seen | {name})
        return names

    return {
        f"{module.place}:{node.name}": (len(own(node)), len(whole(module, node, frozenset({node.name}))))
        for pairs in by_name.values()
        for module, node in pairs
    }


def repeated_classes(files: list[Module]) -> dict[str, list[str]]:
    """Return class names that exist more than once; private ones and messages inside widgets are no matter."""
    places: dict[str, list[str]] = defaultdict(list)
    for module in files:
        for node in module.classes():
            is_message = any(isinstance(base, ast.Name) and base.id == "Message" for base in node.bases)
            if not node.name.startswith("_") and not is_message:
                places[node.name].append(module.place)
    return {name: found for name, found in sorted(places.items()) if len(found) > 1}


def first_words(files: list[Module]) -> Counter[str]:
    """Count the first words of the docstrings of functions and classes."""
    words: Counter[str] = Counter()
    for module in files:
        for node in module.nodes:
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                text = ast.get_docstring(node)
                if text:
                    words[text.split()[0].strip(",.:`").lower()] += 1
    return words


_PROBES = frozenset(("isinstance", "issubclass", "hasattr", "getattr", "cast"))


def session_probes(files: list[Module]) -> list[str]:
    """Return where code asks a session which one it is: a probe whose arguments name a session or a session's class."""
    found = []
    for module in files:
        for node in module.nodes:
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _PROBES:
                words = [part for arg in node.args for part in map(_word, ast.walk(arg))]
                if any("session" in word.lower() for word in words):
                    found.append(f"{module.place}:{node.lineno}")
    return found


def _word(node: ast.AST) -> str:
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name) | ast.Constant(value=str(name)):
            return name
    return ""


# Words that say nothing of what they name (CONTRIBUTING.md, "Rules"): verbs, pronouns and pictures.
EMPTY_NAMES = {
    *("one", "ones", "found", "made", "seen", "given", "said", "told", "left", "whole", "wanted", "there", "patience"),
    *("way", "ways", "leg", "legs", "turn", "turns", "sight", "shelf", "site", "sites", "place", "places", "memory"),
}


_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ListComp, ast.SetComp, ast.GeneratorExp)


def bound_names(nodes: Iterable[ast.AST]) -> Iterator[tuple[ast.AST, str]]:
    """Yield each name that is bound, with its node: targets of all kinds, and parameters."""
    for node in nodes:
        match node:
            case ast.Name(id=name, ctx=ast.Store()) | ast.arg(arg=name):
                yield node, name
            case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
                yield node, name


def empty_names(files: list[Module]) -> tuple[dict[str, list[str]], int]:
    """Return the names that say nothing, by file, and count all names that are bound.

    `left` beside `right` is the name of an operand.
    """
    empty: dict[str, list[str]] = defaultdict(list)
    total = 0
    for module in files:
        bound = [*bound_names(module.nodes)]
        total += len(bound)
        suspects = [(node, name) for node, name in bound if name.strip("_").rstrip("_0123456789") in EMPTY_NAMES]
        if any(name == "left" for _, name in suspects):
            scopes = [[*bound_names(ast.walk(node))] for node in module.nodes if isinstance(node, _SCOPES)]
            pairs = {id(node) for names in scopes if any(name == "right" for _, name in names) for node, _ in names}
            suspects = [(node, name) for node, name in suspects if name != "left" or id(node) not in pairs]
        if suspects:
            empty[module.place] = [name for _, name in suspects]
    return empty, total


def most(names: dict[str, list[str]], limit: int = 10) -> str:
    """Say which files have most of the names."""
    worst = sorted(names.items(), key=lambda item: -len(item[1]))[:limit]
    return ", ".join(f"{place}: {len(words)} ({' '.join(sorted(set(words)))})" for place, words in worst)


LIBRARIES = ("helm/", "kustomize/", "ocm/", "schemas/")
AIMS: Mapping[str, int] = MappingProxyType(
    {
        "files that `catalog` enters": 80,
        "files that `audit` enters": 110,
        "files that `install --dry-run` enters": 130,
        "files that `delete --dry-run` enters": 150,
        "lines without libraries and sandbox": 95_000,
        "files": 1_050,
        "circles": 0,
        "classes over 40 methods": 0,
        "names that say nothing, of 1,000": 5,
    }
)
"""The measures that the design names, each with the most that is aimed at."""
COMMANDS: Mapping[str, Sequence[str]] = MappingProxyType(
    {
        "files that `catalog` enters": ("catalog",),
        "files that `audit` enters": ("audit",),
        "files that `install --dry-run` enters": ("install", "cloud-manager", "--direct", "--dry-run"),
        "files that `delete --dry-run` enters": ("delete", "serverless", "--cascade", "--dry-run"),
    }
)
# What runs while a module is imported is not counted: a table that is built enters no file that a reader has to open.
_PROFILE = """
import json, sys, threading
entered = set()
def profile(frame, event, argument):
    code = frame.f_code
    if event == "call" and code.co_flags & 1 and code.co_filename not in entered:
        caller = frame.f_back
        while caller is not None:
            if caller.f_code.co_name == "<module>" and caller.f_code.co_filename != "<string>":
                return
            caller = caller.f_back
        entered.add(code.co_filename)
from kymatui.cli.main import main
threading.setprofile(profile)
sys.setprofile(profile)
try:
    status = main()
except SystemExit as end:
    status = end.code or 0
sys.setprofile(None)
threading.setprofile(None)
print(json.dumps({"status": status, "files": sorted(entered)}), file=sys.stderr)
"""


def entered_files(kubeconfig: Path, words: Sequence[str], folder: Path) -> list[str]:
    """Return the files of the package with a function that one run of a command calls; `folder` is its home."""
    environment = {name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")}
    environment.update(KUBECONFIG=str(kubeconfig), HOME=str(folder), XDG_STATE_HOME=str(folder))
    run = subprocess.run([sys.executable, "-c", _PROFILE, *words], env=environment, capture_output=True, text=True)
    document = json.loads(run.stderr.splitlines()[-1])
    if document["status"] not in (0, 2):
        raise RuntimeError(run.stderr)
    paths = (Path(name) for name in document["files"])
    return [path.relative_to(PACKAGE).as_posix() for path in paths if path.is_relative_to(PACKAGE)]


def size_measures(files: list[Module]) -> dict[str, int]:
    """Return the measures that need no cluster."""
    outside = [module for module in files if not module.place.startswith((*LIBRARIES, "sandbox/"))]
    empty, total = empty_names(files)
    return {
        "lines without libraries and sandbox": sum(module.text.count("\n") for module in outside),
        "files": len(files),
        "circles": len(circles(edges(files))),
        "classes over 40 methods": sum(own > 40 for own, _ in method_counts(files).values()),
        "names that say nothing, of 1,000": -(-1000 * sum(map(len, empty.values())) // total),
    }


def command_measures(kubeconfig: Path, folder: Path) -> dict[str, int]:
    """Return how many files each command of the design enters, on a sample world."""
    return {name: len(entered_files(kubeconfig, words, folder)) for name, words in COMMANDS.items()}


def print_measures(files: list[Module]) -> None:
    from tempfile import TemporaryDirectory

    from tests.sandboxes.starting import told_sandbox

    with told_sandbox() as running, TemporaryDirectory() as folder:
        measures = {**command_measures(running.kubeconfig, Path(folder)), **size_measures(files)}
    for name, number in measures.items():
        print(f"{name}: {number}, aim {AIMS[name]}{'' if number <= AIMS[name] else ' (missed)'}")


def main() -> None:
    files = modules()
    print_measures(files)
    graph = edges(files)
    found = circles(graph)
    packages = {module.name for module in files if module.path.name == "__init__.py"}
    folder_circles = circles(folder_graph(graph, packages))
    lines = sum(module.text.count("\n") for module in files)
    outside = sum(m.text.count("\n") for m in files if not m.place.startswith(("sandbox/", "helm/", "schemas/")))
    print(f"files {len(files)}, lines {lines}, without sandbox, schemas and helm {outside}")
    print(f"circles between files: {len(found)} with {sum(map(len, found))} files")
    for component in sorted(found, key=len, reverse=True):
        print("   ", " ".join(name.removeprefix("kymatui.") for name in component))
    print(f"circles between folders: {len(folder_circles)}")
    for component in folder_circles:
        print("   ", " ".join(name.removeprefix("kymatui.") for name in component))
    sizes = Counter(module.path.parent.relative_to(PACKAGE).as_posix() for module in files)
    print("folders over 15 files:", {name: size for name, size in sizes.most_common() if size > 16})
    counts = method_counts(files)
    print("classes over 25 methods, or over 40 with bases:")
    for name, (own, whole) in sorted(counts.items(), key=lambda item: -item[1][1]):
        if own > 25 or whole > 40:
            print(f"    {own} {whole} {name}")
    repeated = repeated_classes(files)
    print(f"class names that exist more than once: {len(repeated)}")
    print("   ", " ".join(f"{name}×{len(places)}" for name, places in repeated.items()))
    late = [(module.place, len(module.late_imports())) for module in files if module.late_imports()]
    print(f"late imports: {sum(count for _, count in late)} in {len(late)} files")
    needless = needless_late_imports(files)
    print(f"needless late imports: {len(needless)}", *needless)
    stems = Counter(module.path.stem for module in files if module.path.stem != "__init__")
    print(f"modules in -ing: {sum(1 for m in files if m.path.stem.endswith('ing'))}")
    print("stems three times or more:", {stem: n for stem, n in stems.most_common() if n > 2})
    print("files over 400 lines:", {m.place: m.text.count("\n") for m in files if m.text.count("\n") > 400})
    probes = session_probes(files)
    print(f"probes of sessions: {len(probes)}", *probes[:60])
    comments = sum(1 for m in files for line in m.text.splitlines() if line.lstrip().startswith("#"))
    print(f"comment lines per 100: {100 * comments / lines:.1f}")
    empty, total = empty_names(files)
    count = sum(map(len, empty.values()))
    print(f"names that say nothing: {1000 * count / total:.1f} of 1,000; {most(empty)}")
    words = first_words(files)
    print(f"docstrings of functions: {sum(words.values())}; first words:", words.most_common(60))


if __name__ == "__main__":
    sys.path.insert(0, str(PACKAGE.parent))  # `tests` is beside the package
    main()
