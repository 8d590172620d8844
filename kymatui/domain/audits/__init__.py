"""Audits: findings about a cluster's modules, by rules that have names, from what may be read and nothing else."""
