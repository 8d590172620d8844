"""What each verb has to display of a batch: tables for people, one document, the question, the error of the end.

One module has its own form, several have a table of all; `is_list` is the only place that tells them apart.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, Generic

from msgspec import Struct

from kymatui.actions.batch import BatchItem, Items, Plan, Result, Work
from kymatui.cli.output.plan_changes import plan_text
from kymatui.cli.output.printing import markdown, table
from kymatui.domain.kubernetes.terminal_text import format_count, with_subject
from kymatui.domain.plans.cluster_target import ClusterTarget
from kymatui.errors import KymatuiError, PartlyDoneError, RefusedError

CONTINUE: Final = "run the command again to continue; completed modules are skipped"
WITHOUT_REFUSED: Final = "run the command again without the refused modules"


def reached_outcome(item: BatchItem[Any, Any], outcome: str) -> str:
    """Return how far one of several came that has not failed, in a batch with an outcome."""
    if item.work is Work.NOTHING:
        return "unchanged"
    if outcome != "unfinished":
        return outcome
    return "done" if item.result is not None else "planned"


class BatchQuestion(Struct, frozen=True):
    """What is asked before a batch is run, and what its journal has.

    action       "Delete nats"
    consequence  what a person should know before a yes
    modules      those that the journal names; None for the names of the items
    options      what the journal has besides the options of the command line
    title        of the job, by default the action in lower case
    """

    action: str
    consequence: str = ""
    modules: tuple[str, ...] | None = None
    options: Mapping[str, str] = {}
    title: str = ""


class BatchView(Generic[Plan, Result]):
    """The words and documents of one verb.

    is_list  the form of several: a table of all, and a document with a list
    """

    kind = ""
    """The command, for its journal; "" for a verb that cannot be continued, which has none."""
    heads: Sequence[str] = ("MODULE", "VERSION", "CHANGES")
    list_key = "plans"
    records_waits = False
    """Whether a batch that only waits is a job, too, which can be continued."""
    reports_parts = False
    """Whether the result of a single item that is not complete is printed."""
    lists_refused = False
    """Whether the document of several has refused items in its list, too."""
    noun = "module"
    undone = "not done"
    """What became of failed items: "not installed"."""
    again = CONTINUE
    """The hint where some items are not done."""

    def __init__(self, target: ClusterTarget, args: argparse.Namespace, cluster: str, *, is_list: bool) -> None:
        self._target, self.args, self.cluster, self.is_list = target, args, cluster, is_list
        self.further_fields: Mapping[str, Any] = {}
        """Further fields of the document of several."""

    # the plan

    def target(self, items: Items[Plan, Result]) -> ClusterTarget:
        return self._target

    def text(self, items: Items[Plan, Result], form: str) -> str:
        """Return the plan for people (table, md), below the cluster and the summary."""
        return plan_text(self.target(items), self.summary(items), "\n\n".join(self.parts(items, form)), form)

    def parts(self, items: Items[Plan, Result], form: str) -> Iterator[str]:
        """Yield the table of several, then each plan."""
        if self.is_list:
            yield (markdown if form == "md" else table)(self.heads, [self.row(item) for item in items])
        for item in items:
            if not self.is_list or self.is_detailed(item):
                yield self.item_text(item, form)

    def is_detailed(self, item: BatchItem[Plan, Result]) -> bool:
        """Return whether the plan of one of several is displayed below their table."""
        return item.is_pending

    def summary(self, items: Items[Plan, Result]) -> str:
        raise NotImplementedError

    def item_text(self, item: BatchItem[Plan, Result], form: str) -> str:
        raise NotImplementedError

    def row(self, item: BatchItem[Plan, Result]) -> Sequence[str]:
        raise NotImplementedError

    def unchanged(self, items: Items[Plan, Result]) -> str:
        """Return what a person reads where there is nothing to do."""
        return "no changes"

    # documents

    def document(self, items: Items[Plan, Result], outcome: str) -> dict[str, Any]:
        """Return the document of one module; for several `{"cluster", …: […], "failed": […], "outcome"}`."""
        if not self.is_list:
            return self.item_document(items[0], outcome)
        return {
            "cluster": self.cluster,
            self.list_key: [
                self.item_document(item, self.item_outcome(item, outcome))
                for item in items
                if self.lists_refused or item.refusal is None
            ],
            "failed": [{"name": item.name, "reason": why} for item in items if (why := self.trouble(item))],
            **self.further_fields,
            "outcome": outcome,
        }

    def item_document(self, item: BatchItem[Plan, Result], outcome: str) -> dict[str, Any]:
        raise NotImplementedError

    def item_outcome(self, item: BatchItem[Plan, Result], outcome: str) -> str:
        """Return the outcome of one of several in a batch with an outcome."""
        return outcome

    # the question and the job

    def question(self, items: Items[Plan, Result]) -> BatchQuestion:
        raise NotImplementedError

    def require_rights(self, items: Items[Plan, Result]) -> None:
        """Raise ForbiddenError where the user may not apply a plan."""

    def notices(self, items: Items[Plan, Result]) -> Sequence[str]:
        """Return what a person reads below a plan."""
        return ()

    # the end

    def started(self, item: BatchItem[Plan, Result]) -> str:
        """Return the line before the progress of one of several, "" for none."""
        return ""

    def outcome(self, items: Items[Plan, Result]) -> str:
        """Return the outcome of a batch without a failure."""
        return "done"

    def lines(self, items: Items[Plan, Result]) -> str:
        """Return what a person reads of the results."""
        raise NotImplementedError

    def hints(self, items: Items[Plan, Result]) -> Sequence[str]:
        """Return what a person can do next."""
        return ()

    def current(self, items: Items[Plan, Result]) -> Items[Plan, Result]:
        """Return the items of an unfinished batch as the cluster has them now."""
        return items

    def trouble(self, item: BatchItem[Plan, Result]) -> str:
        """Return why an item is refused, or did not come to its end; "" for neither."""
        error = item.refusal or item.error
        if error is None:
            return ""
        return error.with_hint if item.refusal is not None else str(error)

    def _all_trouble(self, items: Items[Plan, Result]) -> str:
        return "; ".join(with_subject(item.name, why) for item in items if (why := self.trouble(item)))

    def shows_refused(self, items: Items[Plan, Result]) -> bool:
        """Return whether there is a plan to display of what is refused."""
        return self.is_list or items[0].plan is not None

    def refusal(self, items: Items[Plan, Result]) -> KymatuiError:
        """Return the error of a batch that is refused."""
        if not self.is_list and (alone := items[0].refusal or items[0].error) is not None:
            return alone
        has_others = any(item.refusal is None for item in items)
        return RefusedError(self._all_trouble(items), hint=WITHOUT_REFUSED if has_others else "", unchanged=True)

    def failure(self, items: Items[Plan, Result]) -> KymatuiError:
        """Return the error of a batch that did not come to its end."""
        failed = [item for item in items if item.error is not None or item.refusal is not None]
        if not self.is_list and (alone := items[0].refusal or items[0].error) is not None:
            return alone
        trouble = self._all_trouble(failed)
        if all(isinstance(item.error, RefusedError) for item in failed) and all(item.result is None for item in items):
            return RefusedError(trouble, unchanged=True)
        count = format_count(len(items), self.noun)
        hint = self.again if any(item.refusal is None for item in failed) else ""
        return PartlyDoneError(f"{len(failed)} of {count} {self.undone}: {trouble}", hint=hint)
