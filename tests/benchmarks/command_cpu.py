"""Processor time of whole commands on the sandbox, beside kubectl, helm and the kyma CLI where they are on the PATH.

`python -m tests.benchmarks.command_cpu [ROUNDS]`: each round runs every command once, so that a busy machine is busy
for all of them. Compile the files first (run a command once): a package that pip installed is compiled, too.
"""

from __future__ import annotations

import os
import resource
import shutil
import statistics
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from kymatui.sandbox.sandbox_process import start_sandbox

KYMATUI = [sys.executable, "-m", "kymatui"]
COMMANDS: dict[str, list[str]] = {
    "python -c pass": [sys.executable, "-c", "pass"],
    **{f"kymatui {words}": [*KYMATUI, *words.split()] for words in ("--version", "--help")},
    **{f"kymatui {words}": [*KYMATUI, *words.split()] for words in ("catalog", "module keda", "drift", "events keda")},
    "kubectl get modulereleasemetas -A": ["kubectl", "get", "modulereleasemetas", "-A"],
    "kyma module list": ["kyma", "module", "list"],
    "helm list -A": ["helm", "list", "-A"],
}


def cpu(command: Sequence[str], environment: dict[str, str]) -> float:
    """Return the user and system time of a process and its children, in seconds."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, env=environment, capture_output=True, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def main(rounds: int) -> None:
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    with start_sandbox(settled=True) as running:
        environment["KUBECONFIG"] = str(running.kubeconfig)
        known = {name: words for name, words in COMMANDS.items() if shutil.which(words[0]) or Path(words[0]).exists()}
        found: dict[str, list[float]] = {name: [] for name in known}
        for number in range(rounds + 1):  # the first one fills caches
            for name, words in known.items():
                taken = cpu(words, environment)
                found[name] += [taken] if number else []
    for name, times in found.items():
        print(f"{name:36} {statistics.median(times) * 1000:6.0f} ms  (least {min(times) * 1000:.0f})")
    for name in COMMANDS.keys() - known.keys():
        print(f"{name:36} not on the PATH")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 20)
