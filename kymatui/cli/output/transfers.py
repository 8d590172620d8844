"""What was sent to a registry, in one line."""

from __future__ import annotations

from kymatui.actions.artifacts.blob_transfer import Transfer, TransferCount
from kymatui.domain.kubernetes.terminal_text import format_count


def transfer_line(count: TransferCount) -> str:
    """Return "2 mounted, 1 copied (10 bytes sent)"."""
    parts = [f"{count.blobs[way]} {way}" for way in Transfer if count.blobs[way]]
    return f"{', '.join(parts) or 'none'} ({format_count(count.copied_bytes, 'byte')} sent)"
