"""How what is shipped is made: the library, the guards, the weights that mask. Nothing at run time needs it."""
