"""Success on BabyAI's 19 published levels, by the same agents and rules as Table 1.

sdg bench all19 --instructions 100 --repeats 3 --seed 0 [--json]
"""

from __future__ import annotations

from typing import Any

from sdg.experiments.bench import table1 as bench_table1

LEVELS = (
    "GoToObj", "GoToRedBallGrey", "GoToRedBall", "GoToLocal", "PutNextLocal", "PickupLoc", "GoToObjMaze", "GoTo",
    "Pickup", "UnblockPickup", "Open", "Unlock", "PutNextS7N4", "Synth", "SynthLoc", "GoToSeq", "SynthSeq",
    "GoToImpUnlock", "BossLevel",
)  # fmt: skip
"""The levels of the BabyAI paper's table 1 (arXiv 1810.08272), in its order. minigrid registers no plain PutNext; its
largest variant stands for it."""


def rows(
    *,
    seed: int = 0,
    instructions: int = 100,
    repeats: int = 3,
    levels: tuple[str, ...] = LEVELS,
    agents: tuple[str, ...] = ("sdg", "random", "bot"),
    library: str = "",
    out: str = "",
    llm: str = "babylang",
    base_url: str = "",
    processes: int = 0,
) -> list[dict[str, Any]]:
    """The rows of the table, as in `bench_table1.rows`."""
    return bench_table1.rows(
        seed=seed,
        instructions=instructions,
        repeats=repeats,
        levels=levels,
        agents=agents,
        library=library,
        out=out or f"runs/all19-{seed}",
        llm=llm,
        base_url=base_url,
        processes=processes,
    )
