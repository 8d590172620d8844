"""The folders of journals, and where earlier versions wrote them."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path
from typing import Final

_LONGEST: Final = 120  # characters of a folder's name; file systems allow 255 bytes


def journals_folder() -> Path:
    """Return the folder with a folder of journals for each cluster, in the user's state folder."""
    import platformdirs  # takes its time to load, and most commands write no journal

    return Path(platformdirs.user_state_dir("kymatui")) / "journals"


def cluster_folder(cluster: str) -> Path:
    """Return the folder of a cluster's journals."""
    return journals_folder() / folder_name(cluster)


def folder_name(text: str) -> str:
    """Return a name as that of a file or folder: no separators, no parent folder, not too long."""
    name = re.sub(r"[^A-Za-z0-9._-]", "_", text)
    if len(name) > _LONGEST:
        return f"{name[:_LONGEST]}-{hashlib.sha256(text.encode()).hexdigest()[:12]}"
    return name if name.strip(".") else "_"
