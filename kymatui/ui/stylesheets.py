"""Where the stylesheets are: inside the package in a wheel, beside it in a checkout."""

from __future__ import annotations

from pathlib import Path


def styles_dir() -> Path:
    packaged = Path(__file__).resolve().parents[1] / "styles"
    return packaged if packaged.is_dir() else packaged.parents[1] / "styles"
