"""Construction of the sample world: population, situations step by step, bulk fleet, file loading."""
