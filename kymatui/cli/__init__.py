"""The command line: argument parsing, printing, exit statuses. No logic of its own."""
