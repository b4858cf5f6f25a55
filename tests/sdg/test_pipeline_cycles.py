"""Several cycles: the first is what a run of one cycle is; later ones go on after a kill and replay, bit for bit."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest

from sdg.console import Quiet
from sdg.experiments.config.assembly import run_settings
from sdg.experiments.config.config import RunConfig, find_config, load
from sdg.experiments.run.runs import run
from sdg.llm.babylang.model import BabyLang
from sdg.llm.transcript import entries
from sdg.pipeline.pipeline import Pipeline
from sdg.pipeline.plan import Plan
from sdg.skills.library.store import load_library
from sdg.skills.search.trial import RandomSearch
from sdg.storage import RunFolder, RunSettings, read_journal
from sdg.verification.verify import SearchedSubgoal, Verification
from tests.adversarial.kills import units, weights

LEVEL = "UnlockLocal"
SMALL = (
    f"levels=[{LEVEL}]",
    "instructions_per_level=3",
    "verify.method=random",
    "verify.t_verify=900",
    "verify.most_per_subgoal=600",
    "induce.first_timesteps=512",
    "induce.train.total_timesteps=1024",
    "induce.train.n_envs=16",
    "induce.fresh_starts=30",
    "induce.training_layouts=20",
    "induce.validation_layouts=20",
    "induce.rehearsals=0",
    "induce.use_unconfirmed=true",
    "processes=1",
)


class Killed(BaseException):
    """Ends a run at once, as a signal would, between two units."""


class Fuse(Quiet):
    """Progress that ends the run when a stage of this name has advanced once."""

    def __init__(self, stage: str) -> None:
        self.fatal = stage

    @contextmanager
    def stage(self, name: str, **options: object) -> Iterator[Fuse]:  # type: ignore[override]
        self.now = name
        yield self

    def advance(self, count: int = 1, *, steps: int = 0) -> None:
        if self.now == self.fatal:
            raise Killed


def config(*overlay: str) -> RunConfig:
    return load(find_config("tiny"), overlay=[*SMALL, *overlay])


def ground_run(folder: Path, chosen: RunConfig, *, progress: Quiet | None = None) -> Path:
    settings = run_settings(chosen)
    with RunFolder.start(folder, settings) as run_folder:
        list(run(chosen, run_folder, until="induce", progress=progress or Quiet()))
    return folder


@pytest.fixture(scope="module")
def twice(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return ground_run(tmp_path_factory.mktemp("cycles") / "twice", config("cycles=2"))


def test_a_second_cycle_tries_again_what_failed_and_nothing_else(twice: Path) -> None:
    rows = read_journal(twice / "verifications.jsonl")
    first = {row["unit"].rpartition("/")[0]: row["verified"] for row in rows if int(row["unit"][-1]) < 2}
    spent: Counter[str] = Counter()
    for row in rows:
        task, _, attempt = row["unit"].rpartition("/")
        if int(attempt[-1]) >= 2:
            spent[task] += row["searched_steps"]
    assert spent.keys() == {task for task, verified in first.items() if not verified} != set()
    assert max(spent.values()) <= 900, "T_verify is for an instruction and a cycle"


def test_the_second_cycle_is_told_of_the_skills_of_the_first(twice: Path) -> None:
    exchanges = entries(twice / "transcript.jsonl")
    prompts = [entry["messages"][-1]["content"] for entry in exchanges if entry["stage"] == "hypothesize"]
    names = {skill.name for skill in load_library(twice / "library-1").skills}
    with_skills = [text for text in prompts if "## Skills that the robot has learned" in text]
    assert with_skills
    assert all(f"\n{name}(" in text for text in with_skills for name in names)
    assert len(with_skills) < len(prompts), "the first cycle has none"


def test_the_first_cycle_is_what_a_run_of_one_cycle_is(twice: Path, tmp_path: Path) -> None:
    once = ground_run(tmp_path / "once", config())
    alone, both = units(once), units(twice)
    assert {key: text for key, text in both.items() if key in alone} == alone
    library = load_library(twice / "library-1")
    assert [skill.name for skill in library.skills] == [skill.name for skill in load_library(once / "library").skills]
    for skill in library.skills:
        ours, theirs = (place / f"{skill.name}.safetensors" for place in (twice / "library-1", once / "library"))
        assert ours.read_bytes() == theirs.read_bytes()


@pytest.mark.parametrize("stage", ["verification, cycle 2", "skills, cycle 2, round 2"])
def test_a_run_killed_in_its_second_cycle_ends_like_one_left_alone(twice: Path, tmp_path: Path, stage: str) -> None:
    chosen, folder = config("cycles=2"), tmp_path / "broken"
    with pytest.raises(Killed):
        ground_run(folder, chosen, progress=Fuse(stage))
    before = units(folder)
    ground_run(folder, chosen)
    after = units(folder)
    assert before.items() < after.items()
    assert after == units(twice)
    assert weights(folder) == weights(twice)


def test_a_transcript_replays_both_cycles(twice: Path, tmp_path: Path) -> None:
    overlay = ("cycles=2", "model.kind=replay", f"model.transcript={twice / 'transcript.jsonl'}")
    again = ground_run(tmp_path / "again", config(*overlay))
    assert units(again) == units(twice)


def test_an_inherited_skill_costs_nothing_where_it_is_as_good_as_before(twice: Path) -> None:
    rows = read_journal(twice / "skills.jsonl")
    by_unit = {row["unit"]: row for row in rows if row["unit"].startswith("c2-1/")}
    assert any("inherited" in row for row in by_unit.values())
    assert all(row["environment_steps"] == 0 for row in by_unit.values() if "inherited" in row)


def test_attempts_are_numbered_through_the_cycles() -> None:
    plan = Plan(levels=("Open",), instructions=1, seed=0, retries=1, cycles=3)
    assert [list(plan.attempts_of(cycle)) for cycle in (1, 2, 3)] == [[0, 1], [2, 3], [4, 5]]
    assert [plan.cycle_of(attempt) for attempt in range(6)] == [1, 1, 2, 2, 3, 3]


def test_what_only_a_chain_of_skills_could_reach_is_no_skill_of_its_own(tmp_path: Path) -> None:
    goal = partial(SearchedSubgoal, "x", "check", "", reached=True, restore_actions=(), inconsistent=0)
    goals = tuple(goal(actions=(2,) * steps, searched_steps=steps) for steps in (3, 41))
    row = Verification(
        unit="x/0/0",
        level=LEVEL,
        seed=0,
        instruction="x",
        verified=True,
        searched_steps=44,
        replayed_steps=0,
        cause="",
        agreement=None,
        subgoals=goals,
    )
    plan = Plan(levels=(LEVEL,), instructions=1, seed=0, cycles=2)
    with RunFolder.start(tmp_path / "run", RunSettings({}, "", 0)) as folder:
        grounding = Pipeline(plan, folder, model=BabyLang(), search=RandomSearch(), progress=Quiet())
        grounding._results.update({1: [row], 2: [row]})
        for cycle in (1, 2):
            (experience,) = grounding.experiences(cycle)
            assert len(experience.actions) == 3
