"""Recurring calls in programs, a model's composed skills for them, and the programs rewritten over these."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby

from sdg.composition.rules import MAX_SKILLS, Admission, admit, kinds_of
from sdg.deduction.planner import describe_skill, program_api
from sdg.deduction.protocols import Documented
from sdg.envs.domain import Domain
from sdg.llm.model import LanguageModel, Message, Sampling
from sdg.prompts.fill import conversation, fence, number_lines, one_line, text
from sdg.prompts.replies import extract_code, functions_in, tidy
from sdg.prompts.sources import prune_source
from sdg.sandbox.guard import Refused
from sdg.skills.library.composed import ComposedSkill

MAX_SHOWN = 12
"""Programs that a question shows, the shortest for each kind of instruction first."""
MAX_REWRITTEN = 4
"""Programs that one question asks to rewrite."""
REPAIRS = 2
"""Times that a model may repair its reply."""
MAX_CALLS = 4
"""Longest run of calls that is looked for."""
MIN_PROGRAMS = 3
"""The least number of programs that must have a run of calls."""

ENTRY = "program"


@dataclass(frozen=True, slots=True)
class SolvedEpisode:
    """A program that carried out a practice instruction by itself.

    `calls` are the names of its skill calls in order; `origin` is its transcript and line.
    """

    instruction: str
    level: str
    seed: int
    source: str
    calls: tuple[str, ...] = ()
    origin: str = ""


@dataclass(frozen=True)
class Author:
    """The model that composes, with the domain and the learned skills of its programs."""

    model: LanguageModel
    domain: Domain
    skills: Sequence[Documented]
    load: Callable[[str], object]
    sampling: Sampling = field(default_factory=lambda: Sampling(stage="compose"))

    def distil(self, programs: Sequence[SolvedEpisode]) -> Admission:
        """Composed skills that keep the rules, and refusals; the model may repair its reply twice.

        Raises the model's errors.
        """
        examples = pick_varied(programs)
        messages = [Message("user", self._request(examples))]
        best = Admission((), {"the answer": "nothing was composed"})
        for _ in range(REPAIRS + 1):
            reply = self.model.complete(messages, sampling=self.sampling)
            try:
                result = admit(
                    reply.text, learned=[skill.name for skill in self.skills], domain=self.domain, load=self.load
                )
            except Refused as refusal:
                result = Admission((), {"the answer": one_line(str(refusal))})
            best = result if len(result.skills) >= len(best.skills) else best
            if not result.refusals:
                break
            problem = "\n".join(f"- {one_line(f'{name}: {reason}')}" for name, reason in result.refusals.items())
            messages += [Message("assistant", tidy(reply.text) or "(nothing)")]
            messages += conversation("compose_repair", problem=problem)
        origins = tuple(program.origin for program in examples)
        return replace(best, skills=tuple(replace(skill, origins=origins) for skill in best.skills))

    def rewrite(
        self, programs: Sequence[SolvedEpisode], composed: Sequence[ComposedSkill]
    ) -> Iterator[tuple[SolvedEpisode, str]]:
        """Each program with its source over the composed skills; those that the reply lacks are left out.

        Raises the model's errors.
        """
        for start in range(0, len(programs), MAX_REWRITTEN):
            batch = programs[start : start + MAX_REWRITTEN]
            message = text(
                "compose_rewrite", **self._common_parts([*self.skills, *composed]), programs=_list_programs(batch)
            )
            reply = self.model.complete((Message("user", message),), sampling=self.sampling)
            try:
                source = extract_code(reply.text)
            except Refused:
                continue
            names = functions_in(source)
            for number, program in enumerate(batch, 1):
                entry = f"{ENTRY}_{number}"
                if entry in names:
                    yield program, prune_source(source, entry).replace(f"def {entry}(", f"def {ENTRY}(", 1)

    def _request(self, programs: Sequence[SolvedEpisode]) -> str:
        patterns = [f"{' > '.join(calls)}: {count} programs" for calls, count in recurrences(programs)]
        return text(
            "compose",
            **self._common_parts(self.skills),
            programs=_list_programs(programs),
            recurring=fence(number_lines(patterns) or "nothing"),
            most=str(MAX_SKILLS),
            kinds=", ".join(kinds_of(self.domain)),
        )

    def _common_parts(self, skills: Sequence[Documented]) -> dict[str, str]:
        return {
            "role": self.domain.texts["role"],
            "skills": "\n".join(describe_skill(skill) for skill in skills),
            "perception_api": program_api(self.domain),
        }


def recurrences(programs: Sequence[SolvedEpisode]) -> list[tuple[tuple[str, ...], int]]:
    """Runs of calls in at least MIN_PROGRAMS programs, with their number: the longest and most frequent first."""
    counts: Counter[tuple[str, ...]] = Counter()
    for program in programs:
        calls = [name for name, _ in groupby(program.calls)]  # repetitions count once
        counts.update(
            {
                tuple(calls[start : start + size])
                for size in range(2, MAX_CALLS + 1)
                for start in range(len(calls) - size + 1)
            }
        )
    frequent = [(calls, count) for calls, count in counts.items() if count >= MIN_PROGRAMS]
    return sorted(frequent, key=lambda run: (-run[1] * len(run[0]), run))[:MAX_SHOWN]


def pick_varied(programs: Sequence[SolvedEpisode], most: int = MAX_SHOWN) -> list[SolvedEpisode]:
    """At most `most` programs, of as many kinds of instructions as possible; the shortest of a kind first."""
    kinds: dict[str, list[SolvedEpisode]] = {}
    for program in sorted(programs, key=lambda program: len(program.source)):
        kinds.setdefault(kind_of(program.instruction), []).append(program)
    turns = max((len(group) for group in kinds.values()), default=0)
    return [group[turn] for turn in range(turns) for group in kinds.values() if turn < len(group)][:most]


def kind_of(instruction: str) -> str:
    """The first word of an instruction, the words that join its parts, and those behind them."""
    words = instruction.replace(",", " ,").split()
    return " ".join(
        word for index, word in enumerate(words) if index == 0 or word in _JOINTS or words[index - 1] in _JOINTS
    )


_JOINTS = frozenset({"and", "then", "after", "before", "you"})


def _list_programs(programs: Sequence[SolvedEpisode]) -> str:
    return "\n\n".join(
        f"### Program {number}\n\nIts instruction, and the program:\n\n{fence(one_line(program.instruction, 1000))}\n\n"
        f"{fence(program.source, 'python')}"
        for number, program in enumerate(programs, 1)
    )
