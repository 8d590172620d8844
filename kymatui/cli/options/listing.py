"""The options of commands that print lists: `-o`, `--no-headers`, `--sort-by`, `--watch`."""

from __future__ import annotations

import argparse
import threading
import time
from collections.abc import Callable, Iterator
from typing import Final, TypeVar

from kymatui.cli.cluster_options import add_duration, add_option
from kymatui.cli.output.listing import JSONPATH, render_document
from kymatui.errors import UnreachableError

LIST_FORMATS: Final = ("table", "wide", "name", "json", "yaml", "md")
_PAUSE, _SHARE = 5.0, 4
"""Seconds between two readings of what no server watches, and how many times the last reading took at least."""
T = TypeVar("T")


class OutputFormats(tuple[str, ...]):
    """The values of `-o`; `jsonpath=` is followed by a template."""

    __slots__ = ()

    def __contains__(self, value: object) -> bool:
        return super().__contains__(value) or (isinstance(value, str) and value.startswith(JSONPATH))


def read_format(text: str) -> str:
    """Return a format of `-o`; raise UsageError for a malformed template before anything is asked."""
    if text.startswith(JSONPATH) and text != JSONPATH:
        render_document({}, text)
    return text


def add_list_output(parser: argparse.ArgumentParser, *more: str, watch: bool = True) -> None:
    """Add how a list is printed; `more` are further formats of this command."""
    add_option(
        parser,
        "-o --output FORMAT",
        f"{', '.join((*LIST_FORMATS, *more))} or jsonpath=TEMPLATE (default: table)",
        type=read_format,
        choices=OutputFormats((*LIST_FORMATS, *more, JSONPATH)),
        default="table",
    )
    add_option(parser, "--no-headers", "print rows only: no titles, no summary")
    add_option(parser, "--sort-by COLUMN", "column to sort by, or a JSONPath of the entries such as .state", default="")
    if watch:
        add_option(parser, "--watch -w", "print again on every change")


def add_list_timeout(parser: argparse.ArgumentParser) -> None:
    add_duration(parser, "--timeout", "30s", "time limit for listing the cluster")


def read_again(args: argparse.Namespace, read: Callable[[], T], *, limited: bool = True) -> Iterator[T]:
    """Yield what `read` returns within `--timeout`; with `--watch` again and again, at a bearable rate.

    `limited` is False where `read` keeps to `--timeout` itself.
    """
    while True:
        began = time.monotonic()
        yield _within(args.timeout, read) if limited else read()
        if not args.watch:
            return
        time.sleep(max(_PAUSE, _SHARE * (time.monotonic() - began)))


def _within(timeout: float, read: Callable[[], T]) -> T:
    """Return or raise what `read` does; raise UnreachableError after `timeout` seconds."""
    answers: list[T] = []
    errors: list[BaseException] = []
    ended = threading.Event()

    def work() -> None:
        try:
            answers.append(read())
        except BaseException as error:  # noqa: BLE001 it is raised again, on the thread that waits
            errors.append(error)
        finally:
            ended.set()

    threading.Thread(target=work, name="read", daemon=True).start()
    if not ended.wait(timeout):
        raise UnreachableError(f"the cluster was not listed within {timeout:g} s", hint="use a longer --timeout")
    if errors:
        raise errors[0]
    return answers[0]
