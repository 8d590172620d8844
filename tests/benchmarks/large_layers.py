"""An image with a layer of 1 GB to a registry and back, and the most memory that the command had.

    python -m tests.benchmarks.large_layers [MEGABYTES]

Each step is a process of its own: the layer as a file to an image in the sandbox's registry (`bundle add`), from there
to an image layout, an archive and another repository (`bundle copy`), and from the layout to the registry. Ends with 1
if one of them failed, had more than 100 MB, or changed a byte.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
import tempfile
import time
from pathlib import Path

from kymatui.adapters.oci.registry import RegistryArtifacts
from kymatui.engine.sources.component_source import MANIFEST_TYPE, content_descriptor
from kymatui.sandbox.sandbox_process import start_sandbox

LIMIT_MB = 100
TYPE = "application/octet-stream"
CONFIG_TYPE = "application/vnd.oci.image.config.v1+json"


def main(megabytes: int) -> int:
    with tempfile.TemporaryDirectory() as folder, start_sandbox(empty=True) as sandbox:
        host, top = sandbox.registry, Path(folder)
        digest = write_layer(top / "layer.bin", megabytes)
        push_base(host)
        plain = ["--insecure-registry", host]
        steps = [
            (
                "file to registry",
                ["add", f"{host}/base:1", "--layer", f"{top}/layer.bin:{TYPE}", "-t", f"{host}/big:1"],
            ),
            ("registry to layout", ["copy", f"{host}/big:1", f"layout:{top}/layout//big:1"]),
            ("registry to archive", ["copy", f"{host}/big:1", f"tar:{top}/big.tar//big:1"]),
            ("layout to registry", ["copy", f"layout:{top}/layout//big:1", f"{host}/again:1"]),
            ("to another repository", ["copy", f"{host}/big:1", f"{host}/mounted:1"]),
        ]
        print(f"layer of {megabytes} MB\n{'step':24}{'seconds':>8}{'most MB':>9}")
        bad = 0
        for name, words in steps:
            seconds, memory, status = measured([sys.executable, "-m", "kymatui", "bundle", *words, *plain])
            bad += status != 0 or memory > LIMIT_MB
            print(f"{name:24}{seconds:8.1f}{memory:9.0f}" + (f"  exit status {status}" if status else ""), flush=True)
        for repository in ("big", "again", "mounted"):
            found = RegistryArtifacts(insecure=[host]).manifest(f"{host}/{repository}", "1")
            layers = json.loads(found[0])["layers"] if found else []
            bad += [one["digest"] for one in layers] != [digest]
        bad += not (top / "layout/blobs/sha256" / digest.partition(":")[2]).exists()
    return int(bad > 0)


def write_layer(path: Path, megabytes: int) -> str:
    """Write bytes that nothing compresses; return their digest."""
    hashed = hashlib.sha256()
    with path.open("wb") as file:
        for _ in range(megabytes):
            block = os.urandom(1 << 20)
            hashed.update(block)
            file.write(block)
    return f"sha256:{hashed.hexdigest()}"


def push_base(host: str) -> None:
    """Store an image without layers."""
    store = RegistryArtifacts(insecure=[host])
    config = b'{"architecture":"amd64","os":"linux","config":{},"rootfs":{"type":"layers","diff_ids":[]}}'
    document = {"schemaVersion": 2, "mediaType": MANIFEST_TYPE, "config": content_descriptor(config, CONFIG_TYPE)}
    raw = json.dumps({**document, "layers": []}).encode()
    store.push_blob(f"{host}/base", config)
    store.push_manifest(f"{host}/base", "1", raw, MANIFEST_TYPE)


def measured(command: list[str]) -> tuple[float, float, int]:
    """Run a command; return its seconds, the most memory that it had in MB (ru_maxrss), and its exit status."""
    began = time.monotonic()
    process = os.posix_spawn(command[0], command, os.environ)
    _, status, used = os.wait4(process, 0)
    return time.monotonic() - began, used.ru_maxrss / 1024, os.waitstatus_to_exitcode(status)


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 1000))
