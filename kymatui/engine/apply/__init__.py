"""Installations and upgrades: a plan is made, refused or applied, pruned, and checked for drift."""
