"""The composition root: configs in, objects built, tables, figures and reports out."""

if __name__ != "sdg.experiments":
    raise ImportError(f"{__name__} is a link for readers: import sdg.experiments")

from sdg.skills.learners import LEARNERS

LEARNERS.entries.update(
    {
        "paper-model": "sdg.experiments.baselines.paper_model:PAPER_MODEL",
        "sb3-policy": "sdg.experiments.baselines.sb3_policy:SB3_POLICY",
    }
)
