"""The gate in front of the tools of another framework: objects with a name and `forward` (smolagents) or `invoke`
(LangGraph). An agent's model calls a tool that has `inputs` (or `args`) with arguments by name, a JSON object in the
command, and any other with one text. tests/examples/test_gate_a_tool.py runs it; no framework is needed.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

import sdg
from sdg.gate.executor import Command, IllegalCommand


def names_of(tool: Any) -> list[str]:
    """The names of a tool's inputs, if it has them."""
    return list(getattr(tool, "inputs", None) or getattr(tool, "args", None) or ())


class Tools:
    """Tools as an executor: `observe` describes the state of their work, `perform` calls the tool of this name."""

    def __init__(self, tools: Sequence[Any], look: Callable[[], str]) -> None:
        self.tools, self.observe = {tool.name: tool for tool in tools}, look

    def perform(self, command: Command) -> Any:
        """The result of the tool. Raises IllegalCommand for an unknown tool and for inputs that it hasn't."""
        if command.name not in self.tools:
            raise IllegalCommand(f"there is no tool {command.name!r}; there are {', '.join(self.tools)}")
        tool = self.tools[command.name]
        names, forward = names_of(tool), getattr(tool, "forward", None)
        if not names:
            return (forward or tool.invoke)(command.argument)
        try:
            arguments = json.loads(command.argument)
        except ValueError:
            arguments = None
        if not isinstance(arguments, dict) or not arguments.keys() <= set(names):
            raise IllegalCommand(f"{command.name} takes {', '.join(names)}: write them as a JSON object")
        return forward(**arguments) if forward else tool.invoke(arguments)


class GatedTool:
    """A tool that asks the gate first: hand it to the agent in place of the tool. Its model reads refusals."""

    def __init__(self, tool: Any, gate: sdg.Gate) -> None:
        self.name, self.description = tool.name, tool.description
        self.inputs, self.output_type = getattr(tool, "inputs", {}), getattr(tool, "output_type", "string")
        self._gate, self._names = gate, names_of(tool)

    def forward(self, *values: Any, **named: Any) -> str:
        """The tool's result, or why the gate didn't call it, or what is doubtful about its work."""
        named.pop("sanitize_inputs_outputs", None)  # smolagents' own, not the tool's
        outcome = self._gate.execute(self.name, self._argument_of(values, named))
        if outcome.success:
            return outcome.result
        result = f"; it said: {outcome.result}" if outcome.result else ""
        if outcome.error:  # refused, or it broke off: the error says which
            return f"{'' if outcome.steps else 'not done: '}{outcome.error}{result}"
        return f"{'done, but ' if outcome.steps else 'not done: '}{outcome.reason}{result}"

    def _argument_of(self, values: Sequence[Any], named: dict[str, Any]) -> str:
        """The command's argument: a JSON object for a tool with names, else the only value."""
        if not self._names:
            (argument,) = (*values, *named.values())
            return argument
        if len(values) == 1 and isinstance(values[0], dict):  # as LangGraph hands them over
            return json.dumps(values[0] | named, ensure_ascii=False)
        names = [*self._names, *map("input {}".format, range(len(values)))]  # surplus values have names, too
        return json.dumps(dict(zip(names, values, strict=False)) | named, ensure_ascii=False)

    __call__ = invoke = forward
