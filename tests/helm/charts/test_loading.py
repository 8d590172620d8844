"""Charts from files and directories: Chart.yaml, requirements, .helmignore, subcharts, and Helm's refusals."""

from __future__ import annotations

from pathlib import Path

import pytest

from kymatui.errors import HelmError
from kymatui.helm import Chart, check_dependencies, load_chart
from kymatui.helm.charts.chart import IgnoreRules
from kymatui.helm.charts.glob_patterns import FileGlob, PatternError, match_path

WEB = "apiVersion: v2\nname: web\nversion: 1.0.0\n"


def test_texts_of_chart_yaml_may_be_numbers() -> None:
    chart = Chart.from_files({"Chart.yaml": WEB + "appVersion: 1.10\nkubeVersion: 1\nicon: true\n"})
    assert (chart.metadata.app_version, chart.metadata.kube_version, chart.metadata.icon) == ("1.1", "1", "true")


@pytest.mark.parametrize(
    ("generated", "problem"),
    [
        ("2020-01-01T00:00:00.123456789+02:00", ""),
        ("null", ""),
        ("x", 'parsing time "x" as "2006-01-02T15:04:05Z07:00": cannot parse "x" as "2006"'),
        ("2020-01-01", 'parsing time "2020-01-01" as "2006-01-02T15:04:05Z07:00": cannot parse "" as "T"'),
        ("2020-01-01T24:00:00Z", 'parsing time "2020-01-01T24:00:00Z": hour out of range'),
        ("5", "Time.UnmarshalJSON: input is not a JSON string"),
    ],
)
def test_a_lock_says_when_it_was_generated(generated: str, problem: str) -> None:
    files = {"Chart.yaml": WEB, "Chart.lock": f"generated: {generated}\ndigest: x\n"}
    if not problem:
        assert Chart.from_files(files).name == "web"
        return
    with pytest.raises(HelmError) as caught:
        Chart.from_files(files)
    prefix = "cannot load Chart.lock: error unmarshaling JSON: while decoding JSON: "
    assert str(caught.value) == prefix + problem


def test_field_names_match_without_regard_to_case() -> None:
    assert Chart.from_files({"Chart.yaml": "APIVERSION: v2\nName: a\nVERSION: 1.0.0\n"}).name == "a"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "validation: chart.metadata.name is required"),
        ("apiVersion: v2\nname: a\n", "validation: chart.metadata.version is required"),
        ("name: a\nversion: x\n", 'validation: chart.metadata.version "x" is invalid'),
        ("name: ..\nversion: 1.0.0\n", 'validation: chart.metadata.name ".." is not allowed'),
        ("name: a/b\nversion: 1.0.0\n", 'validation: chart.metadata.name "a/b" is invalid'),
        (WEB + "type: x\n", "validation: chart.metadata.type must be application or library"),
        (WEB + "dependencies: [{name: a, alias: a/b}]", "has disallowed characters in the alias"),
        (WEB + "dependencies: [{name: a}, {name: a}]", 'more than one dependency with name or alias "a"'),
        (WEB + "dependencies: [null]", "dependencies must not contain empty or null nodes"),
        (WEB + "maintainers: [null]", "maintainers must not contain empty or null nodes"),
        (WEB + "description: [a]\n", "cannot unmarshal array into Go struct field Metadata.description of type string"),
        (WEB + "maintainers: [{name: [a]}]\n", "Go struct field Maintainer.maintainers.name of type string"),
        ("- a", "cannot unmarshal array into Go value of type v2.Metadata"),
        ("a: [", "cannot load Chart.yaml: error converting YAML to JSON: yaml: line 1"),
    ],
)
def test_what_helm_refuses_is_refused_in_its_words(text: str, words: str) -> None:
    with pytest.raises(HelmError) as found:
        Chart.from_files({"Chart.yaml": text})
    assert words in str(found.value)


def test_a_chart_without_chart_yaml_is_none() -> None:
    with pytest.raises(HelmError, match=r"Chart\.yaml file is missing"):
        Chart.from_files({"values.yaml": "a: 1"})


def test_old_charts_have_their_requirements_in_a_file_of_their_own() -> None:
    chart = Chart.from_files(
        {
            "Chart.yaml": "name: old\nversion: 1.0.0\n",
            "requirements.yaml": "dependencies: [{name: db, version: 1.x}]",
            "requirements.lock": "digest: sha256:x\ndependencies: [{name: db, version: 1.2.3}]\n"
            "generated: '2020-01-01T00:00:00Z'",
        }
    )
    assert chart.metadata.api_version == "v1"
    assert [one.name for one in chart.metadata.dependencies or ()] == ["db"]
    assert chart.lock is not None
    assert chart.lock.dependencies[0].version == "1.2.3"
    assert [one.name for one in chart.files] == ["requirements.lock", "requirements.yaml"]


def test_files_are_told_apart() -> None:
    chart = Chart.from_files(
        {
            "Chart.yaml": WEB,
            "values.yaml": "a: 1\n---\na: 2\nb: 3\n",
            "values.schema.json": "{}",
            "templates/a.yaml": "",
            "templates/.hidden": "",
            "crds/a.yaml": "",
            "crds/readme.md": "",
            "charts/.x/Chart.yaml": "",
            "charts/_y/Chart.yaml": "",
            "README.md": "",
        }
    )
    assert chart.values == {"a": 2.0, "b": 3.0}
    assert [one.name for one in chart.templates] == ["templates/a.yaml"]
    assert [one.name for one in chart.crd_files()] == ["crds/a.yaml"]
    assert [one.name for one in chart.files] == ["README.md", "crds/a.yaml", "crds/readme.md"]
    assert chart.dependencies == []


def test_what_is_wrong_in_a_subchart_says_where() -> None:
    with pytest.raises(HelmError, match=r"error unpacking subchart db in web: Chart\.yaml file is missing"):
        Chart.from_files({"Chart.yaml": WEB, "charts/db/values.yaml": "a: 1"})


def test_the_digest_tells_charts_apart() -> None:
    one = Chart.from_files({"Chart.yaml": WEB})
    assert one.digest == Chart.from_files({"Chart.yaml": WEB}).digest
    assert one.digest != Chart.from_files({"Chart.yaml": WEB, "a": ""}).digest


def test_declared_dependencies_that_are_not_there_are_named() -> None:
    with pytest.raises(HelmError, match="missing in charts/ directory: db"):
        check_dependencies(Chart.from_files({"Chart.yaml": WEB + "dependencies: [{name: db, version: '*'}]"}))


def write(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


def test_a_directory_is_read_in_the_order_of_its_names_without_what_is_ignored(tmp_path: Path) -> None:
    files = {"Chart.yaml": WEB, ".helmignore": "*.bak\nskip/\n", "b.txt": "", "a/x": "", "a.bak": "", "skip/y": ""}
    chart = load_chart(write(tmp_path, files))
    assert [one.name for one in chart.files] == [".helmignore", "a/x", "b.txt"]


def test_a_symbolic_link_out_of_a_directory_is_followed_only_where_it_is_allowed(tmp_path: Path) -> None:
    outside = write(tmp_path / "outside", {"secret": "s"})
    chart = write(tmp_path / "chart", {"Chart.yaml": WEB})
    (chart / "link").symlink_to(outside / "secret")
    with pytest.raises(HelmError, match="leads out of the chart"):
        load_chart(chart)
    assert load_chart(chart, links_out=True).files[0].data == b"s"
    (chart / ".helmignore").write_text("link\n")
    assert [file.name for file in load_chart(chart).files] == [".helmignore"]


@pytest.mark.parametrize(
    ("target", "is_repository", "followed"),
    [
        ("LICENSE", False, True),
        ("LICENSE", True, True),
        ("docs/LICENSE", False, False),
        ("docs/LICENSE", True, True),
        (".netrc", False, False),
        (".git/config", True, False),
    ],
)
def test_a_link_may_lead_to_files_of_the_repository(
    tmp_path: Path, target: str, is_repository: bool, followed: bool
) -> None:
    repository = write(tmp_path / "repository", {target: "text", "chart/Chart.yaml": WEB})
    if is_repository:
        (repository / ".git").mkdir(exist_ok=True)
    (repository / "chart" / "link").symlink_to(f"../{target}")
    if not followed:
        with pytest.raises(HelmError, match="leads out of the chart"):
            load_chart(repository / "chart")
        return
    chart = load_chart(repository / "chart")
    assert (chart.files[0].data, chart.links) == (b"text", ("link",))


def test_links_that_go_round_are_refused(tmp_path: Path) -> None:
    chart = write(tmp_path, {"Chart.yaml": WEB})
    (chart / "loop").symlink_to(chart)
    with pytest.raises(HelmError, match="round in a circle"):
        load_chart(chart)


@pytest.mark.parametrize(
    ("rules", "path", "directory", "ignored"),
    [
        ("*.md", "a/README.md", False, True),
        ("/a/*", "a/x", False, True),
        ("/x", "a/x", False, False),
        ("a/x", "b/a/x", False, False),
        ("conf/", "conf", True, True),
        ("conf/", "conf", False, False),
        ("!keep", "other", False, True),
        ("!keep", "keep", False, False),
        ("# x", "# x", False, False),
        ("", "templates/.swp", False, True),
        ("", "templates/sub/.swp", False, False),
        ("[ab].txt", "b.txt", False, True),
    ],
)
def test_rules_of_helmignore(rules: str, path: str, directory: bool, ignored: bool) -> None:
    assert IgnoreRules(rules).ignores(path, directory) is ignored


def test_double_stars_are_refused_as_in_helm() -> None:
    with pytest.raises(HelmError, match="double-star"):
        IgnoreRules("a/**/b")


@pytest.mark.parametrize(
    ("pattern", "name", "matches"),
    [
        ("*", "abc", True), ("*", "a/b", False), ("a*c", "abbc", True), ("a*/b", "a/c/b", False),
        ("[a-c]x", "bx", True),
        ("[^a-c]x", "bx", False), ("[^a-c]x", "/x", True), ("\\*", "*", True), ("a?", "a/", False), ("", "", True),
        ("*a*b*c", "xxaxxbxxc", True), ("a[", "a", None), ("[]a]", "]", None), ("[-]", "-", None), ("a\\", "a", None),
    ],
)  # fmt: skip
def test_patterns_of_paths_are_those_of_go(pattern: str, name: str, matches: bool | None) -> None:
    if matches is None:
        with pytest.raises(PatternError):
            match_path(pattern, name)
    else:
        assert match_path(pattern, name) is matches


@pytest.mark.parametrize(
    ("pattern", "name", "matches"),
    [
        ("conf/*", "conf/a", True), ("conf/*", "conf/a/b", False), ("conf/**", "conf/a/b", True),
        ("**.txt", "a/b.txt", True),
        ("{a,b}/*.y?ml", "b/x.yaml", True), ("[!a]x", "ax", False), ("[a-c]x", "bx", True),
        ("a{b,c{d,e}}f", "acef", True),
        ("{a,b", "b", True), ("[", "anything/at/all", True), ("a.b", "axb", False), ("\\*", "*", True),
    ],
)  # fmt: skip
def test_patterns_of_files_are_those_of_gobwas(pattern: str, name: str, matches: bool) -> None:
    assert FileGlob(pattern).matches(name) is matches
