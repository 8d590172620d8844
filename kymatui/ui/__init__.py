"""Terminal UI on Textual, the only asynchronous part of kymatui."""
