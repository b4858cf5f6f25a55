"""What was learned in forms that others read: Hugging Face model folders, Minari datasets, callbacks of trackers."""
