"""What tries to break the house: hostile code, fuzz, kills."""
