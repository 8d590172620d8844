"""What a job that stopped has done, what is still under way, and what it has not begun."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final

from msgspec import Struct

from kymatui.domain.kubernetes.refs import ObjectRef
from kymatui.domain.kubernetes.terminal_text import first_of
from kymatui.engine.cluster.concurrency import cancelled_after, run_for_each
from kymatui.engine.cluster.ports import Cluster, Object
from kymatui.errors import CancelledError, ClusterError, StoppedError

_SHOWN: Final = 10  # objects that a sentence names; the others are counted
_PATIENCE: Final = 5.0  # seconds for the cluster to say how far a job came: the person who stopped it waits for that
DELETION_WORDS: Final = ("Deleted", "Still deleting", "Not deleted")
APPLY_WORDS: Final = ("Applied", "Still starting", "Not applied")
EDIT_WORDS: Final = ("Done", "Changed, not finished", "Not changed")
CREATION_WORDS: Final = ("Created", "Still waiting for", "Not created")


class JobProgress(Struct, frozen=True):
    """The progress of one kind of change at the stop of a job, by object; `words` are the headings of the lists.

    ongoing  continues without kymatui, each with what it waits for
    unknown  requested, and the cluster did not say what became of it
    undo     the command that undoes what was done, "" for none
    """

    words: tuple[str, str, str] = DELETION_WORDS
    done: tuple[str, ...] = ()
    ongoing: tuple[tuple[str, str], ...] = ()
    remaining: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    undo: str = ""

    @property
    def has_changes(self) -> bool:
        """Return whether the cluster is not as before the job."""
        return bool(self.done or self.ongoing or self.unknown)

    @property
    def sentences(self) -> str:
        """Return the progress for people: "Deleted: a, b. Still deleting: c (finalizer x). Not deleted: d."."""
        return " ".join(self._sentences())

    @property
    def counts(self) -> str:
        """Return how much is done and unknown: "3 deleted, 1 unknown"."""
        pairs = ((len(self.done), self.words[0].lower()), (len(self.unknown), "unknown"))
        return ", ".join(f"{number} {word}" for number, word in pairs if number)

    def _sentences(self) -> Iterator[str]:
        done, ongoing, remaining = self.words
        under_way = [f"{name} ({why.removesuffix('.')})" if why else name for name, why in self.ongoing]
        for heading, names in (
            (done, self.done),
            (ongoing, under_way),
            ("Unknown", self.unknown),
            (remaining, self.remaining),
        ):
            if names:
                yield f"{heading}: {first_of(names, _SHOWN)}."


def read_at_stop(
    refs: Sequence[ObjectRef], cluster_of: Callable[[ObjectRef], Cluster]
) -> Sequence[Object | None] | None:
    """Return what is there of the objects of a stopped job; None from a cluster that does not answer in time."""
    try:
        with cancelled_after(_PATIENCE) as stop:
            return run_for_each(refs, lambda ref: cluster_of(ref).get(ref, cancel=stop), stop)
    except (ClusterError, CancelledError):  # it is told as unknown
        return None


def merge_progress(parts: Iterable[JobProgress]) -> tuple[JobProgress, ...]:
    """Return one progress for each kind of change, in the order of their first parts."""
    by_words: dict[tuple[str, str, str], list[JobProgress]] = {}
    for part in parts:
        by_words.setdefault(part.words, []).append(part)
    return tuple(_merged(words, some) for words, some in by_words.items())


def _merged(words: tuple[str, str, str], some: list[JobProgress]) -> JobProgress:
    undo = dict.fromkeys(progress.undo for progress in some if progress.undo)
    return JobProgress(
        words,
        tuple(dict.fromkeys(name for progress in some for name in progress.done)),
        tuple(dict.fromkeys(pair for progress in some for pair in progress.ongoing)),
        tuple(dict.fromkeys(name for progress in some for name in progress.remaining)),
        tuple(dict.fromkeys(name for progress in some for name in progress.unknown)),
        "; ".join(undo),
    )


def progress_document(parts: Iterable[JobProgress]) -> dict[str, Any]:
    """Return the progress as JSON."""
    some = merge_progress(parts)
    return {
        "done": [name for progress in some for name in progress.done],
        "ongoing": [{"object": name, "waitsFor": why or None} for progress in some for name, why in progress.ongoing],
        "unknown": [name for progress in some for name in progress.unknown],
        "left": [name for progress in some for name in progress.remaining],
    }


def stopped_error(parts: Iterable[JobProgress], resume: str, *, at_once: bool = False) -> StoppedError:
    """Return the error of a job that a person stopped: what is done, under way and left, and what continues it.

    `resume` is the command that continues it, "" if there is nothing to continue. One that was stopped `at_once`
    cannot say what became of its last request.
    """
    some = merge_progress(parts)
    has_changes = bool(resume) or any(part.has_changes for part in some)
    sentences = " ".join(filter(None, (part.sentences for part in some))) if has_changes else ""
    last = " The last request may still take effect." if at_once else ""
    text = sentences or ("" if at_once else "No changes made.")
    undo = [f"{progress.undo} undoes" for progress in some if progress.undo]
    hints = [f"`{resume}` continues", *undo] if resume else []
    return StoppedError(f"Stopped.{last} {text}".strip(), hint="; ".join(hints), progress=some)
