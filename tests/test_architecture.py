"""The direction of imports: a layer imports only what stands below it (kymatui/__init__.py draws it)."""

from __future__ import annotations

import ast
import re
import sys
from collections import Counter
from collections.abc import Iterator

import pytest

from tests import structure

pytestmark = pytest.mark.xdist_group("architecture")  # parsing the package costs more than looking at it

ALLOWED: dict[str, set[str]] = {
    "patterns": set(),  # regular expressions: all layers may import it
    "structs": set(),  # methods of data classes: all layers may import it
    "moments": set(),  # the reading of times: all layers may import it
    "tar_entries": set(),  # the reading of archives: all layers may import it
    "own_files": set(),  # the writing of files: all layers may import it
    "json_input": set(),  # the reading of JSON from outside: all layers may import it
    "errors": set(),
    "domain": {"errors"},
    "helm": {"errors"},
    "ocm": {"errors", "domain"},
    "crds": {"helm"},
    "schemas": {"helm"},
    "engine": {"errors", "domain", "helm", "kustomize", "ocm"},
    "adapters": {"errors", "domain", "helm", "ocm", "engine"},
    "sandbox": {"errors", "domain", "helm", "ocm", "engine", "operator", "crds", "schemas", "sessions"},
    "settings": {"errors", "domain", "lists"},
    "lists": {"errors", "domain", "engine", "actions"},
    "actions": {"errors", "domain", "helm", "kustomize", "ocm", "engine"},
    "operator": {"errors", "domain", "helm", "ocm", "engine", "actions", "adapters", "settings", "crds", "sessions"},
    "publishing": {"errors", "domain", "helm", "ocm", "engine", "actions", "adapters", "schemas", "sessions"},
    "kustomize": {"errors", "domain", "helm", "schemas", "engine"},
    "sessions": {"errors", "domain", "helm", "ocm", "engine", "actions", "adapters", "settings"},
    "cli": {"errors", "domain", "helm", "ocm", "engine", "actions", "settings", "sessions", "lists"},
    "ui": {"errors", "domain", "engine", "actions", "settings", "sessions", "lists"},
}

# The front door opens the screen, and the check of an installation looks at it; nothing else in `cli` may know `ui`.
EXCEPTIONS = {
    ("cli/commands/program/screen.py", "ui"),
    ("cli/commands/program/demo.py", "ui"),
    ("cli/commands/program/screen_check.py", "ui"),
}
# Programs of their own on the core, which knows nothing of them: only their commands import them.
WINGS = {
    "operator": ("cli/commands/program/operator",),
    "sandbox": ("cli/commands/program/sandbox.py", "cli/commands/program/demo.py", "cli/commands/bundle/dev.py"),
    "publishing": ("cli/commands/bundle/", "cli/options/registry_options.py", "cli/output/transfers.py"),
}
# Files are opened by the front ends, and handed to actions.
OPENED = ("kymatui.adapters.files.",)

# Above these layers nothing outside the standard library may be imported (yaml, jsonschema and so on are helm's tools).
FOR_ALL = ("json_input", "moments", "own_files", "patterns", "structs", "tar_entries")
PURE = ("domain", "errors", *FOR_ALL)


def layer_of(module: structure.Module) -> str:
    return module.place.partition("/")[0].removesuffix(".py")


@pytest.fixture(scope="module")
def files() -> list[structure.Module]:
    """All files of the package."""
    return structure.modules()


def of_layers(files: list[structure.Module]) -> list[structure.Module]:
    return [module for module in files if layer_of(module) not in ("__init__", "__main__")]


@pytest.mark.parametrize("layer", ALLOWED)
def test_a_layer_imports_only_what_stands_below_it(layer: str, files: list[structure.Module]) -> None:
    found = imports_of(layer, files)
    assert not [f"{place} imports {name}" for place, name in found if not may_import(layer, place, name)]


def may_import(layer: str, place: str, name: str) -> bool:
    parts = name.split(".")
    if parts[0] != "kymatui" or len(parts) == 1 or parts[1] in ("__version__", *FOR_ALL, layer):
        return True
    if layer in ("cli", "ui") and f"{name}.".startswith(OPENED):
        return True
    if parts[1] in WINGS and place.startswith(WINGS[parts[1]]):
        return True
    return parts[1] in ALLOWED[layer] or (place, parts[1]) in EXCEPTIONS


@pytest.mark.parametrize("layer", PURE)
def test_the_domain_needs_the_standard_library_and_msgspec(layer: str, files: list[structure.Module]) -> None:
    known = {"kymatui", "__future__", "msgspec", *sys.stdlib_module_names}
    found = imports_of(layer, files)
    assert not [f"{place} imports {name}" for place, name in found if name.split(".")[0] not in known]


def imports_of(layer: str, files: list[structure.Module]) -> Iterator[tuple[str, str]]:
    """(module of the layer, what it imports), each at least once."""
    modules = [module for module in files if layer_of(module) == layer]
    assert modules, f"there is no layer {layer}"
    for module in modules:
        for node, names in module.imports():
            if isinstance(node, ast.ImportFrom):
                assert node.level == 0, f"{module.path}: relative imports hide the direction"
            for name in names:
                yield module.place, name


def test_every_layer_is_in_the_table(files: list[structure.Module]) -> None:
    assert {layer_of(module) for module in of_layers(files)} <= set(ALLOWED)


def test_the_global_generator_of_random_numbers_is_left_alone(files: list[structure.Module]) -> None:
    """Background threads would move it under whoever seeded it, such as a test that draws examples."""
    found = [
        f"{module.place}:{node.lineno} random.{node.attr}"
        for module in of_layers(files)
        for node in module.nodes
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "random"
        if node.attr not in ("Random", "SystemRandom")
    ]
    assert not found


# Where text from outside becomes values, within limits. Nothing else calls a parser of YAML or JSON.
YAML_DOORS = {"helm/yaml/node_reader.py", "helm/yaml/reading.py"}
JSON_DOORS = {
    "json_input.py": "the door",
    "adapters/kube/api/discovery.py": "kymatui's own file, read into types",
    "adapters/kube/objects/decoder.py": "answers of API servers, weighed before (`require_light`)",
    "adapters/kube/transport/status_errors.py": "the body of an error, at most 512 KiB",
    "adapters/kube/watch/remembering_cluster.py": "an object that was read before",
    "engine/apply/planner.py": "values that were written a moment before",
    "domain/inventories.py": "counted before, and read into types",
    "engine/jobs/journal.py": "kymatui's own file, read into types line by line",
    "schemas/values/field_sets.py": "the key of a list item in managed fields, which the server wrote",
    "helm/charts/strvals.py": "counted before; numbers as in Go",
    "helm/encodings/json_decoder.py": "`fromJson` of templates, whose text is limited; numbers and errors as in Go",
}
PARSERS = re.compile(
    r"(?:py)?yaml\.(?:\w*load\w*|compose\w*|parse|scan|\w*Loader|\w*Parser|\w+\.(?:Reader|Scanner|Parser|\w*Loader|\w*Constructor))"
    r"|json\.(?:loads?|JSONDecoder|decoder)|msgspec\.(?:json|yaml|toml|msgpack)\.(?:decode|Decoder)"
)


def test_text_from_outside_is_read_by_one_door(files: list[structure.Module]) -> None:
    found: dict[str, set[str]] = {"yaml": set(), "json": set()}
    for module in files:
        if module.place.startswith("sandbox/"):  # an API server of its own, with Go's reading of JSON
            names = {name for name in parsers_in(module) if "yaml" in name}
        else:
            names = parsers_in(module)
        for name in names:
            found["yaml" if "yaml" in name else "json"].add(module.place)
    assert found["yaml"] == YAML_DOORS
    assert found["json"] == set(JSON_DOORS)


def parsers_in(module: structure.Module) -> set[str]:
    """Return the parsers that a file names: `yaml.load`, or `load` of `from yaml import load`."""
    names = set()
    for node in module.nodes:
        if isinstance(node, ast.Attribute):
            names.add(ast.unparse(node))
        elif isinstance(node, ast.ImportFrom) and node.module and node.module.partition(".")[0] in ("yaml", "json"):
            names |= {f"{node.module.partition('.')[0]}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.Constant) and node.value in ("CSafeLoader", "SafeLoader"):  # of getattr
            names.add(f"yaml.{node.value}")
    return {name for name in names if PARSERS.fullmatch(name)}


# What reads text from outside, which may take a second of it.
READERS = {
    *("load_yaml", "load_exactly", "load_as_json", "documents", "compose_yaml", "read_json", "read_objects"),
    *("each_object", "connect_from_secret", "read_descriptor", "parse_descriptor", "decode_release", "read_tar"),
    *("unpack", "load_archive", "render", "chart_bundle", "read_layer", "read_plan", "read_catalog", "from_secret"),
}
LOCK = re.compile(r"_?lock\b|_changed\b|_condition\b")
# Locks that only one cluster, one file or one process needs.
OWN_LOCKS = {
    "adapters/kube/auth/credentials.py": "of the credentials of one connection",
    "adapters/kube/api/discovery.py": "of one client",
}


def test_nothing_from_outside_is_read_within_a_lock_that_others_need(files: list[structure.Module]) -> None:
    """One runtime, registry or Secret would delay all others."""
    found = [
        f"{module.place}:{node.lineno} {name}"
        for module in of_layers(files)
        if not module.place.startswith("sandbox/") and module.place not in OWN_LOCKS
        for klass in module.nodes
        if isinstance(klass, ast.ClassDef)
        for node in ast.walk(klass)
        if isinstance(node, ast.With)
        and any(re.search(r"_?lock\b|_changed\b|_condition\b", ast.unparse(i)) for i in node.items)
        for name in called_below(node, klass) & READERS
    ]
    assert found == []


def called_below(node: ast.AST, klass: ast.ClassDef) -> set[str]:
    """Return the names of what a block calls, also by way of methods of its own class."""
    methods = {one.name: one for one in klass.body if isinstance(one, ast.FunctionDef)}
    names: set[str] = set()
    queue = [node]
    while queue:
        for call in ast.walk(queue.pop()):
            if isinstance(call, ast.Call):
                name = ast.unparse(call.func)
                own = name.removeprefix("self.")
                if own != name and own in methods and own not in names:
                    queue.append(methods[own])
                names.add(own if own != name else name.rpartition(".")[2])
    return names


# The words of other programs: Kubernetes' in schemas and sandbox, Helm's in its library and its command.
FOREIGN = ("sandbox/", "schemas/", "helm/", "cli/commands/helm/")


def test_numbers_agree_with_nouns(files: list[structure.Module]) -> None:
    found = [
        f"{module.place}: {text}"
        for module in of_layers(files)
        if not module.place.startswith(FOREIGN)
        for text in texts_in(module)
        if re.search(r"[a-z]\((s|es|ies)\)", text)
    ]
    assert found == []


def texts_in(module: structure.Module) -> Iterator[str]:
    """All texts of a file that are no docstrings."""
    ours = {id(node.value) for node in module.nodes if isinstance(node, ast.Expr)}
    for node in module.nodes:
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in ours:
            yield node.value


def test_files_and_folders_import_in_no_circle(files: list[structure.Module]) -> None:
    """Imports under TYPE_CHECKING and inside functions count."""
    graph = structure.edges(files)
    assert structure.circles(graph) == []
    packages = {module.name for module in files if module.path.name == "__init__.py"}
    assert structure.circles(structure.folder_graph(graph, packages)) == []


def test_no_one_asks_a_session_which_one_it_is(files: list[structure.Module]) -> None:
    """Sessions are one Protocol (kymatui/actions/session.py): no isinstance, hasattr, getattr or cast on one."""
    assert structure.session_probes(files) == []


# Lower folders first; those on one line do not know each other.
ORDER = {
    "domain": (
        ("kubernetes",),
        ("rights",),
        ("kyma",),
        ("gitops",),
        ("ownership",),
        ("inventories",),
        ("installed",),
        ("snapshot",),
        ("versions",),
        ("modules",),
        ("catalog",),
        ("remote", "fleet", "logs", "objects"),
        ("kyma_edit",),
        ("plans", "audit", "whatif"),
    ),
    "engine": (
        ("cluster",),
        ("bundles",),
        ("inventory", "plans"),
        ("jobs", "sources"),
        ("authoring",),
        ("dryrun",),
        ("deletion",),
        ("apply",),
        ("controllers",),
        ("library",),
    ),
    "helm": (
        ("govalues",),
        ("yaml", "semver"),
        ("gotime",),
        ("encodings",),
        ("language",),
        ("functions",),
        ("charts",),
        ("schemas",),
        ("rendering",),
        ("linting",),
    ),
    "ui": (
        ("terminal", "navigation", "viewmodels"),
        ("presenters",),
        ("widgets", "connection"),
        ("base",),
        ("dialogs",),
        ("flows", "logs"),
        ("panes",),
        ("screens",),
        ("application",),
    ),
}


@pytest.mark.parametrize("layer", ORDER)
def test_a_folder_of_a_layer_imports_only_lower_ones(layer: str, files: list[structure.Module]) -> None:
    rank = {name: index for index, names in enumerate(ORDER[layer]) for name in names}
    wrong = []
    for source, targets in structure.edges(files).items():
        if source.startswith(f"kymatui.{layer}."):
            here = source.split(".")[2]
            there = {target.split(".")[2] for target in targets if target.startswith(f"kymatui.{layer}.")} - {here}
            wrong += [f"{source} imports {name}" for name in there if rank[name] >= rank[here]]
    assert wrong == []


@pytest.mark.parametrize("folder", ["presenters", "viewmodels"])
def test_rows_and_texts_of_screens_know_no_widget(folder: str, files: list[structure.Module]) -> None:
    """They decide what a screen displays, and are tested without one."""
    own = [module for module in files if module.place.startswith(f"ui/{folder}/")]
    assert own
    widgets = ("kymatui.ui.widgets", "textual.widget", "textual.screen", "textual.app")
    assert not [
        f"{module.place} imports {name}"
        for module in own
        for _, names in module.imports()
        for name in names
        if name.startswith(widgets)
    ]


# Classes of more than 25 methods, or more than 40 with their bases, each with its reason. The list only shrinks.
LARGE_CLASSES = {
    "helm/gotime/time_parser.py:_Reader": "a parser: one method for each part of a layout",
    "helm/gotime/times.py:Time": "the methods of Go's Time, which templates call",
    "helm/language/compiling.py:Expressions": "a compiler: one method for each node",
    "helm/language/parsing.py:_Parser": "a parser: one method for each production",
    "schemas/cel/cel_parser.py:_Parser": "a parser: one method for each production",
}


def test_classes_are_small(files: list[structure.Module]) -> None:
    counts = structure.method_counts(files)
    large = {name for name, (own, whole) in counts.items() if own > 25 or whole > 40}
    assert large == set(LARGE_CLASSES)


def test_a_class_name_stands_for_one_thing(files: list[structure.Module]) -> None:
    assert structure.repeated_classes(files) == {}


def test_files_are_as_long_as_one_subject(files: list[structure.Module]) -> None:
    """Shorter ceilings made fragments of one subject; beyond this, a file has two."""
    assert {module.place for module in files if module.text.count("\n") > 800} == set()


# Libraries that are slow to import, or not always there: imported by the functions that need them.
SLOW = {
    "aiohttp",
    "cryptography",
    "ctypes",
    "difflib",
    "fcntl",
    "jsonschema",
    "kubernetes",
    "kymatui.sandbox.door",
    "msgspec",
    "oras",
    "platformdirs",
    "pysequoia",
    "re2",
    "requests",
    "textual",
    "urllib3",
    "yaml",
}
# Modules of these layers that import inside functions what is no such library, each with its reason.
LATE_IMPORTS = {
    "sandbox/door.py": "the sandbox's server is not loaded for its options",
    "sandbox/situations.py": "the sandbox's server is not loaded for its options",
    "adapters/kube/api/client.py": "reviews of permissions: most commands ask for none",
    "domain/catalog/rows.py": "reviews of permissions: most commands ask for none",
    "engine/cluster/request_scope.py": "reviews of permissions: most commands ask for none",
    "adapters/kube/auth/credentials.py": "plugins and OIDC providers: few kubeconfigs have one",
    "adapters/kube/auth/kubeconfig.py": "YAML: the screen paints before it reads a kubeconfig",
    "adapters/kube/auth/secret_kubeconfig.py": "YAML: the screen paints before it reads a kubeconfig",
    "engine/__init__.py": "the library, on first use: the screen needs parts of the engine only",
    "helm/__init__.py": "the public names, on first use: listing charts needs no template language",
    "helm/charts/glob_patterns.py": "regular expressions: few charts have a .helmignore",
    "helm/charts/metadata.py": "times: few charts have a creation time",
    "helm/functions/__init__.py": "the cache's signature, when a cache is asked for",
    "helm/functions/data.py": "TOML: few charts use it",
    "helm/yaml/node_reader.py": "Go's numbers and messages: few texts have large numbers or odd keys",
    "helm/yaml/reading.py": "Go's numbers: few texts have large ones",
    "helm/language/tables.py": "YAML of .Values.YAML, which few charts call",
    "helm/language/units.py": "parser and compiler: a chart whose code is cached needs neither",
    "helm/linting/contents.py": "JSON schemas: few charts have one",
    "helm/schemas/checking.py": "JSON schemas: few charts have one",
    "ocm/signatures.py": "`cryptography`: few modules are installed with a signature",
    "helm/schemas/quick_check.py": "regular expressions and formats: few schemas have one",
}
STRICT = (
    "domain/",
    "engine/",
    "helm/",
    "ocm/",
    "sandbox/",
    "schemas/",
    "adapters/kube/",
    "adapters/oci/",
    "adapters/http/",
)
# Late imports of the package's own modules in the other layers: how many a folder may have, and why. They only shrink.
LATE_IMPORTS_BELOW = {
    "cli/commands": (114, "help, completion and a wrong option load a command, and not what it runs"),
    "sessions/charts.py": (11, "registries and repositories need different readers, and a template no signature"),
    "sessions/cluster": (7, "a shell waits for each completion; one cluster needs no control plane"),
    "sessions/completion.py": (6, "a shell waits for each completion, which needs one source of names"),
    "sessions/contexts.py": (3, "the first paint opens no session"),
    "lists/catalog.py": (2, "the first paint and the configuration need the titles of columns only"),
    "sessions/feeds": (1, "few clusters have a catalog on the web"),
    "sessions/fetching.py": (2, "its libraries take 0.2 s to load, and many commands fetch nothing"),
    "sessions/install_port.py": (3, "a module of the catalog needs no Helm"),
    "sessions/registries.py": (1, "a layout in a folder needs no registry"),
    "ui/application": (47, "the first paint needs one screen of twenty, and no flow"),
    "actions/edits": (1, "few modules that are handed over are Helm releases"),
    "actions/modules": (21, "a module of the catalog needs no Helm, a chart no components, and the reverse"),
    "adapters/files": (8, "names of backups and journals are completed without what reads them"),
    "cli/cluster_options.py": (1, "registries are reached by few of the commands that have their options"),
    "cli/options": (21, "options are added to every parser, and what they choose is used by one command"),
    "ui/flows": (15, "a flow loads the engine when a key starts it, and not with the screen"),
    "ui/screens": (5, "a screen opens others, which are loaded when they open"),
    "operator/manifest_context.py": (8, "a command that only reads Manifests opens no runtime"),
    "cli/output": (10, "a table needs neither SARIF nor the engine's plans"),
    "cli/shell_completion.py": (9, "a shell waits for each completion, which needs one source of names"),
    "ui/connection": (8, "the thread that connects loads the session, after the first paint"),
    "cli/session_arguments.py": (7, "options are added without a session, and one cluster needs no control plane"),
    "ui/panes": (7, "a tab is loaded when it opens"),
    "actions/restored_objects.py": (1, "names of backups are completed without the engine"),
    "cli/parser.py": (4, "the parser of the screen needs no command"),
    "ui/dialogs": (2, "a dialog is loaded when it opens"),
    "cli/main.py": (3, "completion, and errors that name a runtime, are rare"),
    "ui/base": (3, "the first paint needs no help and no prompt"),
    "actions/operator_lease.py": (1, "a process needs an identity only to hold a Lease"),
    "cli/help_topics.py": (1, "a topic's values are loaded for that topic"),
    "publishing/places.py": (1, "a bundle of a file needs no registry"),
    "settings/config_file.py": (1, "most machines have no configuration file"),
    "ui/presenters": (1, "only an empty table says why"),
}


def test_imports_are_at_the_top_unless_a_start_pays_for_them(files: list[structure.Module]) -> None:
    late = {module.place: [name for name in module.late_names() if name not in SLOW] for module in files}
    assert {place for place, names in late.items() if names and place.startswith(STRICT)} == set(LATE_IMPORTS)
    found = Counter[str]()
    for place, names in late.items():
        if names and not place.startswith(STRICT):
            found["/".join(place.split("/")[:2])] += len(names)
    allowed = {place: most for place, (most, _) in LATE_IMPORTS_BELOW.items()}
    assert {place: count for place, count in found.items() if count > allowed.get(place, 0)} == {}


def test_no_import_is_late_that_a_start_pays_for_anyway(files: list[structure.Module]) -> None:
    assert structure.needless_late_imports(files) == []


BARE_VERBS = {"asked", "go", "look", "said", "say", "says", "tell", "tells", "told", "want", "wanted", "wants", "words"}


def test_no_function_is_named_by_a_bare_verb_of_talking(files: list[structure.Module]) -> None:
    """A stranger cannot know what `told` or `wanted` does."""
    found = [
        f"{module.place}:{node.lineno}: {node.name}"
        for module in files
        for node in module.nodes
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
        and node.name.strip("_").lower() in BARE_VERBS
    ]
    assert found == []


def test_local_names_say_what_they_name(files: list[structure.Module]) -> None:
    """Hold the names that say nothing below 5 of 1,000.

    A name is the noun of the thing in the field's word, which a reader understands without its history:
    `for module in modules`, `state = read_state(…)`, `remaining_objects`. `one`, `found` or `place` is none
    (`structure.EMPTY_NAMES`). Counted is each binding: assignments, targets of loops, comprehensions, `with`,
    `except`, `match` and `:=`, parameters, and fields of classes.
    """
    empty, total = structure.empty_names(files)
    assert total > 10_000
    assert 1000 * sum(map(len, empty.values())) / total < 5, structure.most(empty)


# How a description of a value begins, and not an imperative; "raises", "waits" are third persons.
NO_IMPERATIVE = {
    *("a", "all", "an", "as", "at", "both", "by", "each", "every", "false", "for", "from", "how", "if", "in", "its"),
    *("no", "not", "nothing", "of", "one", "only", "that", "the", "these", "this", "those", "to", "true", "until"),
    *("what", "when", "where", "whether", "which", "while", "who", "whoever", "why", "with"),
    *("asks", "begins", "ends", "keeps", "opens", "prints", "raises", "reads", "returns", "runs", "sets", "waits"),
    *("kyma", "manifest", "module", "runtime", "unmanaged"),
    *("says", "shows", "starts", "stops", "takes", "writes", "yields"),
}


def test_docstrings_of_functions_begin_with_an_imperative(files: list[structure.Module]) -> None:
    found = []
    for module in files:
        for node in module.nodes:
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and (text := ast.get_docstring(node)):
                first = text.split()[0].strip(".,:;()").lower()
                if first in NO_IMPERATIVE:
                    found.append(f"{module.place}:{node.lineno}: {node.name}: {text.splitlines()[0]}")
    assert found == []


# What servers, charts, files and plugins write reaches the terminal and the log through doors (see SECURITY.md).
DOORS = (
    *("cli/output/printing.py", "cli/output/terminal.py"),
    *("cli/session_arguments.py", "ui/flows/logins.py"),  # prompts of plugins have no line break; sanitized
)
DRAWS = {
    "cli/commands/program/screen.py": "the first words of the screen, with sequences of its own",
    "cli/output/transfers.py": "bars, which move the cursor; their texts are sanitized",
}
_STREAMS = tuple(f"sys.{name}" for name in ("stdout", "stderr", "__stdout__", "__stderr__"))
_WRITES = (".write", ".writelines", ".buffer.write", ".buffer.writelines")
_PRINTS = {"print", "rich.print", *(stream + write for stream in _STREAMS for write in _WRITES)}


def calls(files: list[structure.Module]) -> Iterator[tuple[str, ast.Call]]:
    return ((module.place, node) for module in files for node in module.nodes if isinstance(node, ast.Call))


def test_nothing_prints_past_the_door(files: list[structure.Module]) -> None:
    """Use `print_line` for a sentence with values, `print_text` for a block, `print_message` for `kymatui: …`."""
    found = []
    for place, call in calls(files):
        called = ast.unparse(call.func)
        past = called in _PRINTS or (called == "os.write" and ast.unparse(call.args[0]) in ("1", "2"))
        if (past and place not in DOORS) or (called == "raw_stream" and place not in {*DOORS, *DRAWS}):
            found.append(f"{place}:{call.lineno} {called}")
    assert found == []


def test_sentences_with_values_are_printed_as_lines(files: list[structure.Module]) -> None:
    """Use `print_line` or `paragraph`: a block is drawn by functions that sanitize its parts, an f-string is not."""
    found = []
    for place, call in calls(files):
        if ast.unparse(call.func) in ("print_text", "wrapped") and isinstance(call.args[0], ast.JoinedStr | ast.BinOp):
            found.append(f"{place}:{call.lineno}")
    assert found == []


def test_archives_are_read_through_one_door(files: list[structure.Module]) -> None:
    """Use `kymatui.tar_entries`: the standard library recurses, hangs and stops silently at damaged headers."""
    found = []
    for place, call in calls(files):
        if ast.unparse(call.func) in ("tarfile.open", "tarfile.TarFile", "tarfile.TarInfo.frombuf"):
            mode = next((word.value for word in call.keywords if word.arg == "mode"), *call.args[1:2])
            if not (isinstance(mode, ast.Constant) and str(mode.value).startswith("w")):
                found.append(f"{place}:{call.lineno}")
    assert found == []


# Files and folders are created in `kymatui.own_files`; what else creates one, and why.
CREATORS = {
    "own_files.py": "the door itself",
    "adapters/files/image_layout.py": "a lock in a folder that the user names; blobs, through `replaced`; "
    "an archive in a temporary folder, which only the user can enter",
    "adapters/files/object_editor.py": "a temporary file for the editor, which only the user can read",
    "adapters/kube/auth/connection_pool.py": "in a temporary folder, for the moment in which OpenSSL reads it",
    "publishing/places.py": "a lock, through `open_own`",
    "sandbox/apiserver/http/http_server.py": "in a temporary folder, for the moment in which OpenSSL reads it",
    "sandbox/sandbox_process.py": "a temporary folder, which only the user can enter",
}
_CREATES = {"mkdir", "makedirs", "write_text", "write_bytes", "mkstemp", "mkdtemp", "NamedTemporaryFile"}


def test_files_and_folders_are_created_through_one_door(files: list[structure.Module]) -> None:
    """Use `kymatui.own_files`: it keeps other users out, whatever the umask is."""
    found = []
    for place, call in calls(files):
        name = ast.unparse(call.func).rpartition(".")[2]
        modes = [ast.unparse(one) for one in (*call.args, *(word.value for word in call.keywords))]
        opens = name == "open" and any(re.fullmatch(r"'[wax+].*'|'r.?\+.*'|.*O_CREAT.*", one) for one in modes)
        if (name in _CREATES or opens) and place not in CREATORS and ast.unparse(call.func) != "tarfile.open":
            found.append(f"{place}:{call.lineno} {ast.unparse(call.func)}")
    assert found == []


def test_each_promise_of_security_has_tests() -> None:
    """SECURITY.md links the tests of every promise and of every row of its threat model."""
    text = (structure.PACKAGE.parent / "SECURITY.md").read_text("utf-8")
    promises = re.findall(r"^- .*\n(?:  .*\n)*", text, re.MULTILINE)
    rows = re.findall(r"^\| .*$", text, re.MULTILINE)[1:]
    links = {one: re.findall(r"\]\((tests/[^)]+\.py)\)", one) for one in (*promises, *rows)}
    assert len(promises) >= 7
    assert len(rows) >= 10
    assert [one[:60] for one, found in links.items() if not found] == []
    assert [one for found in links.values() for one in found if not (structure.PACKAGE.parent / one).exists()] == []
