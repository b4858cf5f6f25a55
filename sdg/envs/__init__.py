"""Worlds, and what can be perceived in them. Imports nothing else of this project but its errors."""

import sys
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import ModuleType
from typing import Any

if __name__ != "sdg.envs":
    raise ImportError(f"{__name__} is a link for readers: import sdg.envs")


def register() -> None:
    """Make the worlds known to gymnasium: `sdg/GoToLocal-v0` and its 95 sisters, and `sdg/BabyAI-v0` with `level=`.

    Only names are registered: minigrid and the engine are imported when an environment is made.
    """
    import gymnasium

    from sdg.envs.babyai.levels import IDS

    makers: dict[str, Any] = {
        "entry_point": "sdg.envs.babyai.engine.layouts:make_minigrid",
        "vector_entry_point": "sdg.envs.babyai.engine.vec_env:make_vec",
    }
    if "sdg/BabyAI-v0" not in gymnasium.registry:
        gymnasium.register("sdg/BabyAI-v0", **makers)
        for name in IDS:
            gymnasium.register(f"sdg/{name}", kwargs={"level": name.removesuffix("-v0")}, **makers)


class _AfterGymnasium:
    """Registers the worlds as soon as somebody imports gymnasium: `import sdg` itself needn't wait for it."""

    def find_spec(self, name: str, path: Any = None, target: ModuleType | None = None) -> ModuleSpec | None:
        """Stands aside for everything but the first import of gymnasium."""
        if name != "gymnasium" or self not in sys.meta_path:
            return None
        sys.meta_path.remove(self)  # type: ignore[arg-type]
        spec = find_spec(name)
        if spec is not None and spec.loader is not None:
            execute = spec.loader.exec_module

            def exec_module(module: ModuleType) -> None:
                execute(module)
                register()

            spec.loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec


def register_with_gymnasium() -> None:
    """Register now where gymnasium is imported, else when it is: `gymnasium.register_envs(sdg)` itself does nothing."""
    if hasattr(sys.modules.get("gymnasium"), "register"):
        register()
    elif not any(isinstance(finder, _AfterGymnasium) for finder in sys.meta_path):
        sys.meta_path.insert(0, _AfterGymnasium())  # type: ignore[arg-type]
