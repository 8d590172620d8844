"""What Helm's engine takes inside its process: a small Go program, made and built in a temporary folder where Go is."""

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


def in_process(charts: Iterable[Path]) -> dict[str, float]:
    """{path: milliseconds of the fastest of five renderings of the loaded chart}; {} where there is no Go or no build.

    Dependencies, values, schema, parsing, rendering and sorting are in it, reading the archive is not.
    """
    go = shutil.which("go")
    if go is None:
        return {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "main.go").write_text(PROGRAM)
        for command in (["mod", "init", "bench"], ["get", f"helm.sh/helm/v4@{HELM}"], ["mod", "tidy"], ["build"]):
            done = subprocess.run([go, *command], cwd=folder, capture_output=True, text=True)
            if done.returncode:
                print(f"go {' '.join(command)}: {done.stderr[-300:]}", file=sys.stderr)
                return {}
        command = [str(folder / "bench"), *map(str, charts)]
        answer = subprocess.run(command, capture_output=True, text=True, check=True)
        found: dict[str, float] = json.loads(answer.stdout)
        return found
