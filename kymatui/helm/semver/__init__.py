"""Versions and constraints as Masterminds/semver v3.4 reads them: `semverCompare`, dependency ranges, `kubeVersion`.

`parse_version("v1.2")` is lenient, as Helm is: a leading v, missing parts, leading zeros. `parse_constraint(">=1.2-0")`
gives something to `check` a version with. Both raise SemverError with the library's own text.
"""
