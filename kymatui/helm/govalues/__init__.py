"""Go values in Python: types, truth, comparison, printing; `types` has the table of representations."""
