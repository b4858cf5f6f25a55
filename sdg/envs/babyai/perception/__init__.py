"""What the robot has seen, remembered from its views alone, and the perception functions that say it."""
