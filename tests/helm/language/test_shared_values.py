"""A value that holds itself twice, sixty times over, is small in memory and endless written out."""

from __future__ import annotations

import pytest

from kymatui.helm import Chart, HelmError, render
from kymatui.helm.encodings import json_encoder
from kymatui.helm.govalues import bounding

DOUBLED = "{{ $x := list 1 }}{{ range until 60 }}{{ $x = list $x $x }}{{ end }}"


@pytest.mark.parametrize(
    "use",
    [
        "{{ $x }}",
        '{{ printf "%v" $x }}',
        '{{ printf "%d %s" $x $x }}',
        "{{ eq $x $x }}",
        "{{ deepEqual $x (deepCopy $x) }}",
        "{{ toJson $x }}",
        "{{ toYaml $x }}",
        "{{ toString $x }}",
        "{{ has 1 (list $x) }}{{ fail (print $x) }}",
    ],
)
def test_it_is_refused_before_it_is_written_out(use: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With limits a hundredth of the real ones, which take a second to reach: 2^60 parts are beyond any."""
    monkeypatch.setattr(bounding, "PART_LIMIT", 20_000)
    monkeypatch.setattr(json_encoder, "TEXT_LIMIT", 160_000)
    refuse(use)


def test_it_is_refused_at_the_limits_as_they_are() -> None:
    refuse("{{ $x }}")


def refuse(use: str) -> None:
    files = {"Chart.yaml": "apiVersion: v2\nname: c\nversion: 0.1.0", "templates/a.txt": DOUBLED + use}
    with pytest.raises(HelmError, match=r"limit|non-comparable"):
        render(Chart.from_files(files), {}, release_name="r", namespace="n")
