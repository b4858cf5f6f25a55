"""How the shipped detector is made: pages, labels from the DOM, training. Nothing at run time needs it."""
