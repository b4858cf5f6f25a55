"""What a run is told: one YAML file, checked against these models, with `--set a.b=c` laid over it.

Every default is here and in docs/configuration.md, which is written from here. The floors below get plain values and
their own settings, never these models.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

import yaml
from pydantic import BaseModel, ConfigDict, Field, PrivateAttr, ValidationError, model_validator

from sdg.envs.domains import DEFAULT, domain
from sdg.envs.files import read_file
from sdg.envs.registry import RegistryError
from sdg.experiments.config.yaml_file import MAX_CHARACTERS, ConfigError, Document, assign, parse
from sdg.llm.address import check_address

__all__ = ["ConfigError", "RunConfig", "dump", "load"]

Count = Annotated[int, Field(ge=1, le=10**9)]
Size = Annotated[int, Field(ge=1, le=2**16)]
"""Of what is made at once: arrays, processes, layouts."""
Share = Annotated[float, Field(ge=0, le=1)]
Positive = Annotated[float, Field(gt=0)]
Baseline = Literal["sdg_action", "random", "random_skills", "bot"]


class Section(BaseModel):
    """A part of a config: unknown keys are refused, values don't change, numbers aren't made from words."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)


class ModelConfig(Section):
    """The language model. Keys come from the environment (OPENAI_API_KEY), never from a file that is kept."""

    kind: str = Field(
        "babylang",
        description="babylang: the offline rule-based stand-in; openai: any server of OpenAI's protocol; replay; "
        "or a model of your own as module:attribute",
    )
    name: str = Field("", description="model name as the server knows it; openai only")
    base_url: str | None = Field(
        None, description="address of the server, such as http://127.0.0.1:8000/v1; null for OpenAI's own"
    )
    transcript: str | None = Field(None, description="transcript.jsonl of the run to replay; replay only")
    temperature: Annotated[float, Field(ge=0, le=2)] = Field(0.0, description="sampling temperature")
    max_tokens: Count = Field(16_000, description="longest reply, tokens, thoughts included")
    timeout_seconds: Positive = Field(
        600.0, description="longest silence: until a reply begins, and between its pieces"
    )
    reply_seconds: Positive = Field(3600.0, description="longest time for one reply")
    concurrency: Size = Field(16, description="questions to a server that may be under way at once")
    retries: Annotated[int, Field(ge=0)] = Field(4, description="how often a request that failed is sent again")
    cache: bool = Field(True, description="answer repeated requests from a cache in the run folder")
    fault_rate: Share = Field(0.0, description="share of replies that are spoilt on purpose, to exercise repair")

    @model_validator(mode="after")
    def _complete(self) -> ModelConfig:
        from sdg.llm.registry import provider_of

        for need in provider_of(self.kind).needs:
            if not getattr(self, need):
                raise ValueError(f"kind {self.kind} needs a {need}: add `{need}: ...`")
        check_address(self.base_url)
        return self

    _named_by_user: bool = PrivateAttr(False)

    @property
    def named_by_user(self) -> bool:
        """Whether the server's address was given with --set: a file may come from anybody."""
        return self._named_by_user


class HypothesizeConfig(Section):
    """Stage 1: instructions to subgoals with check functions (SDG, section 4.2)."""

    repairs: Annotated[int, Field(ge=0)] = Field(2, description="how often a reply that can't be used is sent back")
    retries: Annotated[int, Field(ge=0)] = Field(
        1, description="new hypotheses for an instruction whose first wasn't verified"
    )


class VerifyConfig(Section):
    """Stage 2: a policy searches each subgoal until its check fires (SDG, section 4.3)."""

    search: Literal["ppo", "random"] = Field("ppo", description="ppo, or learning-free random search for comparison")
    t_verify: Count = Field(3000, description="environment steps searched an instruction, summed over all its subgoals")
    most_per_subgoal: Count = Field(2000, description="environment steps searched for one subgoal")
    n_envs: Size = Field(8, description="environments that search side by side")
    horizon: Size = Field(30, description="steps of one search episode")
    bonus: Annotated[float, Field(ge=0)] = Field(0.1, description="scale of the count-based novelty bonus")
    learning_rate: Positive = Field(1e-3, description="of the search's PPO")
    ent_coef: Annotated[float, Field(ge=0)] = Field(0.05, description="of the search's PPO")
    explorers: bool = Field(True, description="from the second cycle on, search with the skills learned so far as well")


class PPOConfig(Section):
    """How a skill is learned; names are stable-baselines3's."""

    n_steps: Size = Field(16, description="steps of each environment between two updates")
    batch_size: Size = Field(1024, description="rows of a minibatch")
    n_epochs: Count = Field(8, description="passes over a rollout")
    learning_rate: Positive = Field(1e-3, description="of Adam")
    ent_coef: Annotated[float, Field(ge=0)] = Field(0.01, description="weight of the entropy bonus")
    gamma: Share = Field(0.97, description="discount")
    gae_lambda: Share = Field(0.95, description="of generalised advantage estimation")
    clip_range: Positive = Field(0.2, description="of the policy ratio")
    max_grad_norm: Positive = Field(0.5, description="gradients are clipped to this norm")


class InduceConfig(Section):
    """Stage 3: subgoals to clusters, clusters to skills (SDG, section 4.4)."""

    text: str = Field("mix", description="what of a subgoal is embedded: api (the paper's), check, mix and others")
    k_max: Annotated[int, Field(ge=2)] = Field(16, description="largest number of clusters tried")
    validation_share: Share = Field(0.2, description="share of a cluster's subgoals kept for validation")
    use_unconfirmed: bool = Field(False, description="learn from reached subgoals of hypotheses that failed later, too")
    first_timesteps: Count = Field(40_000, description="most environment steps of round 1, on restored states")
    total_timesteps: Count = Field(60_000, description="most environment steps of round 2, on fresh layouts as well")
    rehearsals: Annotated[int, Field(ge=0, le=2**16)] = Field(
        30,
        description="instructions a level that planners rehearse, on layouts of practice, for round 3; 0: no round 3",
    )
    last_timesteps: Count = Field(
        300_000, description="most environment steps of round 3, where planners asked for skills"
    )
    rough_success: Share = Field(0.95, description="validation success that is enough for rounds 1 and 2")
    target_success: Share = Field(0.998, description="validation success at which learning stops early")
    fresh_starts: Size = Field(3000, description="fresh layouts tried for starts of a skill in round 2")
    training_layouts: Size = Field(1000, description="layouts a level to practise on")
    validation_layouts: Size = Field(300, description="layouts a level to judge skills on")
    n_envs: Size = Field(256, description="environments a skill learns in side by side")
    horizon: Size = Field(40, description="steps of one attempt at a skill")
    learner: str = Field("ppo", description="who learns skills: a key of sdg.skills.learning, or module:attribute")
    network: dict[str, Size] = Field(
        default_factory=dict, description="sizes of the learner's network that differ from its own, such as width: 128"
    )
    ppo: PPOConfig = Field(default_factory=PPOConfig, description="how a skill is learned")


class DeduceConfig(Section):
    """Stage 4: programs over skills, repaired while they fail (SDG, section 4.5)."""

    interactions: Count = Field(4, description="programs an episode may take: the first one and its repairs")
    attempts: Count = Field(5, description="how often a skill is tried before it counts as failed")
    guards: tuple[str, ...] = Field(
        ("rules",), description="who judges feasibility and completeness: rules, open, or your own as module:attribute"
    )

    @model_validator(mode="after")
    def _guards(self) -> DeduceConfig:
        from sdg.gate.registry import check_guards

        check_guards(self.guards)
        return self


class EvaluateConfig(Section):
    """Unseen instructions, and who is compared on them."""

    instructions: Annotated[int, Field(ge=0, le=2**16)] = Field(100, description="unseen instructions a level")
    repeats: Count = Field(1, description="runs over them, each under its own seed")
    baselines: tuple[Baseline, ...] = Field(get_args(Baseline), description="agents compared beside sdg")


class BudgetConfig(Section):
    """When a run stops cleanly with what it has; null means no limit. A run may go on with more."""

    tokens: Count | None = Field(None, description="prompt and completion tokens, cached replies not counted")
    money: Positive | None = Field(None, description="price of the tokens, in the unit of the two prices")
    prompt_price: Annotated[float, Field(ge=0)] = Field(0.0, description="money for a million prompt tokens")
    completion_price: Annotated[float, Field(ge=0)] = Field(0.0, description="money for a million completion tokens")
    cached_price: Annotated[float, Field(ge=0)] | None = Field(
        None, description="money for a million prompt tokens that the server's cache held; null: as other prompt tokens"
    )


class RunConfig(Section):
    """A whole run."""

    name: str = Field(
        pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$", description="names the run and its folder, runs/NAME"
    )
    seed: Annotated[int, Field(ge=0, lt=2**31)] = Field(
        0, description="decides instructions, layouts, searches and learning"
    )
    domain: str = Field(DEFAULT, description="the kind of world: a key of sdg.envs.domains, or module:attribute")
    levels: Annotated[tuple[str, ...], Field(min_length=1)] = Field(
        ("GoToLocal", "PickupLoc", "PutNextLocal", "Open"), description="levels of the domain, by name or id"
    )
    instructions_per_level: Size = Field(25, description="grounding instructions a level")
    cycles: Count = Field(
        1, description="how often stages 1 to 3 are gone through; what failed comes back with the skills learned so far"
    )
    processes: Size = Field(2, description="jobs that run side by side, one thread each")
    model: ModelConfig = Field(default_factory=ModelConfig, description="the language model")
    hypothesize: HypothesizeConfig = Field(default_factory=HypothesizeConfig, description="stage 1")
    verify: VerifyConfig = Field(default_factory=VerifyConfig, description="stage 2")
    induce: InduceConfig = Field(default_factory=InduceConfig, description="stage 3")
    deduce: DeduceConfig = Field(default_factory=DeduceConfig, description="stage 4")
    evaluate: EvaluateConfig = Field(default_factory=EvaluateConfig, description="the figures")
    budget: BudgetConfig = Field(default_factory=BudgetConfig, description="when to stop")


def load(path: Path, *, overlay: Iterable[str] = (), seed: int | None = None) -> RunConfig:
    """Read, overlay and check a config. Raises `ConfigError` that lists every fault with its file and line."""
    try:
        text = read_file(path.resolve(), most=4 * MAX_CHARACTERS).decode("utf-8-sig")
    except FileNotFoundError:
        raise ConfigError(f"there is no config {path}{_known(path)}") from None
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"can't read the config {path}: {error}") from None
    document = parse(text, source=str(path))
    for assignment in overlay:
        assign(document, assignment)
    if seed is not None:
        document.value["seed"] = seed
        document.places[("seed",)] = "--seed"
    config = check(document)
    config.model._named_by_user = document.place(("model", "base_url")).startswith("--set")
    return config


def check(document: Document) -> RunConfig:
    """Check plain values against the models and the levels against the registry."""
    try:
        config = RunConfig.model_validate(_tuples(document.value))
    except ValidationError as error:
        raise ConfigError("\n".join(_fault(document, details) for details in error.errors())) from None
    return config.model_copy(update={"levels": _level_names(config, document)})


def dump(config: RunConfig) -> str:
    """A config as YAML that `load` reads back to the same config, with every default in it."""
    text: str = yaml.safe_dump(config.model_dump(mode="json"), sort_keys=False, allow_unicode=True)
    return text


def _level_names(config: RunConfig, document: Document) -> tuple[str, ...]:
    try:
        world = domain(config.domain)
    except RegistryError as error:
        raise ConfigError(f"{document.place(('domain',))}: {error}") from None
    names: list[str] = []
    for index, level in enumerate(config.levels):
        place = document.place(("levels", index))
        try:
            names.append(world.level_name(level))
        except ValueError as error:
            raise ConfigError(f"{place}: {error}") from None
        if names[-1] in names[:-1]:
            raise ConfigError(f"{place}: the level {names[-1]} is listed twice")
    return tuple(names)


def _tuples(value: Any) -> Any:
    """Lists as tuples, which is what strict models of unchanging values ask for."""
    if isinstance(value, Mapping):
        return {key: _tuples(item) for key, item in value.items()}
    return tuple(_tuples(item) for item in value) if isinstance(value, list) else value


def _fault(document: Document, details: Mapping[str, Any]) -> str:
    path = tuple(details["loc"])
    name = ".".join(str(part) for part in path)
    place = document.place(path).partition("=")[0]  # not what was given: it may hold a key
    if details["type"] == "extra_forbidden":
        return f"{place}: there is no key {name!r}{_hint(path)}"
    if details["type"] == "missing":
        return f"{place}: the key {name!r} is missing"
    if details["type"] == "value_error":
        return f"{place}: {name}: {str(details['msg']).removeprefix('Value error, ')}"
    return f"{place}: {name} {str(details['msg']).removeprefix('Input ')} (it is {details['input']!r:.80})"


def _hint(path: tuple[str | int, ...]) -> str:
    if "key" in str(path[-1]).lower() and path[0] == "model":
        return "; keys and passwords aren't written into configs, set OPENAI_API_KEY in the environment"
    section: Any = RunConfig
    for part in path[:-1]:
        section = section.model_fields[part].annotation
    known = list(section.model_fields)
    close = difflib.get_close_matches(str(path[-1]), known, n=2)
    return f"; did you mean {' or '.join(close)}?" if close else f"; there are {', '.join(known)}"


def _known(path: Path) -> str:
    folder = path.parent if path.parent.is_dir() else Path("configs")
    names = sorted(str(entry) for entry in folder.glob("*.yaml")) if folder.is_dir() else []
    return f"; there are {', '.join(names[:12])}" if names else ""
