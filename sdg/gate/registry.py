"""Guards by name: a new one is one file, and one line here to ship it; a user's own is named `module:attribute`."""

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import cast

from sdg.envs.domain import Affordances
from sdg.envs.registry import Registry, RegistryError
from sdg.gate.executor import Command, GateGuard, GuardChain
from sdg.gate.rules import Resolver, Usage
from sdg.llm.model import LanguageModel

GUARDS = Registry[object](
    "guard",
    {
        "rules": "sdg.gate.rules:RulesGuard",
        "learned": "sdg.gate.learned:LearnedGuard",
        "screens": "sdg.gate.screens:ScreenGuard",
        "confirm": "sdg.gate.confirm:ConfirmGuard",
        "phone": "sdg.gate.phones:PhoneGuard",
        "phone-learned": "sdg.gate.phones:LearnedPhoneGuard",
        "llm": "sdg.gate.llm:LlmGuard",
        "open": "sdg.gate.executor:OpenGate",
    },
)
VERBS = ("feasible", "complete")
KINDS = ("rules", "learned", "llm")
"""Values of a guard's `kind`, in the order in which guards are asked; one without a kind counts as learned."""


def check_guards(names: Sequence[str]) -> None:
    """Raise RegistryError for the first name that leads to no guard, and for no name at all."""
    if not names:
        raise RegistryError("a gate needs a guard; the guard 'open' lets every command through")
    for name in names:
        GUARDS.get(name, needs=VERBS)


def gate_of(
    names: Sequence[str],
    *,
    usages: Mapping[str, Usage],
    resolve: Resolver,
    affordances: Affordances | None = None,
    model: LanguageModel | None = None,
    about: str = "",
    confirm: Callable[[str], bool] | None = None,
    presses: Callable[[Command], object] | None = None,
) -> GuardChain:
    """The gate of these guards. A class among them is called with those of these arguments that it takes.

    Raises RegistryError for a name that leads to no guard and for a class that can't be made that way.
    """
    check_guards(names)
    known: dict[str, object] = {
        "usages": usages,
        "resolve": resolve,
        "affordances": affordances,
        "model": model,
        "about": about,
        "confirm": confirm,
        "presses": presses,
    }
    return chain_of([make(name, known) for name in names])


def chain_of(guards: Iterable[GateGuard]) -> GuardChain:
    """These guards in the order of their kinds. Raises RegistryError for one of another kind, or without a verb."""
    by_kind: dict[str, list[GateGuard]] = {kind: [] for kind in KINDS}
    for guard in guards:
        kind = getattr(guard, "kind", "learned")
        if kind not in KINDS:
            raise RegistryError(f"the guard {guard!r:.80} is of kind {kind!r:.40}; kinds are {', '.join(KINDS)}")
        if not all(callable(getattr(guard, verb, None)) for verb in VERBS):
            raise RegistryError(f"{guard!r:.80} is no guard: it has no {' and '.join(VERBS)}")
        by_kind[kind].append(guard)
    return GuardChain(**by_kind)


def make(name: str, known: Mapping[str, object]) -> GateGuard:
    """The guard of a name; a class is called with those of the known arguments that it takes. Raises RegistryError."""
    guard = GUARDS.get(name, needs=VERBS)
    if not isinstance(guard, type):
        return cast(GateGuard, guard)
    try:
        parameters = inspect.signature(guard).parameters
        return cast(GateGuard, guard(**{key: value for key, value in known.items() if key in parameters}))
    except Exception as error:
        message = " ".join(str(error).split())
        raise RegistryError(f"making the guard {name!r} raises {type(error).__name__}: {message:.200}") from error
