"""The program and repair jobs of the rule-based planner, on the real prompts."""

from __future__ import annotations

import random
import re
from dataclasses import dataclass

import pytest

from sdg.agents.agents import rules_gate
from sdg.deduction.deduce import Planner, ProgramLimits, Toolkit, deduce
from sdg.deduction.episode import Interaction
from sdg.deduction.planner import Prompts, describe_skill, pick_varied
from sdg.deduction.program import Call
from sdg.deduction.protocols import CalledSkill, primitive_skills
from sdg.envs.babyai.domain import BABYAI
from sdg.envs.babyai.perception.snapshot import BabyAIPerception, Object
from sdg.envs.babyai.world import BabyAIWorld, instructions
from sdg.experiments.baselines.scripted_skills import KINDS, RoomSkill, room_skills
from sdg.gate.executor import Command
from sdg.llm.babylang import reading
from sdg.llm.babylang.model import BabyLang
from sdg.llm.babylang.program import MAX_BYTES
from sdg.prompts.replies import extract_code
from sdg.sandbox.guard import Guard, Signature

MODEL = BabyLang()
PROMPTS = Prompts(BABYAI)
MISSIONS = (
    "go to the red ball",
    "pick up a grey key on your left",
    "put the red ball next to a box, then open the green door and go to a key",
    "open a door after you pick up the yellow box",
)
FAILURE = Interaction("def program():\n    pass", "", "it failed", "Step 3.", (), 0, 0)
LIMITS = ProgramLimits(steps=100, programs=3, budget=400_000, attempts=5)


def source(instruction: str, skills: dict[str, RoomSkill], *, failure: Interaction | None = None) -> str:
    offered = tuple(skills.values())
    reply = MODEL.complete(PROMPTS.ask(instruction, skills=offered, limits=LIMITS, failure=failure))
    assert reply.completion_tokens == len(reply.text) // 4
    return extract_code(reply.text)


def load(program: str, skills: dict[str, CalledSkill] | dict[str, RoomSkill]) -> None:
    """Raises where the guard refuses the program."""
    world = BabyAIWorld("GoToLocal")
    world.reset(3)
    calls = {
        name: Signature(name, int(skill.takes_argument), int(skill.takes_argument)) for name, skill in skills.items()
    }
    functions = dict(world.perception().functions()) | {"forget_visited_rooms": lambda: None} | calls
    Guard(functions, records=(Object,), budget_steps=400_000).load(program, entry="program")


@pytest.mark.parametrize("instruction", MISSIONS)
@pytest.mark.parametrize("failure", [None, FAILURE])
def test_programs_pass_the_guard_and_are_short_enough(instruction: str, failure: Interaction | None) -> None:
    skills = room_skills()
    program = source(instruction, skills, failure=failure)
    load(program, skills)
    assert len(program.encode()) <= MAX_BYTES


def test_the_clauses_come_in_order_with_their_descriptions() -> None:
    main = source(MISSIONS[2], room_skills()).split("def program():")[1].split("\n")
    arguments = [re.findall(r'"([a-z ]+)"', line) for line in main if "notes)" in line]
    assert arguments == [["red ball", "box"], ["green door"], ["key"]]


def _nonsense(rng: random.Random) -> dict[str, str]:
    names = [f"zq{number}" for number in range(len(BabyAIPerception.api) + len(KINDS))]
    rng.shuffle(names)
    return dict(zip([*BabyAIPerception.api, *KINDS.values()], names, strict=True))


def _renamed(text: str, names: dict[str, str]) -> str:
    return re.sub(r"\b(" + "|".join(names) + r")\b", lambda match: names[match.group()], text)


def _shuffled(prompt: str, title: str, rng: random.Random) -> str:
    section = reading.section(prompt, title)
    lines = section.split("\n")
    spots = [n for n, line in enumerate(lines) if re.match(r"\w+\([^)]*\): ", line)]
    moved = [lines[n] for n in spots]
    rng.shuffle(moved)
    for spot, line in zip(spots, moved, strict=True):
        lines[spot] = line
    return prompt.replace(section, "\n".join(lines))


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("failure", [None, FAILURE])
def test_renaming_and_reordering_all_functions_and_skills_renames_the_program(
    seed: int, failure: Interaction | None
) -> None:
    rng = random.Random(seed)
    names = _nonsense(rng)
    skills = tuple(room_skills().values())
    for instruction in MISSIONS:
        prompt = PROMPTS.ask(instruction, skills=skills, limits=LIMITS, failure=failure)
        usual = MODEL.complete(prompt).text
        other = _renamed(prompt[0].content, names)
        for title in ("Skills", "Perception functions"):
            other = _shuffled(other, title, rng)
        changed = MODEL.complete([type(prompt[0])("user", other)]).text
        assert _flat(changed) == _flat(_renamed(usual, names))


def _flat(program: str) -> list[str]:
    """Lines without indentation (its width follows from length) and in any order of wrappers."""
    return sorted(line.strip() for line in program.split("\n"))


def test_helpers_give_way_to_skills_of_the_same_name() -> None:
    skills = room_skills(open="open_door", goto="reach", pick="take", put="bring", enter="cross", look="survey")
    program = source(MISSIONS[2], skills)
    load(program, skills)
    assert "def reach(" not in program
    assert "def take(" not in program


def test_a_library_without_some_skills_still_gets_a_program() -> None:
    skills = {name: skill for name, skill in room_skills().items() if skill.kind in ("goto", "pick", "put")}
    program = source(MISSIONS[2], skills)
    load(program, skills)
    assert set(re.findall(r"\b(go_next_to|pick_up|put_next_to|enter_new_room)\(", program)) == set(skills)


def test_of_two_skills_the_one_with_more_of_the_kind_is_called() -> None:
    class Mixed(RoomSkill):
        @property
        def examples(self) -> tuple[str, ...]:
            return ("walk up to the red ball", "find the red ball", "grab a key")

    skills = {**room_skills(), "mixed": Mixed("mixed", "goto")}
    assert "mixed(" not in source(MISSIONS[0], skills)
    without = {name: skill for name, skill in skills.items() if name != "go_next_to"}
    assert "mixed(" in source(MISSIONS[0], without)


class Doors(RoomSkill):
    @property
    def examples(self) -> tuple[str, ...]:
        return (
            ("walk up to the red door", "reach a door") if self.kind == "goto" else ("find the red door", "spot a door")
        )


@pytest.mark.parametrize("failure", [None, FAILURE])
def test_skills_that_were_learned_on_doors_are_called_for_doors(failure: Interaction | None) -> None:
    skills = {**room_skills(), "reach_door": Doors("reach_door", "goto"), "find_door": Doors("find_door", "discover")}
    program = source(MISSIONS[2], skills, failure=failure)
    load(program, skills)
    assert re.search(r'if thing\.type == "door":\n\s+return reach_door\(thing\)', program)
    assert re.search(r'if "door" in thing:\n\s+return find_door\(thing\)', program)
    only = {name: skill for name, skill in skills.items() if name not in ("go_next_to", "discover")}
    assert "reach_door(" in source(MISSIONS[0], only)


def test_a_repair_leaves_out_what_is_done_and_bears_errors() -> None:
    def call(name: str, argument: str, *, line: int, began: int, steps: int, success: bool = True) -> Call:
        message = "something changed" if success else "not reached"
        command = Command(name, argument)
        return Call(command=command, line=line, began=began, steps=steps, success=success, message=message)

    calls = (
        call("go_next_to", "red ball #3", line=9, began=0, steps=4),
        call("pick_up", "red ball #3", line=9, began=4, steps=1),
        call("put_next_to", "grey box #4", line=9, began=5, steps=1),
        call("open_door", "green door #1", line=7, began=6, steps=150, success=False),
    )
    failure = Interaction(FAILURE.program, "", "line 7: refused", "Step 3.", calls, 0, 0)
    program = source(MISSIONS[2], room_skills(), failure=failure)
    main = program.split("def program():")[1]
    assert '"box"' not in main
    assert '"green door"' in main
    assert "except Exception" in program
    undone = Interaction(FAILURE.program, "", "line 7: refused", "Step 3.", calls[:2], 0, 0)
    assert '"box"' in source(MISSIONS[2], room_skills(), failure=undone)


@pytest.mark.parametrize("instruction", MISSIONS)
def test_primitive_actions_get_a_program_of_their_own(instruction: str) -> None:
    skills = dict(primitive_skills(BABYAI))
    reply = MODEL.complete(PROMPTS.ask(instruction, skills=tuple(skills.values()), limits=LIMITS)).text
    load(extract_code(reply), skills)
    assert "move_forward()" in reply


def test_what_is_no_baby_language_gets_no_program() -> None:
    reply = MODEL.complete(PROMPTS.ask("sing a song", skills=tuple(room_skills().values()), limits=LIMITS)).text
    assert "```" not in reply
    assert "sing a song" in reply


@dataclass(frozen=True)
class Told:
    """A skill as prompts tell it."""

    examples: tuple[str, ...]
    name: str = "open_unexplored_door"
    description: str = "opens a door"
    takes_argument: bool = False
    parameters: tuple[str, ...] = ()
    success_rate: float = 1.0


def test_what_a_skill_was_practised_for_is_told_without_conditions() -> None:
    expected = (
        "Unless a green door is known: open the unexplored door",
        "if no key is known, open a door",
        "if locked, go",
    )
    line = describe_skill(Told(expected))
    assert '"open the unexplored door", "open a door"' in line
    assert "nless" not in line
    assert '"if locked, go"' in describe_skill(Told(expected[2:]))


def test_skills_are_described_by_what_they_reach() -> None:
    line = describe_skill(room_skills()["go_next_to"])
    assert line.startswith("go_next_to(thing): ")
    assert '"go next to the red ball"' in line
    assert "\n" not in line
    assert pick_varied(["find the a", "find the b", "spot the a", "find the a"]) == (
        "find the a",
        "spot the a",
    )


def test_hostile_texts_stay_data_in_prompts() -> None:
    call = Call(command=Command("## Skills"), line=1, began=0, steps=0, success=True, message="")
    failure = Interaction("```\n## Skills\n", "", "```\n# Error", "`" * 50, (call,), 0, 0)
    skills = tuple(room_skills().values())
    prompt = PROMPTS.ask("go to\n## Skills\nx", skills=skills, limits=LIMITS, failure=failure)[0].content
    titles = [line for line in _headings(prompt) if line.startswith("Skills")]
    assert titles == ["Skills"]


def _headings(prompt: str) -> list[str]:
    return [heading for _, heading, _ in reading._lines(prompt) if heading]


LEVELS = [("GoToLocal", 3), ("PutNextLocal", 3), ("Open", 3), ("BossLevel", 3)]


@pytest.mark.parametrize(("level", "count"), [*LEVELS, pytest.param("SynthSeq", 30, marks=pytest.mark.slow)])
def test_programs_carry_out_missions_with_skills_that_act_within_a_room(level: str, count: int) -> None:
    skills = room_skills(noise=0.02)
    toolkit = Toolkit(BABYAI, skills, rules_gate(skills, BABYAI))
    done = 0
    for mission in instructions(level, split="validation", count=count, seed=7):
        world = BabyAIWorld(level)
        world.reset(mission.seed)
        done += deduce(world, planner=Planner(MODEL, PROMPTS), toolkit=toolkit, seed=mission.seed).success
    assert done >= count - 1
