"""View models: domain values as texts, cells and tones. No widget is imported, so tests need no app."""
