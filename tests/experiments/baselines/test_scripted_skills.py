"""The yardstick's search for a way: over what may be free, and never beyond the map."""

from __future__ import annotations

from sdg.envs.babyai.world import BabyAIWorld
from sdg.experiments.baselines.scripted_skills import first_action


def test_a_search_without_a_way_comes_to_its_end() -> None:
    world = BabyAIWorld("GoToLocal")
    world.reset(2_000_000)
    poses = set()

    def never(x: int, y: int, heading: int) -> bool:
        poses.add((x, y, heading))
        assert 0 <= x < 22, "the map has 22 columns"
        assert 0 <= y < 22, "the map has 22 rows"
        return False

    assert first_action(world.memory, never) is None
    assert poses
