"""A small domain for tests and for reading, without a batch of its own: `corridor`."""

from sdg.envs.fakes.corridor import Corridor
from sdg.envs.fakes.domain import CORRIDOR, CorridorDomain

__all__ = ["CORRIDOR", "Corridor", "CorridorDomain"]
