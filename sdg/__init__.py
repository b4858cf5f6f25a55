"""Self-driven grounding: the four stages, the language model, the gate and the executor.

Worlds, skills and experiments are below this name, too: `sdg.envs`, `sdg.skills`, `sdg.experiments`.
"""

from __future__ import annotations


def __getattr__(name: str) -> str:
    """The version, read when it is asked for: importing metadata takes longer than `import sdg`."""
    if name == "__version__":
        from importlib.metadata import version

        return version("sdg")
    raise AttributeError(f"module 'sdg' has no attribute {name!r}")
