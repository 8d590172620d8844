"""The end of a process whose threads still wait for servers."""

from __future__ import annotations

import atexit
import os
import sys
import threading


class ProcessEnd:
    """Ends the process without tearing the interpreter down below threads that still run.

    At `exit` OpenSSL frees its state while daemon threads that read from servers use it, or end: 2 of 730 runs of
    `catalog --remote` on a busy machine ended with a segmentation fault in OPENSSL_cleanup. What others registered
    with `atexit` since the start of kymatui runs before.
    """

    status: int | None = None
    """The exit status of a command that ended as it should; None where an exception ends the process."""

    def __init__(self) -> None:
        atexit.register(self._end)  # first, to run behind what others register

    def _end(self) -> None:
        if self.status is None or threading.active_count() == 1:
            return
        try:
            sys.stdout.flush()
            sys.stderr.flush()
        except (OSError, ValueError):
            return  # Python itself reports what cannot be written
        os._exit(self.status)


PROCESS_END = ProcessEnd()
