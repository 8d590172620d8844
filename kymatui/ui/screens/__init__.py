"""Screens, one file each; those of a control plane are in `fleet`."""
