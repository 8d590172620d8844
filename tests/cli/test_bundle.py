"""`kymatui bundle`: its command lines, answers and exit statuses."""

from __future__ import annotations

import pytest

from kymatui.cli.main import main

NAME = "kyma-project.io/module/keda"


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (f"{NAME}:1.0.0 --registry reg.io/a", f"reg.io/a/component-descriptors/{NAME}:1.0.0"),
        (f"reg.io/a//{NAME}:1.0.0+b", f"reg.io/a/component-descriptors/{NAME}:1.0.0.build-b"),
        (
            f"reg.io:5000//{NAME}:1.0.0 --mapping sha256-digest",
            "reg.io:5000/4be1439ff005799f5a23dc8f82f371dd715d0c75170d9474e4b366b761e69520:1.0.0",
        ),
    ],
)
def test_where_prints_repository_and_tag(line: str, expected: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bundle", "where", *line.split()]) == 0
    assert capsys.readouterr() == (f"{expected}\n", "")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("", "the following arguments are required: SUBCOMMAND"),
        (f"where {NAME}:1.0.0", f"{NAME}:1.0.0 has no registry"),
        (f"where {NAME} --registry reg.io", f"'{NAME}' has no version"),
        (f"where a.io//{NAME}:1.0.0 --registry reg.io", "both name a registry"),
        (f"where {NAME}:1.0.0 --registry reg.io --mapping x", 'invalid value "x" for --mapping'),
        ("where keda:1.0.0 --registry reg.io", "'keda' is not a component name"),
    ],
)
def test_words_that_make_no_sense_leave_with_64(line: str, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bundle", *line.split()]) == 64
    found = capsys.readouterr()
    assert found.out == ""
    assert message in found.err.splitlines()[0]
