"""Go's package time: calendars, locations, durations, layouts."""
