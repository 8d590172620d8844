"""Commands about a control plane and its runtimes: fleet, matrix, compare, sync, windows, watchers, and edits with
--fleet.
"""
