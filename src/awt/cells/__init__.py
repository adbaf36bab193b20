"""Work on files: functions that the runtime calls with JSON parameters and bytes, thin adapters over the core."""
