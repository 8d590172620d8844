"""One module as view models: its facts, state checks, objects, documents, events and versions."""
