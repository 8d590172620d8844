"""Files of the user on this machine: backups, plans, caches, journals of jobs and campaigns.

This folder sends no requests of its own.
"""
