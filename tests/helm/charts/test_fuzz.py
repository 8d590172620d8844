"""Whatever a chart, an archive, a YAML text or a line of --set is: it is taken or refused with a HelmError, soon."""

from __future__ import annotations

import contextlib
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kymatui.helm import Chart, Environment, HelmError, Limits, dump_yaml, load_yaml, merge_values, render
from tests.helm.charts.growing import archives, sets, trees, values, yaml_texts

BOUNDED = Environment(limits=Limits(depth=60, steps=5_000, output=200_000, seconds=5))
unhurried = settings(
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.large_base_example],
    deadline=None,
)


def check_chart(files: dict[str, str | bytes], given_values: dict[str, Any]) -> None:
    """Loads and renders; a defect of the engine that looks like a panic of Helm's is one, too."""
    said = ""
    try:
        rendered = render(
            Chart.from_files(files), given_values, release_name="rel", namespace="ns", include_crds=True,
            environment=BOUNDED,
        )  # fmt: skip
        assert all(isinstance(text, str) for text in rendered.files.values())
        assert all(one.path for one in rendered.manifests)
        assert all(one.path for one in rendered.hooks)
    except HelmError as error:
        said = str(error)
    assert not said.startswith("rendering template failed"), said


def check_archive(data: bytes) -> None:
    with contextlib.suppress(HelmError):
        assert Chart.from_archive(data).digest


def check_yaml(text: str) -> None:
    """What can be read can be written, and is read back as the same."""
    try:
        value = load_yaml(text)
    except HelmError:
        return
    assert load_yaml(dump_yaml(value)) == value


def check_set(lines: dict[str, Any]) -> None:
    with contextlib.suppress(HelmError):
        merge_values(**lines)


@settings(unhurried, max_examples=40)
@given(trees(), values)
def test_trees_of_charts(files: dict[str, str | bytes], given_values: dict[str, Any]) -> None:
    check_chart(files, given_values)


@settings(unhurried, max_examples=40)
@given(archives())
def test_archives(data: bytes) -> None:
    check_archive(data)


@unhurried
@given(yaml_texts | st.text(max_size=20))
def test_yaml_texts(text: str) -> None:
    check_yaml(text)


@unhurried
@given(sets)
def test_lines_of_set(lines: dict[str, list[str]]) -> None:
    check_set(lines)
