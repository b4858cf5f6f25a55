"""A small world of forms in text, for placeholders: a rule-based coordinator fills in fields by commands.

No figure of an agent: the coordinator stands in for a language model and reads nothing but its conversation. It shows
whether a placeholder costs a task anything, and it is what canaries are sent through.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from sdg.envs.world import Element, Observation, PlainObservation
from sdg.gate.executor import Body, Command, GatedExecutor, IllegalCommand, Outcome, SkillResult
from sdg.gate.rules import RulesGuard, Usage
from sdg.llm.model import LanguageModel, Message
from sdg.privacy.protector import ProtectedBody, Protector

MAX_STEPS = 30
USAGES = {"choose": Usage(), "write": Usage(), "submit": Usage(takes_argument=False)}


@dataclass(frozen=True, slots=True)
class Field:
    """A field of the form and what stands in it."""

    id: int
    name: str
    content: str = ""
    held: bool = False


@dataclass
class Form:
    """A body that fills in a form: `choose` a field, `write` into it, `submit`. Letters are a limit of each field."""

    wanted: Mapping[str, str]
    contents: dict[str, str] = field(default_factory=dict)
    chosen: str = ""
    steps: int = 0
    submitted: bool = False

    @property
    def is_done(self) -> bool:
        """Whether the form was submitted with the values that were wanted, letter by letter."""
        return self.submitted and self.contents == self.wanted

    def observe(self) -> Observation:
        """Every field with its content."""
        fields = [Field(n, name, self.contents.get(name, "")) for n, name in enumerate(self.wanted)]
        lines = [f"{field.name} = {field.content}" for field in fields]
        return PlainObservation("\n".join([*lines, f"chosen: {self.chosen}"]), elements=tuple(fields))

    def perform(self, command: Command) -> SkillResult:
        """One command, one step. IllegalCommand for a field that there isn't."""
        self.steps += 1
        if command.name == "choose":
            if command.argument not in self.wanted:
                raise IllegalCommand(f"there is no field {command.argument!r}")
            self.chosen = command.argument
        elif command.name == "write":
            if not self.chosen:
                raise IllegalCommand(f"choose a field before writing {command.argument!r}")
            self.contents[self.chosen] = command.argument
        else:
            self.submitted = True
        return SkillResult(True, 1, 1)


def resolve(argument: str, elements: Sequence[Element]) -> Sequence[Element]:
    """Any text can be written; fields are found by name."""
    return [element for element in elements if element.name == argument]


class Coordinator:
    """Names the next command from the instruction and the form as they stand in the conversation."""

    name = "coordinator (rule-based)"

    def complete(self, messages: Sequence[Message]) -> str:
        """`{"command": ..., "argument": ...}`: the first field that differs from what the instruction says of it."""
        instruction, form_text = messages[-1].content.split("\n", 1)
        values_wanted = re.findall(r"the field (.+?): (.+?)(?: \||$)", instruction)
        has = dict(line.split(" = ", 1) for line in form_text.splitlines() if " = " in line)
        chosen = form_text.rpartition("chosen: ")[2].strip()
        for name, value in values_wanted:
            if has.get(name, "") != value:
                return _command("write", value) if chosen == name else _command("choose", name)
        return _command("submit", "")


def _command(name: str, argument: str) -> str:
    return json.dumps({"command": name, "argument": argument}, ensure_ascii=False)


def instruction_for(wanted: Mapping[str, str]) -> str:
    """What a user asks for."""
    return "Fill in the field " + " | the field ".join(f"{name}: {value}" for name, value in wanted.items())


def play(
    instruction: str,
    form: Form,
    model: LanguageModel,
    *,
    body: Body,
    heard: Callable[[Outcome], None] = lambda outcome: None,
) -> bool:
    """Play until the form is submitted or the steps are spent; whether it was filled in as wanted."""
    executor = GatedExecutor(body, RulesGuard(USAGES, resolve=resolve))
    for _ in range(MAX_STEPS):
        reply = model.complete([Message("user", f"{instruction}\n{body.observe().text}")])
        answer = json.loads(reply.text)
        heard(executor.execute(Command(answer["command"], answer["argument"])))
        if form.submitted:
            break
    return form.is_done


def protected_body(form: Form, protector: Protector | None) -> Body:
    """The form as its executor sees it."""
    return ProtectedBody(form, protector) if protector else form
