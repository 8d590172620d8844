"""Flows from the user's question to the job. `module_actions` has the table; see `job_controller`."""
