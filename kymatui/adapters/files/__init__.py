"""Files of the user on this machine: backups, plans, caches, and the journals of jobs and campaigns. No cluster is
asked.
"""
