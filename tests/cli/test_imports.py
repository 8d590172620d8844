"""What a command imports: a budget of modules and of our source, and packages that no command needs to start.

Libraries count as modules only: their size is their publishers', who make a release without asking.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.xdist_group("fleet")  # one sandbox for all tests of this group

PROBE = """
import json, sys
from kymatui.cli.main import main
try:
    status = main()  # of this process, which then ends as the program does: OpenSSL's end may crash below its threads
except SystemExit as done:
    status = done.code or 0
files = {name: getattr(module, "__file__", None) for name, module in list(sys.modules.items())}
print(json.dumps({"status": status, "files": files}), file=sys.stderr)
"""
# The official client is for OIDC, pods and proxies of the environment, the rest for screens, charts and registries.
NEEDLESS = {
    "kubernetes",
    "pydantic",
    "requests",
    "oauthlib",
    "aiohttp",
    "textual",
    "jsonschema",
    "cryptography",
    "oras",
}
# With 11 modules and 60 KiB of what reads YAML and JSON within limits, kubeconfigs among them, no slower than PyYAML's.
# Inventories are read where modules are listed: six modules and 60 KiB. Columns are those of the screen: 6 and 45 KiB.
# Logins of credential plugins and the rules of proxies: three modules and 21 KiB.
# The record of what an action may and needs (`kymatui rights`): 8 KiB, and two modules fewer.
# How far a first connection is: one module and 2 KiB.
# What a command waits for, in which context: 2 to 4 KiB.
# Failed TLS handshakes in words, and drift without Deployments: 2 KiB. What blocks a deletion: 1 KiB.
# What another tool deleted is not what is broken: 4 KiB. Which tool installed a module: 2 KiB.
# What only a runtime requests, in the view of its control plane: 1 to 2 KiB.
# Helm releases in ConfigMaps, and what ends a pending one: 2 KiB.
# What modules wait for, pulls and handovers, in the table of commands: 1 KiB.
# What applies a module from Git, by name: one module and 8 KiB. What a hook created: 1 KiB.
# The rights of finalizers, and creations among permissions: 1 KiB. Of which cluster a permission is: 1 KiB.
# Tokens that are used to their end, and an Error that does not count yet: 1 KiB.
# What a reconciliation has written, for the log of the operator: 1 to 2 KiB.
# What an audit covers, the result of each rule, and the trend: 19 KiB, and two modules fewer.
# How long a change of a release lasts beside Flux, and what an apply wrote: 1 KiB.
# Which findings of an earlier audit may be in what this one did not read: 2 KiB.
# The examples of `restart`, and what it has in common with `logs`: 1 KiB.
# The options of plugins, which a configuration file is checked with: 3 KiB.
# Whether what works on a Kyma runs, by its Lease: 4 to 5 KiB; what proves that it does, in spite of that: 6 KiB.
BUDGETS = {  # modules that are not of Python itself, and KiB of our source
    ("--version",): (28, 77),
    ("--help",): (29, 98),
    ("catalog",): (230, 1054),
    ("catalog", "-o", "json"): (230, 1054),
    ("module", "keda"): (243, 1019),
    ("checks", "keda"): (248, 1063),
    ("drift",): (230, 1046),
    ("events", "keda"): (233, 1064),
    ("audit",): (260, 1277),
}


def imported(*words: str, kubeconfig: Path) -> dict[str, str | None]:
    environment = {key: value for key, value in os.environ.items() if not key.lower().endswith("_proxy")}
    environment["KUBECONFIG"] = str(kubeconfig)
    environment["XDG_STATE_HOME"] = str(kubeconfig.parent / "state")  # no journals of the person who runs this
    done = subprocess.run([sys.executable, "-c", PROBE, *words], env=environment, capture_output=True, text=True)
    found = json.loads(done.stderr.splitlines()[-1])
    assert found["status"] in (0, 1, 2), done.stderr
    files: dict[str, str | None] = found["files"]
    return files


@pytest.mark.parametrize("words", BUDGETS, ids=" ".join)
def test_a_command_imports_no_more_than_it_needs(words: tuple[str, ...], two_clusters: Path) -> None:
    loaded = imported(*words, *(() if words[0].startswith("--") else ("--context", "skr")), kubeconfig=two_clusters)
    files = {name: file for name, file in loaded.items() if name.partition(".")[0] not in sys.stdlib_module_names}
    assert {name.partition(".")[0] for name in files} & NEEDLESS == set()
    own = (file for name, file in files.items() if name.partition(".")[0] == "kymatui")
    sources = {file for file in own if file is not None}
    size = sum(Path(file).stat().st_size for file in sources) >> 10
    most, largest = BUDGETS[words]
    assert (len(files) <= most, size <= largest) == (True, True), f"{len(files)} modules, {size} KiB"


@pytest.mark.parametrize("word", ["--version", "--help"])
def test_what_needs_no_cluster_loads_nothing_for_one(word: str, two_clusters: Path) -> None:
    """`dataclasses` stands for `inspect`, which it loads: a tenth of the time of these commands."""
    loaded = imported(word, kubeconfig=two_clusters)
    assert loaded.keys() & {"dataclasses", "inspect", "pathlib", "urllib.parse", "socket", "yaml", "msgspec"} == set()
