"""`kymatui`: picks the command, runs it, and turns errors into one clear message and an exit status."""

from __future__ import annotations

import argparse
import atexit
import gc
import os
import sys
import threading
from collections.abc import Sequence

from kymatui.cli.command_table import CommandEntry
from kymatui.cli.output.printing import ANSWER, document, print_message, print_sentences, print_text
from kymatui.cli.output.terminal import (
    OutputError,
    abandon_output,
    choose_colours,
    display_waits,
    end_waits,
    guard_process,
    guarded_streams,
)
from kymatui.cli.parser import build_parser
from kymatui.errors import KymatuiError, ReadOnlyError, StoppedError


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command line and return its exit status; without `argv`, the one of the process."""
    # collecting cycles while modules load and lists decode costs a third of the start and half of the longest stalls
    gc.set_threshold(200_000, 50, 100)
    # nor need cycles be looked for when the process ends, which takes an eighth of a short command
    atexit.unregister(gc.freeze)
    atexit.register(gc.freeze)
    if argv is not None:
        with guarded_streams():
            return _run(list(argv))
    guard_process()  # up to the end, for tracebacks too
    PROCESS_END.status = _run(sys.argv[1:])
    return PROCESS_END.status


def _run(words: list[str]) -> int:
    """Run a command, with all of its output; return the exit status. No error reaches the terminal as a traceback."""
    try:
        try:
            return _command(words)
        finally:  # also behind argparse, which ends the process after a help text
            end_waits()
            sys.stdout.flush()
    except BrokenPipeError:  # the reader, such as `head`, has read enough
        abandon_output()
        return 141  # 128 + SIGPIPE, as shells report it
    except OutputError as error:
        abandon_output()
        print_message(f"standard output cannot be written: {error}")
        return 1


def _command(words: list[str]) -> int:
    if words[:1] == ["__complete"]:
        from kymatui.cli import shell_completion

        return shell_completion.main(words[1:])
    args: argparse.Namespace | None = None
    ANSWER.given = False
    choose_colours("auto")
    try:
        parser = build_parser(words)
        parser.check_front(words)
        args = parser.parse_args(words)
        choose_colours(getattr(args, "color", "auto"))
        _refuse(args.command, args)
        display_waits()
        return int(args.command_module.run(args))
    except KymatuiError as error:
        _place(error, args)
        _report(error)
        _answer(error, getattr(args, "output", ""))
        return error.exit_code
    except KeyboardInterrupt:
        print_message("interrupted")
        return 130  # 128 + SIGINT, as shells report it


def _refuse(command: CommandEntry, args: argparse.Namespace) -> None:
    """Refuse what needs no server to be refused.

    Raises UsageError for options that would not be used, ReadOnlyError for a command that writes where only reading is
    allowed.
    """
    writes = command.writes(args)
    has_control_plane = any(getattr(args, name, None) for name in ("kcp_kubeconfig", "kcp_context"))
    if not (writes or has_control_plane):
        return
    from kymatui.cli.session_arguments import refuse_unused_options, why_read_only

    if has_control_plane:
        refuse_unused_options(args)
    if writes and (why := why_read_only(args)):
        hint = "--dry-run prints the plan" if hasattr(args, "dry_run") else ""
        raise ReadOnlyError(f"{command.name} is refused: {why}", hint=hint, unchanged=True)


def _place(error: KymatuiError, args: argparse.Namespace | None) -> None:
    """Add the runtime of the command to the commands that an error advises."""
    runtime = getattr(args, "remote", None)
    if isinstance(runtime, str) and runtime.strip("*"):  # and not the whole fleet
        from kymatui.cli.session_arguments import with_remote_option

        error.args, error.hint = (with_remote_option(str(error), runtime),), with_remote_option(error.hint, runtime)


def _report(error: KymatuiError) -> None:
    if isinstance(error, StoppedError):  # whole sentences, which are the answer of the command
        print_sentences(error.text, f"{error.hint}." if error.hint else "")
    else:
        print_message(error.text, error.hint)


def _answer(error: KymatuiError, form: str) -> None:
    """Print the document of a command that failed before it had one: `{"outcome", "error"}`."""
    if form not in ("json", "yaml") or ANSWER.given:
        return
    kind = type(error).__name__.removesuffix("Error").lower()
    body = {"kind": kind, "message": error.text, "hint": error.hint or None, "exitStatus": error.exit_code}
    outcome = _OUTCOMES.get(error.exit_code, "failed")
    try:
        print_text(document({"outcome": outcome, "error": body}, form))
    except OSError:
        abandon_output()


_OUTCOMES = {2: "refused", 3: "unfinished", 4: "refused", 130: "cancelled", 143: "cancelled"}


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
