"""Base classes of screens: first paint, prompt, frame, help, single table; no concept and no writes."""
