"""What the user configures: one file with a schema, environment variables, flags."""
