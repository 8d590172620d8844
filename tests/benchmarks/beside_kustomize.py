"""Kustomizations beside kustomize: python -m tests.benchmarks.beside_kustomize KUSTOMIZE FOLDER… [--only TEXT]

Every kustomization below the folders is built here and by `kustomize build`, and the objects are compared. What refers
to the network is left out. Ends with 1 where something differs.
"""

from __future__ import annotations

import argparse
import collections
import difflib
import hashlib
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from msgspec import yaml

from kymatui.engine.bundles.yaml_objects import each_object
from kymatui.errors import SourceError
from kymatui.kustomize.model.file_tree import NAMES, FolderTree, KustomizationFolder
from kymatui.kustomize.transformers.build import build

SECONDS = 20
REMOTE = re.compile(r"(?m)^\s*(- |url: )?[\"']?(https?://|git@|ssh://|git::|github\.com)")


def folders(roots: list[Path]) -> Iterator[Path]:
    known = set()
    for root in roots:
        for file in sorted(path for path in root.rglob("*ustomization*") if path.name in NAMES and path.is_file()):
            digest = hashlib.sha256()
            for path in sorted(path for path in file.parent.rglob("*") if path.is_file()):
                digest.update(str(path.relative_to(file.parent)).encode() + path.read_bytes())
            above = ".." if b".." in file.read_bytes() else ""
            if (key := (digest.digest(), above and str(file.parent.parent))) not in known:
                known.add(key)
                yield file.parent


def lines(objects: list[dict[str, Any]]) -> list[str]:
    texts = [yaml.encode(body, order="sorted").decode("utf-8", "replace") for body in objects]
    return "---\n".join(texts).splitlines()


def refers_to_network(folder: Path, depth: int = 0) -> bool:
    """Whether a kustomization, or a folder that it uses, has an address."""
    for name in NAMES:
        file = folder / name
        if not file.is_file():
            continue
        text = file.read_text(errors="replace")
        if REMOTE.search(text):
            return True
        for path in re.findall(r"(?m)^\s*- [\"']?([\w./-]+)", text) if depth < 6 else ():
            if (folder / path).is_dir() and refers_to_network(folder / path, depth + 1):
                return True
    return False


def compare(kustomize: str, folder: Path) -> tuple[str, str]:
    """A class, and what differs."""
    try:
        done = subprocess.run([kustomize, "build", str(folder)], capture_output=True, timeout=SECONDS, check=False)
    except subprocess.TimeoutExpired:
        return "time-out of kustomize", ""
    words = done.stderr.decode("utf-8", "replace")
    theirs = list(each_object(done.stdout, "kustomize", old_words=False)) if done.returncode == 0 else None
    try:
        ours = list(build(KustomizationFolder(FolderTree(), str(folder))).objects)
    except SourceError as error:
        return ("both refuse", "") if theirs is None else ("only kymatui refuses", f"{error}")
    except Exception as error:  # noqa: BLE001
        return "crash", f"{type(error).__name__}: {error}"
    if theirs is None:
        return "only kustomize refuses", words[-800:]
    if ours == theirs:
        return "same", ""
    diff = difflib.unified_diff(lines(theirs), lines(ours), "kustomize", "kymatui", lineterm="")
    return "output", "\n".join(list(diff)[:40])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kustomize")
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--only", default="", help="kustomizations whose path contains this")
    given = parser.parse_args()
    os.environ["GIT_TERMINAL_PROMPT"] = "0"
    counts: collections.Counter[str] = collections.Counter()
    for folder in folders(given.folders):
        if given.only not in str(folder):
            continue
        if refers_to_network(folder):
            counts["refers to the network, not compared"] += 1
            continue
        kind, detail = compare(given.kustomize, folder)
        counts[kind] += 1
        if kind not in ("same", "both refuse"):
            print(f"{kind}: {folder}\n{detail}\n", flush=True)
    print(f"{counts.total()} kustomizations")
    for kind, count in counts.most_common():
        print(f"{count:6} {kind}")
    return 1 if set(counts) - {"same", "both refuse", "refers to the network, not compared"} else 0


if __name__ == "__main__":
    sys.exit(main())
