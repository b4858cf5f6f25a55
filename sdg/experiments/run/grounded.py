"""What a run grounded, read from its folder alone: the members of each of its skills."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from sdg.console import UserError
from sdg.envs.instructions import seeds
from sdg.experiments.config.assembly import model_settings, plan_of
from sdg.experiments.config.config import RunConfig, load
from sdg.induction.induce import discover
from sdg.induction.translate import translate
from sdg.llm.model import LanguageModel
from sdg.llm.registry import build, provider_of
from sdg.pipeline import records
from sdg.pipeline.attempts import best_of
from sdg.skills.policy.network import Policy
from sdg.skills.practice.fresh_starts import Member
from sdg.storage.journal import read_rows


@dataclass(frozen=True)
class Grounded:
    """A run's config and, by name, what each of its clusters was made of. Nothing in the run's folder is written."""

    run: Path
    config: RunConfig
    members: Mapping[str, tuple[Member, ...]]
    labels: Mapping[str, int]
    """The number of each cluster, by name."""

    def policies(self) -> dict[int, Policy]:
        """What the run learned of each cluster in its latest round, by number; clusters without a policy are absent."""
        plan = plan_of(self.config)
        domain, learner = plan.domain, plan.induce.train.learner
        units = {label: [f"{number}/{label}" for number in (3, 2, 1)] for label in self.labels.values()}
        there = {label: [u for u in us if records.policy_path(self.run, u).is_file()] for label, us in units.items()}
        return {
            label: records.load_policy(self.run, found[0], domain, learner) for label, found in there.items() if found
        }


def cluster_run(run: Path) -> Grounded:
    """Cluster what the run in this folder grounded as the run itself did (its first cycle, where it has several).

    Raises UserError when there is no run or it has not grounded anything yet.
    """
    if not (run / "verifications.jsonl").is_file() or not (run / "config.yaml").is_file():
        raise UserError(f"{run} holds no run that has verified anything: `sdg induce --out {run}` makes one")
    config = load(run / "config.yaml")
    plan = plan_of(config)
    # What the last verification of every instruction grounded in the first cycle, in the order of the instructions.
    rows = {row.unit: row for row in read_rows(run / "verifications.jsonl", records.Verification)}
    chosen = seeds("grounding", count=config.instructions_per_level, seed=config.seed)
    tasks = [(level, seed) for level in config.levels for seed in chosen]
    last = best_of(rows.get, tasks, plan=plan_of(config), cycle=1)
    experiences = [experience for row in last for experience in row.experiences()]
    if not experiences:
        raise UserError(f"nothing was grounded in {run}: no subgoal of it was ever reached")
    texts = [experience.subgoal.description for experience in experiences]
    calls = translate(texts, domain=plan.domain, model=_model(config, run), sampling=plan.sampling("translate"))
    found = discover(experiences, calls, plan.induce, seed=plan.seed_of("cluster"))
    labels: dict[str, int] = {}
    for label in found.members:
        name = found.name(label)
        labels[name if name not in labels else f"{name}_{label}"] = label
    return Grounded(run, config, {name: found.members[label] for name, label in labels.items()}, labels)


def _model(config: RunConfig, run: Path) -> LanguageModel:
    """The run's own rule-based planner, or what its real model said, from the transcript."""
    settings = model_settings(config, None)
    if provider_of(settings.kind).network:
        settings = replace(settings, kind="replay", transcript=run / "transcript.jsonl")
    return build(settings)
