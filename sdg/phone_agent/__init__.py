"""What the screen agent needs to work on a phone: the phone as its desktop, masked values, adapters to harnesses."""
