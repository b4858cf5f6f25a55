"""Self-driven grounding: skills from words alone.

    import sdg

    world = sdg.World("BossLevel", seed=7)       # one instruction in one layout, and a robot with the shipped skills
    world.do("walk_up_to", "red key")            # use a skill
    world.solve(model=MyModel())                 # or let a model write a program over them
    world.save("episode.gif")

    skill = sdg.train("GoToLocal", check)        # a skill from a check function of your own
    library = sdg.load().add(skill)              # a library with it
    sdg.results("runs/quickstart").episodes      # a run as pandas tables
    env = sdg.sb3_env("GoToLocal", 64)           # a level for stable-baselines3
    sdg.Desktop(page).do("a task", model=MyModel())   # on a page of Playwright's, from its screenshots, behind the gate
    sdg.Gate(executor, confirm=ask).execute("send")   # the gate before an executor of your own
    gymnasium.make("sdg/GoToLocal-v0")           # all 96 levels, and `gymnasium.make_vec` of the batch engine

Worlds, skills and experiments are below this name, too: `sdg.envs`, `sdg.skills`, `sdg.experiments`.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from sdg.envs import register_with_gymnasium

if TYPE_CHECKING:
    from sdg.api.desktop import Desktop
    from sdg.api.gate import Gate
    from sdg.api.results import Results, results
    from sdg.api.sb3 import sb3_env, sb3_skill
    from sdg.api.training import train
    from sdg.api.world import Done, Solution, World, load
    from sdg.errors import SDGError
    from sdg.skills.library.library import LearnedSkill, SkillLibrary

    __version__: str

_HOMES = {
    "Desktop": "sdg.api.desktop",
    "Gate": "sdg.api.gate",
    "Done": "sdg.api.world",
    "LearnedSkill": "sdg.skills.library.library",
    "Results": "sdg.api.results",
    "SDGError": "sdg.errors",
    "SkillLibrary": "sdg.skills.library.library",
    "Solution": "sdg.api.world",
    "World": "sdg.api.world",
    "load": "sdg.api.world",
    "results": "sdg.api.results",
    "sb3_env": "sdg.api.sb3",
    "sb3_skill": "sdg.api.sb3",
    "train": "sdg.api.training",
}
"""The module of each name; it is imported on first use, so that `import sdg` takes no time."""

__all__ = [
    "Desktop",
    "Done",
    "Gate",
    "LearnedSkill",
    "Results",
    "SDGError",
    "SkillLibrary",
    "Solution",
    "World",
    "__version__",
    "load",
    "results",
    "sb3_env",
    "sb3_skill",
    "train",
]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        try:
            return getattr(import_module(_HOMES[name]), name)
        except ModuleNotFoundError as error:
            if str(error.name).startswith("sdg"):
                raise
            raise ModuleNotFoundError(
                f"sdg.{name} needs the package {error.name!r}, which isn't installed: install all that sdg needs, "
                "pip install --constraint constraints.txt .",
                name=error.name,
            ) from None
    if name == "__version__":
        from importlib.metadata import version

        return version("sdg")
    raise AttributeError(f"module 'sdg' has no attribute {name!r}; it has {', '.join(__all__)}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


register_with_gymnasium()
