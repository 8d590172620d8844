"""The schema node and the schemas of built-in kinds, with the tables of facts that the client's models leave out."""
