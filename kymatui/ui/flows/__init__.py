"""What a person can set going, from the question to the job. `actions` has the table; see `job_controller`."""
