"""The settings of a run: one YAML file, checked against these classes, with the values of `--set a.b=c` over it.

A section has the settings of the layer below, and the few that only a run decides. The configuration page (`sdg
config`) is generated from here.
"""

import difflib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, fields, is_dataclass, replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal, get_args, get_type_hints

import yaml
from annotated_types import Ge, Le, MinLen
from pydantic import Field, ValidationError

import sdg
from sdg.deduction.deduce import DeductionSettings
from sdg.envs.domain import Domain
from sdg.envs.domains import DEFAULT, domain
from sdg.envs.files import read_file
from sdg.envs.registry import RegistryError
from sdg.experiments.config.yaml_file import MAX_CHARACTERS, ConfigError, Document, assign, parse
from sdg.gate.registry import check_guards
from sdg.induction.induce import InduceSettings
from sdg.llm.budget import BudgetSettings
from sdg.llm.provider import ModelChoice
from sdg.llm.registry import provider_of
from sdg.llm.secrets import SHORTEST_KEY, check_address
from sdg.privacy.protector import OFF, ON
from sdg.privacy.recognisers import RECOGNISERS
from sdg.skills.learners import LEARNERS
from sdg.skills.learning.train import TrainSettings
from sdg.skills.search.trial import SearchSettings
from sdg.skills.settings import Count, LayoutSeed, Natural, PPOSettings, Size
from sdg.skills.strict_json import validate
from sdg.storage import json_values
from sdg.verification.verify import VerifySettings

MAP = "map"
"""The preset of perception that every domain has: its own."""
MAX_FAULTS = 30
"""Most faults reported; 19,000 unknown keys would take minutes."""
CONFIGS = Path(sdg.__file__).parent / "configs"
PPO = TrainSettings().learner
Baseline = Literal["sdg-action", "random", "random-skills", "bot"]


@dataclass(frozen=True, slots=True)
class ModelConfig(ModelChoice):
    """The language model. Keys come from the environment (OPENAI_API_KEY), never from a file that is kept."""

    transcript: str | None = None
    """transcript.jsonl of the run to replay; replay only"""
    temperature: Annotated[float, Ge(0), Le(2)] = 0.0
    """sampling temperature"""
    max_tokens: Count = 16_000
    """longest reply in tokens, thoughts included"""
    cache: bool = True
    """answer repeated requests from the transcript in the run folder"""

    def __post_init__(self) -> None:
        if missing := [need for need in provider_of(self.kind).needs if not getattr(self, need)]:
            need = missing[0]
            raise ValueError(
                f"kind {self.kind} needs a {need}: --llm {self.kind}:{need.upper()}, or `{need}: ...` here"
            )
        check_address(self.base_url)


@dataclass(frozen=True, slots=True)
class TypedModelConfig(ModelConfig):
    """A model whose address the user typed behind --set, rather than a file that may come from elsewhere."""


@dataclass(frozen=True, slots=True)
class HypothesizeConfig:
    """Stage 1: instructions to subgoals with check functions (SDG, section 4.2)."""

    repairs: Natural = 2
    """how often an unusable reply is sent back"""
    retries: Natural = 1
    """new hypotheses for an instruction whose first wasn't verified"""


@dataclass(frozen=True, slots=True)
class VerifyConfig(VerifySettings):
    """Stage 2: each subgoal is searched until its check fires (SDG, section 4.3)."""

    method: Literal["count", "ppo", "random"] = "count"
    """count (count-based, learns nothing), ppo (the paper's; where actions are real numbers, a policy of
    stable-baselines3 that is trained on each check), or random for comparison"""
    explorers: bool = True
    """from the second cycle on, search with the skills learned so far as well"""
    compared: bool = True
    """whether random search also tries every first hypothesis, with the same step limit"""
    search: SearchSettings = field(default_factory=SearchSettings)
    """how one subgoal is searched"""


@dataclass(frozen=True, slots=True)
class InduceConfig(InduceSettings):
    __doc__ = InduceSettings.__doc__

    rehearsals: Natural = 30
    """instructions a level that planners rehearse on practice layouts for round 3; 0: no round 3"""
    training_layouts: Size = 1000
    """layouts a level to practise on"""
    validation_layouts: Size = 300
    """layouts a level to judge skills on"""


@dataclass(frozen=True, slots=True)
class DeduceConfig(DeductionSettings):
    __doc__ = DeductionSettings.__doc__

    guards: tuple[str, ...] = ("rules",)
    """who judges feasibility and completeness: rules, learned, llm, open, or your own as module:attribute"""

    def __post_init__(self) -> None:
        DeductionSettings.__post_init__(self)
        check_guards(self.guards)


@dataclass(frozen=True, slots=True)
class EvaluateConfig:
    """Unseen instructions, and who is compared on them."""

    instructions: Size = 100
    """unseen instructions a level"""
    levels: tuple[str, ...] = ()
    """levels to solve; by default those used for learning"""
    repeats: Count = 1
    """repeats of them, each under its own seed"""
    baselines: tuple[Baseline, ...] = get_args(Baseline)
    """agents compared beside sdg; by default those that the domain can have"""


@dataclass(frozen=True, slots=True)
class RunConfig:
    """A whole run."""

    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$")]
    """names the run and its folder, runs/NAME"""
    seed: LayoutSeed = 0
    """decides instructions, layouts, searches and learning"""
    domain: str = DEFAULT
    """the kind of world: a key of sdg.envs.domains, or module:attribute"""
    perception: Annotated[str, Field(pattern=r"^[a-z]{1,20}$")] = MAP
    """what checks and programs perceive: map (everything seen so far) or paper (babyai: the paper's five functions,
    what is in view relative to the robot)"""
    levels: Annotated[tuple[str, ...], MinLen(1)] = ("GoToLocal", "PickupLoc", "PutNextLocal", "Open")
    """levels of the domain, by name or id"""
    instructions_per_level: Size = 25
    """grounding instructions a level"""
    cycles: Count = 1
    """number of grounding cycles; failed instructions are retried with the skills learned so far"""
    processes: Size = 2
    """jobs that run side by side, one thread each"""
    privacy: str = "off"
    """off; on: sensitive values of instructions leave this machine as placeholders only; or on with a recogniser of
    names of your own, as module:attribute"""
    model: ModelConfig = field(default_factory=ModelConfig)
    """the language model"""
    hypothesize: HypothesizeConfig = field(default_factory=HypothesizeConfig)
    """stage 1"""
    verify: VerifyConfig = field(default_factory=VerifyConfig)
    """stage 2"""
    induce: InduceConfig = field(default_factory=InduceConfig)
    """stage 3"""
    deduce: DeduceConfig = field(default_factory=DeduceConfig)
    """stage 4"""
    evaluate: EvaluateConfig = field(default_factory=EvaluateConfig)
    """the figures"""
    budget: BudgetSettings = field(default_factory=BudgetSettings)
    """when to stop"""

    @property
    def world(self) -> str:
        """The name of the domain under the preset of perception."""
        return self.domain if self.perception == MAP else f"{self.domain}-{self.perception}"


def load(path: Path, *, overlay: Iterable[str] = (), seed: int | None = None) -> RunConfig:
    """Read, overlay and check a config. Raises `ConfigError` that lists every fault with its file and line."""
    try:
        text = read_file(path.resolve(), most=4 * MAX_CHARACTERS).decode("utf-8-sig")
    except FileNotFoundError:
        shipped = ", ".join(sorted(file.stem for file in CONFIGS.glob("*.yaml")))
        raise ConfigError(f"there is no config {path}; shipped are {shipped}, or give a path") from None
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"can't read the config {path}: {error}") from None
    document = parse(text, source=str(path))
    for assignment in overlay:
        assign(document, assignment)
    if seed is not None:
        if document.place(("seed",)).startswith("--set"):
            raise ConfigError(
                "--set seed: the seed is an option of its own here (--seed; of a sweep, --seeds): use that"
            )
        document.value["seed"] = seed
        document.places[("seed",)] = "--seed"
    config = check(document)
    if document.place(("model", "base_url")).startswith("--set"):
        config = replace(config, model=TypedModelConfig(**asdict(config.model)))
    return config


def shipped_config(name: str) -> Path:
    """A config that comes with sdg: where nobody named one, because a config of the current folder can name code."""
    return CONFIGS / f"{name}.yaml"


def find_config(name: str) -> Path:
    """A config that the user named: by path, or by its name in configs/ here or among those that come with sdg."""
    paths = [Path(name), Path("configs") / f"{name}.yaml", shipped_config(name)]
    return next((path for path in paths if path.is_file()), paths[0])


def check(document: Document) -> RunConfig:
    """Check plain values against the settings and the levels against the registry."""
    try:
        config = validate(RunConfig, document.value)
        if config.induce.train.learner == PPO:
            validate(PPOSettings, config.induce.train.ppo)
    except ValidationError as error:
        above = ("induce", "train", "ppo") if error.title == PPOSettings.__name__ else ()
        errors = error.errors()
        faults = [_fault(document, {**details, "loc": (*above, *details["loc"])}) for details in errors[:MAX_FAULTS]]
        if len(errors) > MAX_FAULTS:
            faults.append(f"{document.source}: and {len(errors) - MAX_FAULTS} more faults")
        raise ConfigError("\n".join(faults)) from None
    except ValueError as error:
        raise ConfigError(f"{document.source}: {error}") from None
    try:
        world = domain(config.domain)
    except RegistryError as error:
        raise ConfigError(f"{document.place(('domain',))}: {error}") from None
    try:
        domain(config.world)
    except RegistryError:
        fault = f"the domain {config.domain} has no perception {config.perception!r}: leave it at {MAP!r}"
        raise ConfigError(f"{document.place(('perception',))}: {fault}") from None
    absent = {"bot": not world.can.bot} | dict.fromkeys(("sdg-action", "random"), world.inputs.bounds is not None)
    baselines = tuple(name for name in config.evaluate.baselines if not absent.get(name))
    if ("evaluate", "baselines") in document.places and baselines != config.evaluate.baselines:
        names = ", ".join(name for name in config.evaluate.baselines if absent.get(name))
        raise ConfigError(f"{document.place(('evaluate', 'baselines'))}: the domain {config.domain} can't have {names}")
    LEARNERS.allow(config.induce.train.learner)
    if config.privacy not in (ON, OFF):
        RECOGNISERS.allow(config.privacy)
    names_of = partial(_level_names, world, document)
    levels = names_of(config.evaluate.levels, "evaluate", "levels")
    evaluate = replace(config.evaluate, levels=levels, baselines=baselines)
    return replace(config, levels=names_of(config.levels, "levels"), evaluate=evaluate)


def dump(config: RunConfig) -> str:
    """A config as YAML that `load` reads back to the same config, with every default in it."""
    return yaml.safe_dump(json_values(config), sort_keys=False, allow_unicode=True)


def _level_names(world: Domain, document: Document, levels: Iterable[str], *key: str) -> tuple[str, ...]:
    names: list[str] = []
    for index, level in enumerate(levels):
        place = document.place((*key, index))
        try:
            names.append(world.level_name(level))
        except ValueError as error:
            raise ConfigError(f"{place}: {error}") from None
        if names[-1] in names[:-1]:
            raise ConfigError(f"{place}: the level {names[-1]} is listed twice")
    return tuple(names)


def _fault(document: Document, details: Mapping[str, Any]) -> str:
    path = tuple(details["loc"])
    name = ".".join(str(key)[:80] for key in path)
    place = document.place(path).partition("=")[0]  # without the value, which may be a key
    if details["type"] == "unexpected_keyword_argument":
        return f"{place}: there is no key {name!r}{_hint(path)}"
    if details["type"] == "missing":
        return f"{place}: the key {name!r} is missing"
    if details["type"] == "value_error":
        return f"{place}: {name}: {str(details['msg']).removeprefix('Value error, ')}"
    value = details["input"]
    echo = f" (it is {value!r})" if len(str(value)) < SHORTEST_KEY else ""  # what is longer may be a key
    return f"{place}: {name} {str(details['msg']).removeprefix('Input ')}{echo}"


def _hint(path: tuple[str | int, ...]) -> str:
    *above, wrong = map(str, path)
    if "key" in wrong.lower() and path[0] == "model":
        return "; keys and passwords aren't written into configs, set OPENAI_API_KEY in the environment"
    paths = [*_key_paths(RunConfig), *_key_paths(PPOSettings, ("induce", "train", "ppo"))]
    siblings = [path[-1] for path in paths if list(path[:-1]) == above]
    elsewhere = [".".join(path) for path in paths if path[-1] == wrong]
    close = difflib.get_close_matches(wrong, siblings, n=2) or elsewhere
    return f"; did you mean {' or '.join(close)}?" if close else f"; there are {', '.join(siblings)}"


def _key_paths(section: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """The path of every key."""
    kinds = get_type_hints(section)
    for key in fields(section):
        yield (*path, key.name)
        if is_dataclass(kinds[key.name]):
            yield from _key_paths(kinds[key.name], (*path, key.name))
