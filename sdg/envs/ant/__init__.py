"""An ant of torques in mazes: gymnasium-robotics' AntMaze, and the same mazes with coloured spots and instructions."""

import os
from importlib.util import find_spec
from pathlib import Path

import sdg.envs.physics  # noqa: F401  # before gymnasium-robotics, which says of a missing MuJoCo what doesn't help here

# gymnasium-robotics imports glfw, which looks for its library by starting a program, which workers may not do.
_PACKAGE = find_spec("glfw")
_LIBRARY = Path(str(_PACKAGE.origin)).parent / "x11" / "libglfw.so" if _PACKAGE else None
if _LIBRARY is not None and _LIBRARY.is_file():
    os.environ.setdefault("PYGLFW_LIBRARY", str(_LIBRARY))
