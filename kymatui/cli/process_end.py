"""The end of a process whose threads still wait for servers."""

from __future__ import annotations

import atexit
import os
import sys
import threading


class ProcessEnd:
    """Ends the process without tearing the interpreter down below threads that still run.

    Daemon threads that read from servers may be inside OpenSSL while `exit` frees OpenSSL's state, which is undefined
    in C: of 614 runs of `catalog --remote` on a busy machine one ended with a segmentation fault. What others
    registered with `atexit` since the start of kymatui runs before.
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
