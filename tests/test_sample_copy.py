"""The copy of the sample world, which benchmarks make on a real API server."""

from __future__ import annotations

from typing import Any

import pytest

from tests.benchmarks.sample_copy import await_established


def definition(name: str, *conditions: tuple[str, str]) -> dict[str, Any]:
    return {
        "metadata": {"name": name},
        "status": {"conditions": [{"type": kind, "status": status} for kind, status in conditions]},
    }


def test_the_copy_waits_until_each_crd_is_established() -> None:
    ready, named = definition("a", ("Established", "True")), definition("b", ("NamesAccepted", "True"))
    answers = [[ready, {"metadata": {"name": "b"}}], [ready, named], [ready, definition("b", ("Established", "True"))]]
    await_established(lambda: answers.pop(0))
    assert answers == []


def test_a_crd_that_is_never_established_is_named() -> None:
    with pytest.raises(TimeoutError, match="not established after 0 s: b"):
        await_established(lambda: [definition("b", ("Established", "False"))], limit=0.0)
