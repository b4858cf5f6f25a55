"""Computer tasks from screenshots alone, measured: episodes in browsers, their causes of failure, the table."""
