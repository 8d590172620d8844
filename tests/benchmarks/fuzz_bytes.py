"""Fuzzes the readers with bytes by coverage, where atheris is installed: python -m tests.benchmarks.fuzz_bytes TARGET …

TARGET is yaml, template, archive, set, json or toml; what follows goes to libFuzzer (`-max_total_time=300 CORPUS`). The
first input that ends in something else than a HelmError is written to a file and shown.
"""

from __future__ import annotations

import gzip
import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any, Final

SLOW: Final = 10
"""Seconds that one input may take at most."""


def _targets() -> dict[str, Callable[[bytes], object]]:
    from kymatui.helm import Environment, Limits, load_archive, load_yaml, merge_values
    from kymatui.helm.functions import FUNCTIONS
    from tests.helm.language.rendering import render

    bounded = Environment(limits=Limits(depth=60, steps=5_000, output=200_000, seconds=5))

    def text(data: bytes) -> str:
        return data.decode("utf-8", "surrogateescape")

    def template(data: bytes) -> object:
        return render(text(data), functions=FUNCTIONS, environment=bounded)

    def called(function: str) -> Callable[[bytes], object]:
        return lambda data: render(
            f"{{{{ {function} .Values.t | toJson }}}}", {"t": text(data)}, functions=FUNCTIONS, environment=bounded
        )

    return {
        "yaml": lambda data: load_yaml(text(data)),
        "template": template,
        "archive": lambda data: load_archive(gzip.compress(data, 1)),
        "set": lambda data: merge_values(set=[text(data)], set_json=[text(data)]),
        "json": called("fromJson"),
        "toml": called("fromToml"),
    }


def main() -> None:
    """Runs libFuzzer on one target until it is told to stop."""
    atheris: Any = import_module("atheris")
    with atheris.instrument_imports(include=["kymatui.helm"]):
        targets = _targets()
        for name in ("language.parsing", "language.compiling", "yaml.reading", "archives", "setting"):
            import_module(f"kymatui.helm.{name}")
        for family in ("data", "tomlreading", "jsonreading"):
            import_module(f"kymatui.helm.functions.{family}")
    from kymatui.errors import HelmError

    target = targets[sys.argv[1]]

    def once(data: bytes) -> None:
        try:
            target(data)
        except HelmError as error:
            if str(error).startswith("rendering template failed"):  # Helm's own text for a panic hides a defect here
                raise RuntimeError(f"a defect that the engine caught: {error}") from error

    atheris.Setup([sys.argv[0], f"-timeout={SLOW}", "-rss_limit_mb=2048", *sys.argv[2:]], once)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
