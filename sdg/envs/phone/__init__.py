"""Phones: what can be done on one, its UI tree, the devices behind one protocol, the tasks and how they are scored."""
