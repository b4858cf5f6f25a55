"""An ant of torques in mazes: gymnasium-robotics' AntMaze, and the same mazes with coloured spots and instructions."""

import sdg.envs.physics  # noqa: F401  # before gymnasium-robotics, which says of a missing MuJoCo what doesn't help here
