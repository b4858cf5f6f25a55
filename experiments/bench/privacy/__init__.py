"""The protector's figures: what is masked of known values, what leaks, and what placeholders cost."""
