"""Helm inside one process: small Go programs, made and built in a temporary folder where Go is.

One measures what Helm's engine takes, the other runs many of Helm's commands without starting Helm for each.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

HELM = "v4.1.4"
PROGRAM = r"""
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"time"

	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/common/util"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	chartutil "helm.sh/helm/v4/pkg/chart/v2/util"
	"helm.sh/helm/v4/pkg/engine"
	release "helm.sh/helm/v4/pkg/release/v1/util"
)

func once(path string) (time.Duration, error) {
	chart, err := loader.Load(path)
	if err != nil {
		return 0, err
	}
	start := time.Now()
	values := map[string]any{}
	if err := chartutil.ProcessDependencies(chart, values); err != nil {
		return 0, err
	}
	options := common.ReleaseOptions{Name: "rel", Namespace: "ns", Revision: 1, IsInstall: true}
	given, err := util.ToRenderValues(chart, values, options, common.DefaultCapabilities)
	if err != nil {
		return 0, err
	}
	files, err := engine.Render(chart, given)
	if err != nil {
		return 0, err
	}
	for path := range files {
		if strings.HasSuffix(path, "NOTES.txt") {
			delete(files, path)
		}
	}
	_, _, err = release.SortManifests(files, nil, release.InstallOrder)
	return time.Since(start), err
}

func main() {
	best := map[string]float64{}
	for _, path := range os.Args[1:] {
		for i := 0; i < 5; i++ {
			took, err := once(path)
			if err != nil {
				fmt.Fprintln(os.Stderr, path, err)
				break
			}
			ms := float64(took.Microseconds()) / 1000
			if known, is := best[path]; !is || ms < known {
				best[path] = ms
			}
		}
	}
	json.NewEncoder(os.Stdout).Encode(best)
}
"""

COMMANDS = r"""
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"log"
	"log/slog"
	"os"
	"runtime/debug"

	"helm.sh/helm/v4/pkg/cmd"
)

type answer struct {
	Ok  bool   `json:"ok"`
	Out []byte `json:"out"`
	Err string `json:"err"`
}

func run(words []string) (given answer) {
	var out, problems bytes.Buffer
	defer func() {
		if reason := recover(); reason != nil {
			given = answer{false, out.Bytes(), fmt.Sprintf("panic: %v", reason)}
		}
	}()
	quiet := func(bool) { slog.SetDefault(slog.New(slog.NewTextHandler(&problems, nil))) }
	log.SetOutput(&problems)
	os.Args = append([]string{"helm"}, words...)
	root, err := cmd.NewRootCmd(&out, words, quiet)
	if err == nil {
		root.SetArgs(words)
		root.SetErr(&problems)
		err = root.Execute()
	}
	return answer{err == nil, out.Bytes(), problems.String()}
}

func main() {
	debug.SetGCPercent(400)
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<24)
	answers := json.NewEncoder(os.Stdout)
	os.Stdout = os.Stderr
	for lines.Scan() {
		var words []string
		if err := json.Unmarshal(lines.Bytes(), &words); err != nil {
			panic(err)
		}
		answers.Encode(run(words))
	}
}
"""


def build(program: str, folder: Path) -> bool:
    """Builds a program with Helm's packages as `bench` in a folder; False where there is no Go or no build."""
    go = shutil.which("go")
    if go is None:
        return False
    (folder / "main.go").write_text(program)
    for command in (["mod", "init", "bench"], ["get", f"helm.sh/helm/v4@{HELM}"], ["mod", "tidy"], ["build"]):
        done = subprocess.run([go, *command], cwd=folder, capture_output=True, text=True)
        if done.returncode:
            print(f"go {' '.join(command)}: {done.stderr[-300:]}", file=sys.stderr)
            return False
    return True


def in_process(charts: Iterable[Path]) -> dict[str, float]:
    """{path: milliseconds of the fastest of five renderings of the loaded chart}; {} where there is no Go or no build.

    Dependencies, values, schema, parsing, rendering and sorting are in it, reading the archive is not.
    """
    with tempfile.TemporaryDirectory() as name:
        if not build(PROGRAM, Path(name)):
            return {}
        command = [f"{name}/bench", *map(str, charts)]
        answer = subprocess.run(command, capture_output=True, text=True, check=True)
        found: dict[str, float] = json.loads(answer.stdout)
        return found
