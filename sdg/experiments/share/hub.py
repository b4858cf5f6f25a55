"""A library as a Hugging Face model folder, which `sdg.load` reads back.

The folder is the library's own (library.json, safetensors), with a README.md whose metadata the Hub reads, config.json,
the composed programs and a film. `huggingface-cli upload NAME DIR` publishes it.
"""

import json
from collections.abc import Sequence
from pathlib import Path

from sdg.envs.domains import DEFAULT, domain
from sdg.envs.files import read_file
from sdg.errors import UserError
from sdg.experiments.play.film import episode_gif
from sdg.experiments.play.players import PlannerRecipe
from sdg.experiments.play.solve import solve
from sdg.experiments.report.data import value_of
from sdg.prompts.fill import fence
from sdg.skills.library.card import write_card
from sdg.skills.library.composed import ComposedLibrary, load_composed
from sdg.skills.library.library import SkillLibrary
from sdg.skills.library.store import CARD, load_library, save_library
from sdg.storage import atomic_write

FILM, COMPOSED, CONFIG = "replay.gif", "composed.json", "config.json"


def export_library(library_folder: Path, folder: Path, *, licence: str = "apache-2.0") -> dict[str, object]:
    """Write the library in `library_folder` to `folder`; returns a row about it.

    Raises LibraryError for a library that can't be used and for a folder that holds other things, UserError without
    the package huggingface_hub.
    """
    library = load_library(library_folder)
    composed = read_file(library_folder / COMPOSED) if (library_folder / COMPOSED).exists() else b""
    composed_library = load_composed(library_folder / COMPOSED) if composed else None
    card = model_card(library, composed_library, name=folder.name, licence=licence)
    save_library(library, folder, beside=(FILM, CONFIG, *([COMPOSED] if composed else [])))
    atomic_write(folder / CARD, card)
    config = {"library_name": "sdg", "domain": library.domain, "skills": [skill.name for skill in library.skills]}
    atomic_write(folder / CONFIG, json.dumps(config, indent=1) + "\n")
    if composed:
        atomic_write(folder / COMPOSED, composed)
    if film := _film(library, folder):
        atomic_write(folder / FILM, film)
    return {"folder": str(folder), "skills": len(library.skills), "film": bool(film), "licence": licence}


def model_card(library: SkillLibrary, composed: ComposedLibrary | None, *, name: str, licence: str) -> str:
    """README.md: the Hub's metadata (a success rate for each skill), then the library's own card and programs."""
    try:
        from huggingface_hub import EvalResult, ModelCardData
    except ModuleNotFoundError:
        raise UserError("this needs huggingface_hub: pip install --constraint constraints.txt 'sdg[hub]'") from None
    levels = value_of(library.provenance, "levels", list) or ["fresh starts"]
    results = [
        EvalResult(
            task_type="reinforcement-learning",
            task_name="Reinforcement learning",
            dataset_type=library.domain,
            dataset_name=f"{', '.join(map(str, levels))}, starts of {skill.name}",
            metric_type="success_rate",
            metric_name=f"success of {skill.episodes} episodes, 95 % interval "
            f"{skill.success_interval[0]:.3f} to {skill.success_interval[1]:.3f}",
            metric_value=round(skill.success_rate, 4),
            verified=False,
        )
        for skill in library.skills
    ]
    data = ModelCardData(
        license=licence,
        library_name="sdg",
        model_name=name,
        eval_results=results,
        tags=["reinforcement-learning", "options", "skills", library.domain.partition(":")[0]],
    )
    checks = [_listing(skill.name, [template.check.source for template in skill.checks]) for skill in library.skills]
    programs = [_listing(skill.name, [skill.source]) for skill in composed.skills] if composed else []
    body = [
        f"---\n{data.to_yaml()}\n---\n",
        f"Load it with `sdg.load({name!r})` after downloading the folder.\n",
        write_card(library),
        "## Check functions\n",
        *checks,
        *(["## Composed programs\n", *programs] if programs else []),
    ]
    return "\n".join(body)


def _listing(name: str, sources: Sequence[str]) -> str:
    """Sources under a heading, in a fence longer than any that a model wrote into them."""
    text = "\n\n".join(source.strip() for source in sources)
    return f"### {name}\n\n{fence(text, 'python')}\n"


def _film(library: SkillLibrary, folder: Path) -> bytes:
    """The rule-based planner with these skills in layout 0; empty for worlds and levels that it doesn't know."""
    if library.domain != DEFAULT:
        return b""
    levels = value_of(library.provenance, "levels", list) or domain(DEFAULT).levels()
    try:
        return episode_gif(solve(str(levels[0]), 0, recipe=PlannerRecipe("sdg", folder))[1], domain_name=DEFAULT)
    except ValueError:
        return b""
