"""The gate in front of the tools of another framework: objects with a name and `forward` (smolagents) or `invoke`
(LangGraph), which an agent's model calls with arguments: by name where the tool says its `inputs` (or `args`), which
are a JSON object in the command, and else one text. tests/examples/test_gate_a_tool.py runs it; no framework is needed.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

import sdg
from sdg.gate.executor import Command, IllegalCommand


def names_of(tool: Any) -> list[str]:
    """The names of a tool's inputs; none where it doesn't say them."""
    return list(getattr(tool, "inputs", None) or getattr(tool, "args", None) or ())


class Tools:
    """Tools as an executor: `observe` says what can be seen of their work, `perform` calls the one that is named."""

    def __init__(self, tools: Sequence[Any], look: Callable[[], str]) -> None:
        self.tools, self.observe = {each.name: each for each in tools}, look

    def perform(self, command: Command) -> Any:
        """What the tool returns. Raises IllegalCommand for one that there isn't, and for inputs that it hasn't."""
        if command.name not in self.tools:
            raise IllegalCommand(f"there is no tool {command.name!r}; there are {', '.join(self.tools)}")
        tool = self.tools[command.name]
        names, forward = names_of(tool), getattr(tool, "forward", None)
        if not names:
            return (forward or tool.invoke)(command.argument)
        try:
            named = json.loads(command.argument)
        except ValueError:  # also where a private value with a quotation mark was filled in
            named = None
        if not isinstance(named, dict) or not named.keys() <= set(names):
            raise IllegalCommand(f"{command.name} takes {', '.join(names)}: write them as a JSON object")
        return forward(**named) if forward else tool.invoke(named)


class GatedTool:
    """A tool that asks the gate first: hand it to the agent in place of the tool. A refusal is what its model reads."""

    def __init__(self, tool: Any, gate: sdg.Gate) -> None:
        self.name, self.description = tool.name, tool.description
        self.inputs, self.output_type = getattr(tool, "inputs", {}), getattr(tool, "output_type", "string")
        self._gate, self._names = gate, names_of(tool)

    def forward(self, *given: Any, **named: Any) -> str:
        """What the tool says, or why it wasn't called, or what is doubtful about what it did."""
        named.pop("sanitize_inputs_outputs", None)  # smolagents' own, not the tool's
        if self._names:
            if len(given) == 1 and isinstance(given[0], dict):  # as LangGraph hands them over
                named, given = given[0] | named, ()
            places = [*self._names, *map("input {}".format, range(len(given)))]  # what is too much has a name, too
            argument = json.dumps(dict(zip(places, given, strict=False)) | named, ensure_ascii=False)
        else:
            (argument,) = (*given, *named.values())
        outcome = self._gate.execute(self.name, argument)
        if outcome.success:
            return outcome.result
        said = f"; it said: {outcome.result}" if outcome.result else ""
        if outcome.error:  # refused, or it broke off: the error says which
            return f"{'' if outcome.steps else 'not done: '}{outcome.error}{said}"
        return f"{'done, but ' if outcome.steps else 'not done: '}{outcome.reason}{said}"

    __call__ = invoke = forward
