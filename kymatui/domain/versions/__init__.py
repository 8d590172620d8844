"""Expected and deployed versions: channels, templates, refusals, evidence, drift, version comparison."""
