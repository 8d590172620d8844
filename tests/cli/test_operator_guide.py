"""The guide of the operator works as written: from an empty cluster to two modules, an upgrade and a deletion."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.test_tasks import lines_missing, page_blocks
from tests.documents import DOCUMENTS
from tests.sandboxes.starting import ready_sandbox

PAGE = DOCUMENTS["docs/guide/operator.md"]
GIT = {f"GIT_{who}_{what}": "a@example.org" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
FOREVER = "kymatui operator run"


@pytest.mark.skipif(shutil.which("kubectl") is None, reason="the guide uses kubectl")
@pytest.mark.skipif(shutil.which("git") is None, reason="the guide uses git")
def test_the_guide_works_as_written(tmp_path: Path) -> None:
    with ready_sandbox("one") as sandbox:
        shell = {
            "HOME": str(tmp_path),
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
            "KUBECONFIG": str(sandbox.kubeconfig),
            "REGISTRY": sandbox.registry,
            "COLUMNS": "250",
            **GIT,
        }
        printed, operator = "", None
        try:
            for language, block in page_blocks(PAGE):
                command = ["bash", "-e", "-c", block]
                if language == "text":
                    assert lines_missing(block, printed) == [], printed
                elif block.startswith(FOREVER):
                    log = (tmp_path / "operator.log").open("w")
                    with log:
                        operator = subprocess.Popen(
                            ["bash", "-c", f"exec {block}"], env=shell, cwd=tmp_path, stdout=log, stderr=log
                        )
                else:
                    done = subprocess.run(
                        command, env=shell, cwd=tmp_path, capture_output=True, text=True, timeout=200, check=False
                    )
                    printed = done.stdout + done.stderr
                    assert done.returncode == 0, f"{block}\n{printed}"
                    if not block.startswith("kymatui enable"):  # then the operator may not have written the Kyma yet
                        assert "lifecycle-manager" not in printed
            assert operator is not None
            operator.terminate()
            assert operator.wait(20) == 0
        finally:
            if operator is not None:
                operator.kill()
                operator.wait()
    assert "failed" not in (tmp_path / "operator.log").read_text()
