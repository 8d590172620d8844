"""kymatui's operator in a cluster: its objects, its installation and deletion; no controllers."""
