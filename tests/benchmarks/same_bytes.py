"""Random modules, each created twice under other circumstances: the digests have to be the same.

    python -m tests.benchmarks.same_bytes [EXAMPLES]

Two processes create each module: in other folders, on other days (their clocks and the files' times), with other
locales, time zones, umasks, modes of files and seeds of hashes. Ends with 1 at the first module whose manifest,
descriptor or constructor differs, and prints its smallest form.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import IO, Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kymatui.cli.main import main as kymatui
from tests.bundle.sources import CR, crd, workload, write_sources

DAY = 86_400
NAMES = st.from_regex(r"m[a-z0-9]{0,12}(-[a-z0-9]{1,6})?", fullmatch=True)
TEXTS = st.text(st.characters(blacklist_categories=("Cs", "Cc")), max_size=40)
WORDS = st.from_regex(r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,20}[A-Za-z0-9])?", fullmatch=True)
NUMBERS = st.integers(0, 40)
VERSIONS = st.builds("{}.{}.{}{}".format, NUMBERS, NUMBERS, NUMBERS, st.sampled_from(["", "-rc.1", "+build.7"]))
ADDRESSES = st.builds("https://{}.example/{}".format, NAMES, NAMES)
CONFIG_MAPS = st.builds(
    lambda name, data: {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data},
    NAMES,
    st.dictionaries(WORDS, TEXTS, max_size=5),
)
WORKLOADS = st.builds(
    lambda name, tag, kind: workload(f"reg.example.com/prod/{name}:{tag}", name=name, kind=kind),
    NAMES,
    st.builds("{}.{}.{}".format, NUMBERS, NUMBERS, NUMBERS),
    st.sampled_from(["Deployment", "StatefulSet"]),
)
MODULES = st.fixed_dictionaries(
    {
        "objects": st.lists(
            st.one_of(CONFIG_MAPS, WORKLOADS), min_size=1, max_size=6, unique_by=lambda body: body["metadata"]["name"]
        ),
        "scope": st.sampled_from(["", "Cluster", "Namespaced"]),
        "config": st.fixed_dictionaries(
            {
                "name": st.builds("{}.example/module/{}".format, NAMES, NAMES),
                "version": VERSIONS,
                "labels": st.dictionaries(WORDS, WORDS, max_size=4),
                "annotations": st.dictionaries(WORDS, TEXTS, max_size=4),
                "icons": st.lists(
                    st.fixed_dictionaries({"name": NAMES, "link": ADDRESSES}),
                    min_size=1,
                    max_size=3,
                    unique_by=lambda one: one["name"],
                ),
                "beta": st.booleans(),
                "internal": st.booleans(),
                "requiresDowntime": st.booleans(),
                "securityScanEnabled": st.booleans(),
            }
        ),
    }
)
CIRCUMSTANCES = (
    {"LC_ALL": "C", "TZ": "UTC", "PYTHONHASHSEED": "1", "COLUMNS": "40"},
    {"LC_ALL": "tr_TR.UTF-8", "TZ": "Asia/Tokyo", "PYTHONHASHSEED": "2", "COLUMNS": "200"},
)


def create(module: dict[str, Any], number: int, days: random.Random) -> dict[str, Any]:
    """Create a module in a new folder and on a day of this process; return the digests."""
    top = Path(tempfile.mkdtemp(prefix=days.choice(["a", "größe ", "with space "])))
    before = os.umask(days.choice([0o022, 0o077, 0o000]))
    moment = time.time
    shift = days.randrange(-3000, 3000) * DAY
    time.time = lambda: moment() + shift
    try:
        sources = top / days.choice(["m", "b/c", "deep/er/still"])
        objects = module["objects"] + ([crd(module["scope"])] if module["scope"] else [])
        config = write_sources(sources, *objects, default_cr=CR if module["scope"] else None, **module["config"])
        for path in sources.glob("*.yaml"):
            at = days.randrange(1, 2_000_000_000)
            os.utime(path, (at, at))
            path.chmod(days.choice([0o600, 0o644, 0o755]))
        words = ["-c", str(config), "-o", str(sources / "t.yaml"), "--sources", str(sources)]
        words += ["--constructor", str(sources / "constructor.yaml"), "--layout", str(top / "layout")]
        said = io.StringIO()
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
            status = kymatui(["bundle", "create", *words])
        if status:
            return {"status": status, "said": said.getvalue().replace(str(sources), "")}
        manifests = json.loads((top / "layout/index.json").read_text())["manifests"]
        blobs = sorted(path.name for path in (top / "layout/blobs/sha256").iterdir())
        written = [(sources / name).read_text() for name in ("t.yaml", "constructor.yaml")]
        return {"status": 0, "manifest": [one["digest"] for one in manifests], "blobs": blobs, "written": written}
    finally:
        time.time = moment
        os.umask(before)
        shutil.rmtree(top)


def serve(seed: int) -> None:
    """Answer each module on standard input with its digests."""
    days = random.Random(seed)
    for number, line in enumerate(sys.stdin):
        print(json.dumps(create(json.loads(line), number, days)), flush=True)


def start(at: int) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "tests.benchmarks.same_bytes", "--serve", str(at)]
    environment = {
        **{key: value for key, value in os.environ.items() if key != "SOURCE_DATE_EPOCH"},
        **CIRCUMSTANCES[at],
    }
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment)


def ask(process: subprocess.Popen[str], module: dict[str, Any]) -> None:
    stream: IO[str] | None = process.stdin
    assert stream is not None
    stream.write(json.dumps(module) + "\n")
    stream.flush()


def answer(process: subprocess.Popen[str]) -> dict[str, Any]:
    assert process.stdout is not None
    found: dict[str, Any] = json.loads(process.stdout.readline())
    return found


def main(examples: int) -> None:
    began, counts = time.monotonic(), {"created": 0, "refused": 0}
    workers = [start(at) for at in range(len(CIRCUMSTANCES))]

    @settings(max_examples=examples, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    @given(MODULES)
    def same(module: dict[str, Any]) -> None:
        for worker in workers:
            ask(worker, module)
        first, second = map(answer, workers)
        assert first == second, f"{first}\n{second}\n{module}"
        counts["refused" if first["status"] else "created"] += 1

    try:
        same()
    finally:
        for worker in workers:
            worker.communicate()
        print(f"{counts['created']} created twice, {counts['refused']} refused twice, {time.monotonic() - began:.0f} s")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--serve"]:
        serve(int(sys.argv[2]))
    else:
        main(int(sys.argv[1]) if len(sys.argv) > 1 else 1000)
