"""The tasks of the guide work as written: their commands run in a shell, on the sandbox that the page starts."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.documents import DOCUMENTS
from tests.sandboxes.starting import ready_sandbox

PAGE = DOCUMENTS["docs/guide/tasks.md"]
_BLOCK = re.compile(r"^(?P<indent> *)```(?P<language>sh|text)\n(?P<text>.*?)^(?P=indent)```$", re.MULTILINE | re.DOTALL)


def tasks() -> Iterator[tuple[str, str]]:
    """Yield (task, text) of the page."""
    for section in PAGE.split("\n## ")[1:]:
        yield section.partition("\n")[0], section


def page_blocks(text: str) -> Iterator[tuple[str, str]]:
    """Yield language and content of the blocks that are run, or that display what was printed."""
    for found in _BLOCK.finditer(text):
        yield found["language"], textwrap.dedent(found["text"])


@pytest.fixture(scope="module")
def sandboxes() -> Iterator[dict[str, Path]]:
    """The kubeconfigs that the page names."""
    with (
        ready_sandbox("sandbox", empty=False, settled=True) as cluster,
        ready_sandbox("kcp", "skr", empty=False, settled=True) as fleet,
    ):
        yield {"cluster.yaml": cluster.kubeconfig, "fleet.yaml": fleet.kubeconfig}


@pytest.mark.xdist_group("tasks")
@pytest.mark.parametrize(("task", "text"), [pytest.param(*one, id=one[0]) for one in tasks()])
def test_a_task_works_as_written(task: str, text: str, sandboxes: dict[str, Path], tmp_path: Path) -> None:
    shell = {
        "HOME": str(tmp_path),
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "KUBECONFIG": str(sandboxes["fleet.yaml" if "`fleet.yaml`" in text else "cluster.yaml"]),
        "COLUMNS": "250",
    }
    blocks = list(_BLOCK.finditer(text))
    assert [block["language"] for block in blocks].count("sh") > 2, task
    printed, end = "", 0
    for found in blocks:
        language, block = found["language"], textwrap.dedent(found["text"])
        status = re.search(r"the exit status is (\d+)", text[end : found.start()])
        end = found.end()
        if language == "sh":
            done = subprocess.run(
                ["bash", "-e", "-c", block], env=shell, cwd=tmp_path, capture_output=True, text=True, timeout=200
            )
            printed = done.stdout + done.stderr
            assert done.returncode == int(status[1] if status else 0), f"{block}\n{printed}"
        else:
            assert lines_missing(block, printed) == [], f"what the page displays is not what is printed:\n{printed}"


def lines_missing(text: str, printed: str) -> list[str]:
    """Return the lines of a page that the output does not have in this order; `…` stands for anything."""
    rest, missing = re.sub(r"[ \t]+", " ", printed), []
    for line in text.splitlines():
        found = re.search(r"[^\n]*".join(re.escape(" ".join(part.split())) for part in line.split("…")), rest)
        if found is None:
            missing.append(line)
        else:
            rest = rest[found.end() :]
    return missing


def test_a_line_that_is_not_printed_is_missing() -> None:
    assert lines_missing("a … d\ne", "x\na b  c d\ne\n") == []
    assert lines_missing("e\na", "a\ne\n") == ["a"]


def test_the_page_has_the_tasks_of_its_list() -> None:
    listed = re.findall(r"^- \[(.+)\]\(#", PAGE, re.MULTILINE)
    assert listed == [task for task, _ in tasks()]
    assert len(listed) == 6
