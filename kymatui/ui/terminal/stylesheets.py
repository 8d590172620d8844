"""Location of the stylesheets: inside the package in a wheel, beside it in a checkout."""

from __future__ import annotations

from pathlib import Path

from kymatui.errors import ConfigurationError


def styles_dir() -> Path:
    """Return the folder of the stylesheets.

    Raises ConfigurationError if the installation lacks it.
    """
    packaged = Path(__file__).resolve().parents[2] / "styles"
    for folder in (packaged, packaged.parents[1] / "styles"):
        if (folder / "app.tcss").is_file():
            return folder
    raise ConfigurationError(f"no stylesheets in {packaged}", hint="reinstall kymatui")
