"""The comparison with other tools in docs/guide: each line about kymatui is held by tests, commands and keys exist."""

from __future__ import annotations

import ast
import re
import shlex

import pytest

from kymatui.cli.parser import build_parser
from tests.cli.test_readme import bound_keys
from tests.documents import DOCUMENTS, ROOT

TEXT = DOCUMENTS["docs/guide/comparison.md"]
ROWS = [
    [cell.strip() for cell in line.strip("|").split(" | ")]
    for line in TEXT.splitlines()
    if line.startswith("| ") and not line.startswith("| you want")
]

HELD: dict[str, tuple[str, ...]] = {
    "follow logs": (
        "ui/test_logs.py::test_new_lines_are_displayed_while_it_follows",
        "cli/test_logs.py::test_following_prints_new_lines_and_those_of_new_pods",
    ),
    "read the previous instance, or since a time": (
        "ui/test_logs.py::test_p_reads_the_instance_before_the_last_restart_and_back",
        "ui/test_logs.py::test_since_is_chosen_in_a_dialog",
        "cli/test_logs.py::test_the_previous_instance_of_a_container",
    ),
    "describe an object": ("ui/test_describing.py::test_d_describes_the_object_of_the_line_and_escape_leads_back",),
    "edit in your editor, with a plan": (
        "ui/test_toggling.py::test_a_module_cr_is_edited_in_an_editor",
        "cli/test_editing.py::test_what_is_rewritten_is_a_plan_and_then_written",
    ),
    "switch contexts without leaving": ("ui/test_contexts.py::test_contexts_are_listed_and_enter_switches",),
    "restart a rollout or a Pod": (
        "ui/test_flows.py::test_the_manager_and_the_pod_of_a_line_are_restarted",
        "cli/test_restarting.py::test_the_managers_pods_are_replaced_and_awaited",
    ),
    "filter by regex, inverse or label": ("ui/test_filtering.py::test_what_a_filter_accepts",),
    "watch a list in the terminal": ("cli/test_list_output.py::test_watching_reads_again_and_prints_what_differs",),
    "wait until a change is done": (
        "cli/test_toggling.py::test_a_module_is_enabled_after_a_yes_and_followed_until_it_is_ready",
    ),
    "see a plan before every change": ("cli/test_toggling.py::test_a_plan_is_printed_and_nothing_is_done",),
    "see what blocks a deletion, step by step": (
        "cli/test_toggling.py::test_what_would_block_a_deletion_is_listed_and_refused_before_anything_is_edited",
        "ui/test_objects.py::test_enter_on_the_stepper_of_a_deletion_opens_the_object_and_deletes_nothing",
    ),
    "compare live and expected": ("cli/test_direct.py::test_a_field_that_somebody_changed_is_found_with_its_writer",),
    "compare two versions before an upgrade": (
        "cli/test_versions.py::test_two_versions_are_compared_by_every_way_to_the_runtime",
        "ui/test_versions.py::test_manifests_are_compared_once_they_arrive",
    ),
    "open a module's documentation": ("ui/test_links.py::test_several_links_are_a_choice",),
    "go back to an older version": (
        "cli/test_direct.py::test_46_an_upgrade_leaves_the_default_resource_as_its_owner_has_it",
    ),
    "enable a module in the Kyma": (
        "cli/test_toggling.py::test_a_module_is_enabled_after_a_yes_and_followed_until_it_is_ready",
    ),
    "many runtimes of a control plane": ("cli/test_fleet.py::test_the_table_has_a_row_for_each_runtime",),
    "plugins": ("ui/test_plugins.py::test_a_plugin_is_told_what_the_screen_is_about",),
    "forbid writing on this machine": (
        "cli/test_read_only.py::test_a_command_that_writes_is_refused_before_it_sends_anything_of_it",
    ),
    "output for scripts": ("cli/test_catalog.py::test_json_has_the_documented_keys",),
    "an archive for a ticket": ("cli/test_diagnosing.py::test_a_module_is_gathered_from_every_side",),
    "try it without a cluster": ("cli/test_demo.py::test_the_table_shows_the_world_at_rest",),
}
"""The tests that show what a line says of kymatui; lines that say "no" need none."""


def test_every_line_about_kymatui_is_held_by_tests_that_exist() -> None:
    said = {title: ours for title, ours, *_ in ROWS}
    assert {title for title, ours in said.items() if not ours.startswith("no")} == set(HELD)
    missing = [one for tests in HELD.values() for one in tests if not is_test(one)]
    assert missing == []


def is_test(name: str) -> bool:
    place, _, function = name.partition("::")
    tree = ast.parse((ROOT / "tests" / place).read_text("utf-8"))
    return any(isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef) and one.name == function for one in tree.body)


@pytest.mark.parametrize("title", list(HELD))
def test_commands_and_keys_of_a_line_exist(title: str) -> None:
    (ours,) = [row[1] for row in ROWS if row[0] == title]
    bound = bound_keys()
    for text in re.findall(r"`([^`]+)`", ours):
        words = shlex.split(text)
        if words[0] == "kymatui":
            build_parser(words[1:]).parse_args(words[1:])
        elif not text.startswith(":"):
            assert text in bound, text


def test_what_is_said_of_others_leads_to_their_documentation() -> None:
    pages = dict(re.findall(r"^\[([a-z0-9-]+)\]: (https://\S+)$", TEXT, re.MULTILINE))
    used = set()
    for title, _, *others in ROWS:
        assert len(others) == 3, title
        for cell in others:
            links = re.findall(r"\]\[([a-z0-9-]+)\]", cell)
            assert cell == "?" or links, f"{title}: {cell}"
            used |= set(links)
    assert used == set(pages)
    hosts = {
        "k9s": "github.com/derailed/k9s/",
        "argocd": "argo-cd.readthedocs.io/",
        "kyma": "github.com/kyma-project/cli/",
    }
    assert all(page.startswith(f"https://{hosts[name.partition('-')[0]]}") for name, page in pages.items())
