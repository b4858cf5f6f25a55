"""What the screen agent needs to work on a phone: the phone as its desktop, and what stands between it and others."""
