"""Kyma's CustomResourceDefinitions, as YAML beside this file: the operator installs them, the sandbox serves them.

They have the fields of the real ones, and descriptions of their own.
"""

from __future__ import annotations

import copy
import functools
from pathlib import Path
from typing import Any, Final

from kymatui.helm.yaml.reading import load_exactly

PLURALS: Final = ("kymas", "manifests", "moduletemplates", "modulereleasemetas", "watchers")
"""In the order of creation."""


def read_crds() -> list[dict[str, Any]]:
    """Return the five CRDs in the order of creation; the caller may change them."""
    return copy.deepcopy([_read(plural) for plural in PLURALS])


@functools.cache
def _read(plural: str) -> dict[str, Any]:
    crd: dict[str, Any] = load_exactly(Path(__file__).with_name(f"{plural}.yaml").read_bytes())
    return crd
