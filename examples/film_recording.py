"""A film of a recorded episode: it plays the model's recorded replies again, without the model.

python -m examples.film_recording recordings/models/boss-93-composed 1867930005 docs/figures/bosslevel.gif
"""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

from sdg.envs.domains import DEFAULT
from sdg.experiments.bench.models.recording import COMPOSED, CONFIG, TRANSCRIPT, read_recording
from sdg.experiments.bench.models.replay import IN_TURN
from sdg.experiments.config.assembly import planner_of
from sdg.experiments.config.config import load
from sdg.experiments.play.film import episode_gif
from sdg.experiments.play.solve import solve
from sdg.experiments.results.comparison import find_library


def main(recording: Path, layout: int, film: Path) -> None:
    row = next(episode for episode in read_recording(recording).episodes if episode.seed == layout)
    config = load(recording / CONFIG)
    model = replace(config.model, kind=IN_TURN, transcript=str(recording / TRANSCRIPT), cache=False)
    stage = row.unit.rsplit("/", 2)[0]
    planner = planner_of(replace(config, model=model), None, find_library(), agent="sdg", stage=stage)
    summary, episode = solve(row.level, layout, recipe=replace(planner, composed=recording / COMPOSED))
    film.write_bytes(episode_gif(episode, domain_name=DEFAULT))
    print(f"{summary['instruction']!r}: {summary['outcome']} in {summary['steps']} steps\n{summary['program']}")


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3]))
