"""One object for a person: description, owners, references, containers, what is hidden; no lists of objects."""
