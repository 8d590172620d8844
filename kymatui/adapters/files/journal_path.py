"""Where runs are written down."""

from __future__ import annotations

import re
from pathlib import Path


def journal_path(context: str, namespace: str, name: str) -> Path:
    """Return the journal file of one module on one cluster, in the user's state folder."""
    import platformdirs  # takes its time to load, and most commands write no journal

    parts = [re.sub(r"[^A-Za-z0-9._-]", "_", part) or "_" for part in (context, namespace, name)]
    return Path(platformdirs.user_state_dir("kymatui")) / "journals" / parts[0] / parts[1] / f"{parts[2]}.jsonl"
