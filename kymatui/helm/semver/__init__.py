"""Versions and constraints as in Masterminds/semver v3.4, for `semverCompare` and version ranges.

`parse_version("v1.2")` is lenient, as in Helm: a leading v, missing parts, leading zeros.
`parse_constraint(">=1.2-0")` returns a constraint with `check`. Both raise SemverError with the library's message.
"""
