"""The contract of a domain: tests to inherit, one class a domain.

    from sdg.envs.contract import DomainContract

    class TestMine(DomainContract):
        domain = MY_DOMAIN
        steps = 20

Each test says in its message what the domain broke and what to do about it.
"""

import dataclasses
import inspect
import pickle
from contextlib import suppress
from typing import Any

import numpy as np

from sdg.envs.domain import TEXTS, Domain
from sdg.envs.world import Perception, World, without_clock
from sdg.sandbox.guard import Guard, GuardError, HostFault

STRANGE: tuple[Any, ...] = (None, True, -1, 10**400, 1.5, float("nan"), "", "no such thing", [], {}, (0, 0))
"""Arguments that a model may give to a perception function."""
REFUSALS = (ValueError, TypeError, OverflowError, ZeroDivisionError)
"""Errors, but not subclasses of them, that the guard takes for the generated code's own."""


class DomainContract:
    """Tests of one domain, for pytest to collect in a subclass."""

    domain: Domain
    steps: int = 30
    """Random steps that worlds are tried with."""

    def open_world(self, seed: int = 3) -> World:
        """A world of the first level, reset."""
        world = self.domain.open(self.domain.levels()[0])
        world.reset(seed)
        return world

    def play_random(self, world: World, steps: int) -> list[Any]:
        """Take random actions, the same ones each time; returns them."""
        rng = np.random.default_rng(0)
        actions = []
        for _ in range(steps):
            action = self.draw(rng)
            actions.append(action)
            if world.step(action).done:
                break
        return actions

    def draw(self, rng: np.random.Generator) -> Any:
        """A random action; override for actions that aren't numbered."""
        return int(rng.integers(len(self.domain.actions)))

    def perceive(self, snapshot: Perception) -> object:
        """All that can be perceived in a snapshot."""
        return snapshot.describe(), [repr(element) for element in snapshot.elements()]

    def test_it_is_found_by_its_name_and_travels_by_reference(self) -> None:
        assert pickle.loads(pickle.dumps(self.domain)) is self.domain, (
            "pickling a domain must give the same object again: write __reduce__ that returns the name of its global"
        )

    def test_every_perception_function_says_what_it_does(self) -> None:
        for name, function in self.domain.perceivable.functions.items():
            assert (function.__doc__ or "").strip(), f"{name} has no docstring: it is the prompt's API text"

    def test_strange_arguments_are_refused_or_answered(self) -> None:
        view = self.domain.perceivable.code_view(self.open_world().perception())
        for name, function in view.functions().items():
            count = len(inspect.signature(function).parameters)
            for argument in STRANGE if count else ():
                kind: type[Exception] | None = None
                try:
                    function(*[argument] * count)
                except Exception as error:
                    kind = type(error)
                assert kind in (None, *REFUSALS), (
                    f"{name} fails by {kind} for {argument!r:.40}, which ends the run of a model that asks so: raise "
                    "ValueError and say what it takes"
                )

    def test_answers_are_plain_data(self) -> None:
        perceivable, example, world = self.domain.perceivable, self.domain.language.example, self.open_world()
        guard = Guard(perceivable.functions, records=perceivable.records)
        self.play_random(world, self.steps)
        snapshot = world.perception()
        for name, signature in guard.signatures.items():
            call = f"{name}({', '.join([repr(example)] * signature.least)})"
            try:
                guard.load(f"def ask():\n    return {call}\n")(perceivable.code_view(snapshot).functions())
            except GuardError:
                continue  # it refuses the argument
            except HostFault as error:
                raise AssertionError(
                    f"{error}; return numbers, texts, lists, tuples, dicts, sets or `perceivable.records`"
                ) from None
        records: list[Any] = [element for element in snapshot.elements() if type(element) in perceivable.records]
        for record in records:
            for field in dataclasses.fields(record):
                assert not isinstance(getattr(record, field.name), np.generic), (
                    f"{type(record).__name__}.{field.name} is a number of numpy, which checks can't use: make it int() "
                    "or float()"
                )

    def test_actions_are_numbered_from_zero_and_described(self) -> None:
        numbers = [action.number for action in self.domain.actions]
        assert sorted(numbers) == list(range(len(numbers))), f"actions are numbered {numbers}, not from 0 on"
        assert all(action.description for action in self.domain.actions), "an action has no description"

    def test_prompts_have_their_texts(self) -> None:
        absent = [name for name in TEXTS if not isinstance(self.domain.texts.get(name), str)]
        assert not absent, f"texts has no {', '.join(absent)} (an empty text will do)"
        assert self.domain.texts["role"], "texts['role'] is empty: a model must be told where it is"

    def test_levels_have_names(self) -> None:
        for level in self.domain.levels():
            assert self.domain.level_name(level) == level
        with suppress(ValueError):
            self.domain.level_name("no such level")
            raise AssertionError("level_name must raise ValueError for a level that there isn't")

    def test_the_same_seed_is_the_same_episode(self) -> None:
        first, second = self.open_world(), self.open_world()
        assert first.mission == second.mission, "reset(seed) must decide the mission: the world forgets its seed"
        self.play_random(first, self.steps)
        self.play_random(second, self.steps)
        is_same = self.perceive(first.perception()) == self.perceive(second.perception())
        assert is_same, "the same seed and actions must give the same perception"

    def test_a_snapshot_stays_what_it_was(self) -> None:
        world = self.open_world()
        snapshot = world.perception()
        before = self.perceive(snapshot)
        self.play_random(world, self.steps)
        assert self.perceive(snapshot) == before, "a perception is a snapshot: later steps must not change it"

    def test_descriptions_mean_what_they_say(self) -> None:
        language = self.domain.language
        target = language.parse(language.example)
        assert language.parse(language.text(target)) == target, "text(parse(example)) must mean the same"
        assert language.description_of(language.row(language.example)) == language.text(target)
        assert language.description_of(language.row("")) == "", "row('') must mark nothing"
        with suppress(ValueError):
            language.parse("\x00 no such thing \x00")
            raise AssertionError("parse must raise ValueError for what describes nothing")

    def test_moments_are_kept_and_restored(self) -> None:
        if not self.domain.can.restores:
            return
        rows = self.domain.begin(self.domain.layouts(self.domain.levels()[0], [3, 5]), np.array([0, 1]))
        moment = rows.take(np.array([1]))
        before, novelty = rows.perception(1).describe(), rows.novelty(1)
        rng = np.random.default_rng(1)
        for _ in range(5):
            rows.step(np.array([self.draw(rng) for _ in range(2)]))
        assert rows.perception(1).describe() != before, "five steps changed nothing: is the world stepped at all?"
        is_same = without_clock(rows.perception(1).describe()) == without_clock(before)
        assert is_same or rows.novelty(1) != novelty, "moments that are described differently must differ in novelty"
        rows.put(np.array([0]), moment, np.array([0]))
        assert rows.perception(0).describe() == before, "put must restore the moment that take copied"
        assert len(self.domain.join([rows, moment])) == 3

    def test_waiting_changes_nothing(self) -> None:
        if not self.domain.can.practises:
            return
        rows = self.domain.begin(self.domain.layouts(self.domain.levels()[0], [3]), np.array([0]))
        where = rows.places(), rows.holding()
        rows.step(np.array([self.domain.wait]))
        assert np.array_equal(where, (rows.places(), rows.holding())), "`wait` must leave the world as it is"

    def test_inputs_fill_their_space(self) -> None:
        if not self.domain.can.practises:
            return
        inputs, language = self.domain.inputs, self.domain.language
        rows = self.domain.begin(self.domain.layouts(self.domain.levels()[0], [3, 5]), np.array([0, 1]))
        targets = np.stack([language.row(language.example), language.row("")])
        out = np.full((2, inputs.size), 7, inputs.dtype)
        frames = np.zeros(2, np.int64)
        inputs.write(rows.memory, targets, frames, out)
        single = np.full(inputs.size, 7, inputs.dtype)
        assert inputs.write_row(rows.memory, 0, targets[0], single) == frames[0]
        assert np.array_equal(single, out[0]), "write and write_row must say the same"
        if out.dtype == np.uint8:
            assert set(np.unique(out)) <= {0, 1}, "inputs are bits: 0 or 1 everywhere"
