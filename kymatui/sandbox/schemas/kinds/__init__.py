"""What built-in kinds mean beyond their types: defaults, what the server sets itself, and what it refuses."""
