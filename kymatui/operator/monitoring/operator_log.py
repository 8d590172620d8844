"""The operator's log: lines for people, or one JSON object a line with the object and the reconcile id."""

from __future__ import annotations

import json
import time
import traceback
from collections.abc import Callable
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, Final

from kymatui.domain.kubernetes.refs import ObjectRef
from kymatui.domain.kubernetes.terminal_text import cut_text, escape_json, sanitize
from kymatui.errors import DefectError, KymatuiError, RefusedError
from kymatui.operator.framework.controller import current_reconciliation

_LONGEST: Final = 8192  # characters of an error


class LogFormat(StrEnum):
    """The formats of the log."""

    TEXT = "text"
    JSON = "json"


class OperatorLog:
    """Writes the reports of a ControllerGroup; `write` gets each line, from any thread.

    Errors quote servers, charts and registries: control characters are removed from text, so that none forges a line,
    and escaped in JSON.
    """

    def __init__(self, write: Callable[[str], None], form: LogFormat = LogFormat.TEXT) -> None:
        self._write = write
        self._form = form

    def info(self, message: str) -> None:
        """Write a sentence about the operator."""
        if self._form is LogFormat.JSON:
            self._json("info", message)
        else:
            self._write(sanitize(f"{time.strftime('%H:%M:%S')} {message}"))

    def head(self, words: str) -> None:
        """Write a line of the start, for people without the time."""
        if self._form is LogFormat.JSON:
            self._json("info", words)
        else:
            self._write(sanitize(words))

    def failed(self, ref: ObjectRef, error: KymatuiError, seconds: float | None) -> None:
        """Write a failure; `seconds` until the next try, None if there is none."""
        skipped = isinstance(error, RefusedError)
        mark = "skipped" if skipped else "failed"
        text = cut_text(f"{error}; {error.hint}" if isinstance(error, DefectError) else str(error), _LONGEST)
        if self._form is not LogFormat.JSON:
            when = f"; retry in {seconds:.{0 if seconds >= 1 else 1}f} s" if seconds is not None else ""
            self._write(sanitize(f"{time.strftime('%H:%M:%S')} {ref} {mark}: {text}{when}"))
            for line in _traceback(error):
                self._write(sanitize(f"  {line}"))
            return
        controller, number = current_reconciliation()
        more: dict[str, Any] = {
            "controller": controller,
            "reconcileID": number,
            "object": {"kind": ref.kind.kind, "namespace": ref.namespace, "name": ref.name},
            "error": text,
        }
        if seconds is not None:
            more["retrySeconds"] = round(seconds, 1)
        if lines := _traceback(error):
            more["stacktrace"] = "\n".join(lines)
        self._json("info" if skipped else "error", f"reconciliation {mark}", **more)

    def _json(self, level: str, words: str, **more: Any) -> None:
        moment = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        self._write(escape_json(json.dumps({"date": moment, "level": level, "msg": words, **more}, ensure_ascii=False)))


def _traceback(error: KymatuiError) -> list[str]:
    """Return the lines of a bug's traceback, none for other errors."""
    if not isinstance(error, DefectError) or error.__cause__ is None:
        return []
    return "".join(traceback.format_exception(error.__cause__)).splitlines()
