"""Controllers: what is asked for in a resource is made so, again and again, until nobody asks any more."""
