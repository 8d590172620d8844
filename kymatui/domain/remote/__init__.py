"""A control plane and a runtime side by side: their differences, the catalog sync, the Watcher chains."""
