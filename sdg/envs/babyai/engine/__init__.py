"""N BabyAI environments stepped at once by compiled kernels, bit-exact with minigrid."""
