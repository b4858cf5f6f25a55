"""Computer tasks from screenshots alone: MiniWoB++'s pages in a real browser, the nine commands, the parsed screen."""
