"""The terminal UI on Textual. The only asynchronous part."""
