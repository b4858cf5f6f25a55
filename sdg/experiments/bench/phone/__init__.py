"""Phone tasks, measured: episodes on a device, AndroidLab's folders, the table, and data from walks."""
