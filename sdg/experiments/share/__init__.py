"""Libraries and episodes in foreign formats: Hugging Face model folders, Minari datasets, callbacks of trackers."""
