"""The fleet of a control plane: runtimes, versions, changes, maintenance, pending actions, campaigns."""
