"""Phone tasks, measured: episodes on a device, AndroidLab's folders, the table, and what trajectories teach."""
