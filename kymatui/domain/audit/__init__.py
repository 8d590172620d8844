"""Findings about a cluster's modules by named rules: one file of rules for each subject, the report, and entries
that ignore findings.
"""
