"""The skill library: what induction leaves behind and deduction calls (SDG, section 4.4).

Skills are options (Sutton, Precup and Singh 1999): a policy, a termination check and a description. The library keeps
weights as plain arrays by name; what they mean is the policy's business. `skills/library/store.py` saves and loads it.
"""

import keyword
import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, count
from pathlib import Path
from typing import Any, Self

import numpy as np

from sdg.envs.domains import DEFAULT
from sdg.errors import SDGError
from sdg.sandbox.guard import reserved_names
from sdg.skills.subgoal import CheckFunction

SCHEMA = 4
"""Version of the stored form. It changes whenever the meaning changes; other versions are refused."""
MAX_NAME = 48
MAX_TEXT = 2_000
MAX_SOURCE = 8_192
MAX_LIST = 10_000
MAX_SKILLS = 64
MAX_TENSORS = 256
MAX_AXES = 8
MAX_HORIZON = 1_000_000

_NAME = re.compile(rf"[a-z][a-z0-9_]{{0,{MAX_NAME - 1}}}")
_RESERVED_NAMES = reserved_names() | {"program"}
"""Names with another meaning in programs: the sandbox's words, and their entry."""


USAGES, CONDITIONS, FOLLOWS = "usages", "conditions", "follows"
"""Keys of the provenance: skill -> its known needs; skill -> its `Conditions`; skill -> next skill -> how often it came
next."""


class LibraryError(SDGError, ValueError):
    """A skill library can't be used: the message names the file, what is wrong with it and what to do."""


@dataclass(frozen=True, slots=True)
class CheckTemplate:
    """A check function and the argument literal that it was written for ("" when it takes none)."""

    check: CheckFunction
    argument: str

    def __post_init__(self) -> None:
        _require_text("check source", self.check.source, limit=MAX_SOURCE)
        _require_text("check name", self.check.name, limit=MAX_NAME * 4)
        _require_text("check argument", self.argument)


@dataclass(frozen=True, slots=True)
class Skill:
    """One skill: what a planner may read about it, and how well it does.

    `success_rate` and its 95 % interval `success_interval` are shares in [0, 1] of `episodes` fresh episodes of at most
    `horizon` steps, all of them counted; `success_known` is the rate without the `left_out` episodes in which what the
    agent had perceived ruled success out. `environment_steps` were spent on learning it. `members` are the subgoal
    texts it was learned from.
    Raises ValueError, naming the field, for impossible values.
    """

    name: str
    description: str
    takes_argument: bool
    argument_examples: tuple[str, ...]
    members: tuple[str, ...]
    checks: tuple[CheckTemplate, ...]
    horizon: int
    success_rate: float
    success_interval: tuple[float, float]
    episodes: int
    environment_steps: int
    learner: str = "ppo"
    """Its learner, which makes a policy of its weights: a key of `sdg.skills.learners.LEARNERS`."""
    success_known: float | None = None
    left_out: int = 0
    mean_steps: float = 0.0
    """Steps of a held-out episode on average; 0 where they weren't counted."""

    def __post_init__(self) -> None:
        if not is_skill_name(self.name):
            raise ValueError(
                f"skill name {self.name!r:.80} isn't a lower-case identifier of at most {MAX_NAME} letters"
            )
        lowest, highest = self.success_interval
        for what, value, low, high in (
            ("argument examples", len(self.argument_examples), 0, MAX_LIST),
            ("members", len(self.members), 0, MAX_LIST),
            ("checks", len(self.checks), 1, MAX_LIST),
            ("horizon", self.horizon, 1, MAX_HORIZON),
            ("episodes", self.episodes, 0, 10**12),
            ("environment steps", self.environment_steps, 0, 10**15),
            ("left out", self.left_out, 0, self.episodes),
            ("known success", self.success_known or 0.0, 0, 1),
            ("mean steps", self.mean_steps, 0, self.horizon),
            ("success", self.success_rate, 0, 1),
            ("lower end of the success", lowest, 0, highest),
            ("upper end of the success", highest, lowest, 1),
        ):
            _require_between(f"{what} of {self.name}", value, low=low, high=high)
        for text in (self.description, *self.argument_examples, *self.members):
            _require_text(f"a text of {self.name}", text)

    @property
    def weights_file(self) -> str:
        """Name of the file with this skill's weights, in the library's folder."""
        return f"{self.name}.safetensors"


@dataclass(frozen=True, eq=False, repr=False)
class SkillLibrary:
    """Skills, their weights by skill name, and where they come from.

    `provenance` has texts, numbers and lists of them (levels, seeds, command, versions). Raises ValueError for parts
    that don't fit together.
    """

    skills: tuple[Skill, ...]
    weights: Mapping[str, Mapping[str, np.ndarray]]
    provenance: Mapping[str, Any] = field(default_factory=dict)
    domain: str = DEFAULT
    """The kind of world that it is for: a name that `sdg.envs.domains` knows."""

    def __post_init__(self) -> None:
        names = [skill.name for skill in self.skills]
        _require_between("skills", len(names), low=0, high=MAX_SKILLS)
        if duplicates := sorted(name for name, count in Counter(names).items() if count > 1):
            raise ValueError(f"skills share the names {duplicates}")
        if set(self.weights) != set(names):
            raise ValueError(f"weights are for {sorted(self.weights)}, skills are {sorted(names)}")
        for owner, arrays in self.weights.items():
            _require_between(f"arrays of {owner}", len(arrays), low=0, high=MAX_TENSORS)
            for name, array in arrays.items():
                if not re.fullmatch(r"[A-Za-z0-9_.\-]{1,128}", name):
                    raise ValueError(f"array name {name!r:.80} of {owner} isn't made of letters, digits and ._-")
                if array.dtype != np.float32 or array.ndim > MAX_AXES:
                    raise ValueError(
                        f"array {name} of {owner} is {array.dtype} with {array.ndim} axes; weights are float32"
                    )
                if not np.isfinite(array).all():
                    raise ValueError(f"array {name} of {owner} has values that aren't finite")

    def __repr__(self) -> str:
        return f"SkillLibrary({', '.join(skill.name for skill in self.skills) or 'no skills'})"

    def __len__(self) -> int:
        return len(self.skills)

    def __iter__(self) -> Iterator[Skill]:
        return iter(self.skills)

    def add(self, learned: "LearnedSkill") -> Self:
        """This library with one more skill, replacing its namesake and what is known of that.

        Raises ValueError for a skill of another domain.
        """
        if learned.domain != self.domain:
            raise ValueError(f"{learned.skill.name} is of {learned.domain!r}, this library of {self.domain!r}")
        name = learned.skill.name
        return replace(
            self,
            skills=(*(skill for skill in self.skills if skill.name != name), learned.skill),
            weights={**self.weights, name: learned.weights},
            provenance=_without(name, self.provenance),
        )

    def save(self, folder: str | Path) -> Path:
        """Write it to `folder`, for `sdg.load(folder)`; an existing library is replaced. Raises LibraryError."""
        from sdg.skills.library.store import save_library

        save_library(self, Path(folder))
        return Path(folder)

    def __getitem__(self, name: str) -> Skill:
        """The skill of that name. Raises KeyError with the existing names."""
        by_name = {skill.name: skill for skill in self.skills}
        if name not in by_name:
            raise KeyError(f"no skill {name!r}; there are {', '.join(by_name) or 'none'}")
        return by_name[name]


@dataclass(frozen=True, eq=False)
class LearnedSkill:
    """One skill with its weights and the curve of its learning: what `SkillLibrary.add` takes.

    `curve` has (environment steps, success in [0, 1] on held-out starts); it isn't stored.
    """

    skill: Skill
    weights: Mapping[str, np.ndarray] = field(repr=False)
    domain: str = DEFAULT
    curve: tuple[tuple[int, float], ...] = ()

    def __repr__(self) -> str:
        skill, (low, high) = self.skill, self.skill.success_interval
        call = f"{skill.name}({skill.argument_examples[0]!r})" if skill.argument_examples else f"{skill.name}()"
        return (
            f"LearnedSkill({call}: {skill.success_rate:.1%} [{low:.1%}, {high:.1%}] of {skill.episodes} held-out starts"
            f" within {skill.horizon} steps; learned in {skill.environment_steps:,} steps)"
        )

    def save(self, folder: str | Path) -> Path:
        """Write a library of this one skill to `folder`, for `sdg.load(folder)`. Raises LibraryError."""
        return SkillLibrary((), {}, {}, self.domain).add(self).save(folder)


def is_skill_name(name: str) -> bool:
    """Whether a program may call this: a lower-case ASCII identifier of bounded length, no keyword and not reserved."""
    return _NAME.fullmatch(name) is not None and not keyword.iskeyword(name) and name not in _RESERVED_NAMES


def name_skill(api_names: Sequence[str], *, taken: Collection[str] = ()) -> str:
    """A valid, unused name: the most common API name of the members, in a tie the one most like the others.

    Names are made identifiers first; `taken` are names that may not be used again (skills and perception functions).
    """
    counts = Counter(_identifier(name) for name in api_names)
    words = Counter(word for name in api_names for word in _identifier(name).split("_"))
    central = {name: sum(words[word] for word in name.split("_")) / len(name.split("_")) for name in counts}
    candidates = sorted(counts, key=lambda name: (-counts[name], -central[name], name))
    best = candidates[0] if candidates else "skill"
    numbered = (f"{best[: MAX_NAME - 5]}_{number}" for number in count(2))
    return next(name for name in chain([best], numbered) if name not in taken and is_skill_name(name))


def _without(name: str, provenance: Mapping[str, Any]) -> dict[str, Any]:
    """A provenance whose tables no longer speak of a skill."""

    def cut(table: Any) -> Any:
        return {key: value for key, value in table.items() if key != name} if isinstance(table, Mapping) else table

    tables = {key: cut(provenance[key]) for key in (USAGES, CONDITIONS, FOLLOWS) if key in provenance}
    if isinstance(tables.get(FOLLOWS), Mapping):
        tables[FOLLOWS] = {last: cut(following) for last, following in tables[FOLLOWS].items()}
    return {**provenance, **tables}


def _identifier(name: str) -> str:
    identifier = re.sub(r"[^a-z0-9]+", "_", name.lower()[:200]).strip("_")
    identifier = re.sub(r"^[0-9_]+", "", identifier)[:MAX_NAME].rstrip("_")
    return identifier or "skill"


def _require_text(what: str, text: str, *, limit: int = MAX_TEXT) -> None:
    if len(text) > limit:
        raise ValueError(f"{what} has {len(text)} characters, at most {limit} are allowed")
    if any(0xD800 <= ord(letter) <= 0xDFFF for letter in text):
        raise ValueError(f"{what} has half of a surrogate pair, which no file can hold")


def _require_between(what: str, value: float, *, low: float, high: float) -> None:
    if not low <= value <= high:
        raise ValueError(f"{what}: {value} isn't between {low} and {high}")
