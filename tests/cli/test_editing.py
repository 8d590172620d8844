"""`kymatui edit`: an editor that is a script, the server's dry run, one plan, one write."""

from __future__ import annotations

import argparse
import json
import shlex
import sys
from pathlib import Path
from typing import Any

import pytest

from kymatui.actions.edits.object_edit import editable_fields, plan_object
from kymatui.adapters.files.object_editor import editor_command
from kymatui.cli.main import main
from kymatui.cli.options.git_review import GitReview
from kymatui.domain.gitops import GitChange, GitSource, GitTool
from kymatui.domain.kubernetes.object_meta import read_ref
from kymatui.domain.kubernetes.refs import GroupVersionKind, ObjectRef
from kymatui.engine.cluster.ports import Cluster, PatchKind, Write
from kymatui.errors import ConfigurationError, ConflictError
from kymatui.sessions.cluster.cluster_access import open_cluster
from kymatui.sessions.cluster.session_options import SessionOptions
from tests.cli.intruding import until
from tests.engine import objects as make

SERVERLESS = ObjectRef(GroupVersionKind("operator.kyma-project.io", "v1alpha1", "Serverless"), "kyma-system", "default")
KYMA = ObjectRef(GroupVersionKind("operator.kyma-project.io", "v1beta2", "Kyma"), "kyma-system", "default")
NAME = "Serverless kyma-system/default"
EDITOR = """\
import pathlib, sys
steps = pathlib.Path({steps!r})
file, turn = pathlib.Path(sys.argv[1]), len(list(steps.glob("seen-*")))
(steps / f"seen-{{turn}}").write_text(file.read_text())
change = steps / f"change-{{turn}}"
exec(change.read_text() if change.exists() else "")
"""


@pytest.fixture(autouse=True)
def cluster(kubeconfig: Path) -> Cluster:
    """The cluster, where the module CR has the annotation that tests change."""
    found = open_cluster(SessionOptions(str(kubeconfig)))
    found.patch(SERVERLESS, {"metadata": {"annotations": {"team": "red"}}}, PatchKind.MERGE)
    return found


class Editing:
    """Runs `kymatui edit` with an editor that makes one change each time it is opened."""

    def __init__(self, kubeconfig: Path, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self._kubeconfig, self._folder, self._capsys = kubeconfig, folder, capsys

    def __call__(self, words: str, *changes: str, verb: str = "edit") -> tuple[int, str, str]:
        for old in self._folder.glob("*"):
            old.unlink()
        for number, change in enumerate(changes):
            (self._folder / f"change-{number}").write_text(change)
        status = main([verb, *words.split(), "--kubeconfig", str(self._kubeconfig)])
        found = self._capsys.readouterr()
        return status, found.out, found.err

    @property
    def seen(self) -> list[str]:
        """The contents of the file, each time it was opened."""
        return [path.read_text() for path in sorted(self._folder.glob("seen-*"))]


@pytest.fixture
def edit(
    kubeconfig: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Editing:
    steps = tmp_path / "steps"
    steps.mkdir()
    script = tmp_path / "editor.py"
    script.write_text(EDITOR.format(steps=str(steps)))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setenv("KUBE_EDITOR", shlex.join([sys.executable, str(script)]))
    return Editing(kubeconfig, steps, capsys)


def replaced(old: str, new: str) -> str:
    return f"assert {old!r} in file.read_text(); file.write_text(file.read_text().replace({old!r}, {new!r}))"


MARK = replaced("team: red", "team: blue")


def marks(cluster: Cluster) -> dict[str, Any]:
    body = cluster.get(SERVERLESS)
    assert body is not None
    return dict(body["metadata"].get("annotations") or {})


def kept(tmp_path: Path) -> list[Path]:
    return list(tmp_path.glob("kymatui-edit-*"))


def test_what_is_rewritten_is_a_plan_and_then_written(edit: Editing, cluster: Cluster, tmp_path: Path) -> None:
    status, out, err = edit("serverless --dry-run", MARK)
    assert (status, err) == (0, "")
    assert out.startswith("Cluster: context kcp ")
    assert "1 to change" in out
    assert NAME in out
    assert "metadata.annotations" in out
    assert marks(cluster)["team"] == "red"
    (shown,) = edit.seen
    assert shown.startswith("# Edit the object below.")
    assert all(word not in shown for word in ("managedFields", "resourceVersion", "\nstatus:", "finalizers"))
    status, out, err = edit("serverless", MARK)
    assert (status, out) == (2, ""), "nobody confirmed it"
    assert "not a terminal" in err
    assert marks(cluster)["team"] == "red"
    status, out, err = edit("serverless --yes", MARK)
    assert (status, out) == (0, f"{NAME} changed\n")
    assert "1 to change" in err
    assert marks(cluster)["team"] == "blue"
    status, out, _ = edit("serverless --yes -o json", replaced("team: blue", "team: grey"))
    found = json.loads(out)
    assert (status, found["outcome"], found["object"]["name"]) == (0, "done", "default")
    assert [(one["before"], one["after"]) for one in found["changes"]] == [("blue", "grey")]
    assert kept(tmp_path) == []


def test_a_batch_says_of_an_object_and_a_release_how_long_the_release_lasts(cluster: Cluster) -> None:
    """Flux upgrades a release that another changed at its interval, and applies all of its objects then."""
    group = "helm.toolkit.fluxcd.io"
    definition = make.definition(group, "HelmRelease")
    cluster.create(definition)
    until(lambda: bool(cluster.kinds(group, "HelmRelease")))
    cluster.create(make.custom(group, "HelmRelease", "apps", "kyma-system", interval="10m"))
    source = GitSource(GitTool.HELM_RELEASE, "kyma-system", "apps")
    review = GitReview(argparse.Namespace(override_gitops=True), lambda: cluster)
    try:
        review.refusal("first", (GitChange(source, SERVERLESS),))
        earlier = review.notices()
        review.refusal("second", (GitChange(source, SERVERLESS, release=True),))
    finally:
        cluster.delete(read_ref(definition))
    assert earlier == (f"this lasts until its next upgrade ({source})",)
    (notice,) = review.notices()
    assert notice.startswith("this lasts for at most 10m, its interval; ")


def test_an_edit_of_what_git_applies_is_warned_of(edit: Editing, cluster: Cluster) -> None:
    label = {"helm.toolkit.fluxcd.io/name": "apps"}
    cluster.patch(SERVERLESS, {"metadata": {"labels": label}}, PatchKind.MERGE)
    try:
        status, text, refusal = edit("serverless --yes", MARK)
        assert edit.seen == [], "it is refused before a person rewrites it"
        planned, text, _ = edit("serverless --dry-run", MARK)
        document = edit("serverless --dry-run -o json", MARK)[1]
        done, changed, duration = edit("serverless --yes --override-gitops -o json", MARK)
        _, deletion, _ = edit("serverless --cascade --dry-run", verb="delete")
        _, plan, _ = edit("serverless --cascade --dry-run -o json", verb="delete")
    finally:
        cluster.patch(SERVERLESS, {"metadata": {"labels": dict.fromkeys(label)}}, PatchKind.MERGE)
    warning = f"Flux HelmRelease apps applies {NAME} and may revert this change: make it in Git"
    assert (status, warning in refusal, "--override-gitops makes it here, until " in refusal) == (2, True, True)
    assert (planned, "for the repository of Flux HelmRelease apps:" in text) == (2, True)
    assert f"warning: {warning}" in text
    refused = json.loads(document)
    assert (refused["warnings"], refused["outcome"]) == ([warning], "refused")
    (change,) = refused["git"]
    assert (change["source"], change["object"]) == ("Flux HelmRelease apps", NAME)
    metadata = change["manifest"]["metadata"]
    assert (metadata["annotations"]["team"], "labels" in metadata) == ("blue", False)
    assert (done, json.loads(changed)["outcome"]) == (0, "done")
    assert "this lasts until it is applied again, when is unknown (Flux HelmRelease apps)" in duration
    assert f"warning: {warning}" in deletion
    remaining = {one["object"]: one["git"] for one in json.loads(plan)["remaining"]}
    assert remaining.pop(NAME) == "Flux HelmRelease apps"
    assert set(remaining.values()) == {None}


@pytest.mark.parametrize("change", ["", "file.write_text('')", "file.write_text('# nothing\\n')"])
def test_what_is_not_changed_is_not_called_changed(change: str, edit: Editing, tmp_path: Path) -> None:
    assert edit("serverless --yes", change) == (0, f"{NAME}: no changes\n", "")
    assert len(edit.seen) == 1
    assert kept(tmp_path) == []


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ("file.write_text('a: [')", "invalid YAML: "),
        ("file.write_text('just words')", f"it must stay {NAME}: "),
        (replaced("name: default", "name: other"), f"it must stay {NAME}: "),
        (replaced("\nmetadata:\n", "\nmetadata:\n  finalizers: []\n"), "metadata.finalizers cannot be edited"),
        ("file.write_text(file.read_text() + 'status: {}\\n')", "status cannot be edited"),
        ("file.write_text(file.read_text() + 'nonsense: 1\\n')", 'strict decoding error: unknown field "nonsense"'),
    ],
)
def test_an_error_opens_the_file_again_with_the_error_on_top(
    change: str, error: str, edit: Editing, tmp_path: Path
) -> None:
    status, out, err = edit("serverless --yes", change)
    assert (status, out) == (1, ""), "the same content once more gives up"
    first, again = edit.seen
    assert "# error: " not in first
    line = again.partition("# error: ")[2].splitlines()[0]
    assert error in line
    assert len(line) < 200
    (file,) = kept(tmp_path)
    assert f"your changes are in {file}" in err


def test_a_number_stays_what_it_was(edit: Editing, cluster: Cluster) -> None:
    field = "targetCPUUtilizationPercentage"
    first = cluster.get(SERVERLESS)
    assert first is not None
    number = first["spec"][field]
    status, _, err = edit("serverless --yes", replaced(f"{field}: {number}", f"{field}: {number + 1}"))
    assert status == 0, err
    found = cluster.get(SERVERLESS)
    assert found is not None
    assert repr(found["spec"][field]) == str(number + 1), "an integer, and not 61.0"
    assert f"{number} → {number + 1}" in err


def test_an_error_can_be_repaired(edit: Editing, cluster: Cluster) -> None:
    repair = (
        "file.write_text(file.read_text().replace('name: other', 'name: default').replace('team: red', 'team: green'))"
    )
    status, out, _ = edit("serverless --yes", replaced("name: default", "name: other"), repair)
    assert (status, out) == (0, f"{NAME} changed\n")
    assert marks(cluster)["team"] == "green"
    assert len(edit.seen) == 2


def test_what_another_client_changed_meanwhile_is_not_overwritten(
    edit: Editing, cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    def meanwhile(patch: dict[str, Any], subresource: str = "") -> None:
        monkeypatch.setattr(
            "kymatui.cli.options.batch_renderers.confirm",
            lambda *_, **__: cluster.patch(
                SERVERLESS, patch, PatchKind.MERGE, manager="someone", subresource=subresource
            ),
        )

    meanwhile({"metadata": {"annotations": {"team": "theirs"}}})
    status, out, err = edit("serverless", replaced("team: red", "team: mine"))
    assert (status, out) == (2, "")
    assert f"another client changed {NAME} meanwhile (metadata.annotations" in err
    assert marks(cluster)["team"] == "theirs"
    meanwhile({"status": {"observed": "again"}}, "status")
    status, out, _ = edit("serverless", replaced("team: theirs", "team: mine"))
    assert (status, out) == (0, f"{NAME} changed\n"), "a status is no conflict"
    assert marks(cluster)["team"] == "mine"


def test_the_kyma_is_edited_but_not_emptied(edit: Editing, cluster: Cluster) -> None:
    emptied = "import re; file.write_text(re.sub(r'(?s)modules:.*', 'modules: []\\n', file.read_text()))"
    status, out, err = edit("--kyma --yes", emptied)
    assert (status, out) == (2, "")
    assert "this edit would uninstall " in err
    assert "`kymatui disable " in err
    assert "your changes are in " in err
    status, out, _ = edit("--kyma --yes", replaced("\nmetadata:\n", "\nmetadata:\n  annotations:\n    a: b\n"))
    assert (status, out) == (0, f"{KYMA} changed\n")


@pytest.mark.parametrize(
    ("words", "status", "error"),
    [
        ("", 64, "give a module, or --kyma"),
        ("serverless --kyma", 64, "give a module, or --kyma"),
        ("serverles", 64, 'no module "serverles" in kcp; did you mean serverless?'),
        ("serverless --object defualt", 64, 'serverless has no module CR "defualt"'),
        ("--read-only serverless", 4, "edit is refused: kymatui runs read-only (--read-only)"),
    ],
)
def test_words_that_make_no_sense(words: str, status: int, error: str, edit: Editing) -> None:
    found, out, err = edit(words, MARK)
    assert (found, out) == (status, "")
    assert error in err.splitlines()[0]
    assert edit.seen == [], "no editor was opened"


def test_in_read_only_mode_the_plan_is_made_without_the_server(edit: Editing) -> None:
    status, out, _ = edit("--read-only serverless --dry-run", replaced("team: red", "team: none"))
    assert (status, "1 to change" in out) == (0, True)


def test_editors_that_fail(edit: Editing, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBE_EDITOR", "false")
    status, _, err = edit("serverless --yes")
    assert (status, "the editor false ended with status 1; no changes made" in err) == (1, True)
    monkeypatch.setenv("KUBE_EDITOR", "/no/such/editor")
    status, _, err = edit("serverless --yes")
    assert (status, "cannot start the editor /no/such/editor" in err) == (1, True)


def test_the_editor_is_chosen_as_kubectl_chooses_it() -> None:
    assert editor_command({"KUBE_EDITOR": "code --wait", "EDITOR": "nano"}) == ["code", "--wait"]
    assert editor_command({"EDITOR": "'my editor' -n"}) == ["my editor", "-n"]
    assert editor_command({}) == ["vi"]
    with pytest.raises(ConfigurationError):
        editor_command({"EDITOR": "'"})


def test_errors_of_the_schema_are_the_servers(edit: Editing) -> None:
    wrong = "import re; file.write_text(re.sub(r'channel: \\w+', 'channel: [5]', file.read_text(), count=1))"
    right = "import re; file.write_text(re.sub(r'channel: .5.', 'channel: regular', file.read_text(), count=1))"
    status, _, err = edit("--kyma --dry-run", wrong, right)
    assert status == 0, err
    assert "# error: " in edit.seen[1]
    assert "spec.channel" in edit.seen[1].partition("# error: ")[2].splitlines()[0]


def test_a_module_without_a_cr_gets_its_default_cr(edit: Editing, cluster: Cluster) -> None:
    kind = GroupVersionKind("operator.kyma-project.io", "v1alpha1", "TransparentProxy")
    ref = ObjectRef(kind, "kyma-system", "default")
    status, out, err = edit("transparent-proxy --yes", "file.write_text('')")
    assert (status, out) == (0, f"{ref}: not created, the file was emptied\n")
    assert cluster.get(ref) is None
    status, out, err = edit("transparent-proxy --yes", "pass")  # saved as it is
    assert (status, out) == (0, f"{ref} created\n"), err
    assert "1 to create" in err
    assert cluster.get(ref) is not None
    cluster.delete(ref)
    until(lambda: cluster.get(ref) is None)  # its manager removes a finalizer first


def test_a_new_cr_that_the_server_refuses_opens_again(edit: Editing, cluster: Cluster) -> None:
    status, out, _ = edit("transparent-proxy --dry-run", replaced("spec: {}", "specs: {}"), replaced("specs", "spec"))
    assert (status, "1 to create" in out) == (0, True)
    assert "unknown field" in edit.seen[1]


def test_a_conflict_of_a_change_is_no_name_that_exists(kubeconfig: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = open_cluster(SessionOptions(str(kubeconfig)))
    before = cluster.get(SERVERLESS)
    assert before is not None
    desired = editable_fields(before)
    desired["metadata"]["labels"] = {"team": "blue"}

    def refuse(write: Write, **_: Any) -> None:
        raise ConflictError("the object has been modified", status=409)

    monkeypatch.setattr(cluster, "write", refuse)
    with pytest.raises(ConflictError, match="has been modified"):
        plan_object(cluster, before, before, desired)
