"""The smallest run, which compiles the kernels of runs: `sdg.experiments.workers.compiled` starts it."""

import tempfile
from pathlib import Path

from sdg.console import progress
from sdg.envs.babyai.world import BabyAIWorld
from sdg.experiments.config.assembly import run_settings
from sdg.experiments.config.config import load, shipped_config
from sdg.experiments.run.runs import run
from sdg.storage import RunFolder

if __name__ == "__main__":
    world = BabyAIWorld("GoToLocal")
    world.reset(0)
    world.forget()  # the one kernel that no small run needs
    config = load(shipped_config("tiny"), overlay=["cycles=2"])
    with tempfile.TemporaryDirectory() as parent, RunFolder.start(Path(parent, "run"), run_settings(config)) as folder:
        list(run(config, folder, until="run", progress=progress(quiet=True)))
