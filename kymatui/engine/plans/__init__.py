"""Plans as data: steps, differences, grants, transforms and JSON; no cluster access."""
