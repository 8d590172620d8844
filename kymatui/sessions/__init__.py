"""Sessions with clusters: opened, listed and watched, and handed to actions with the adapters that these need.

`cluster` has one cluster, `control_plane` a control plane and its runtimes, `feeds` the watches below both, `reports`
what commands read of many runtimes. Decisions are made in `actions` and `domain`.
"""
