"""The gate in front of the tools of another framework: objects with a name and `forward` (smolagents) or `invoke`
(LangGraph), which an agent's model calls with arguments. tests/examples/test_gate_a_tool.py runs it; no framework is
needed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import sdg
from sdg.gate.executor import Command, IllegalCommand


class Tools:
    """Tools as an executor: `observe` says what can be seen of their work, `perform` calls the one that is named."""

    def __init__(self, tools: Sequence[Any], look: Callable[[], str]) -> None:
        self.tools, self.observe = {each.name: each for each in tools}, look

    def perform(self, command: Command) -> Any:
        """What the tool returns. Raises IllegalCommand for one that there isn't."""
        if command.name not in self.tools:
            raise IllegalCommand(f"there is no tool {command.name!r}; there are {', '.join(self.tools)}")
        tool = self.tools[command.name]
        call = tool.forward if hasattr(tool, "forward") else tool.invoke
        return call(command.argument)


class GatedTool:
    """A tool that asks the gate first: hand it to the agent in place of the tool. A refusal is what its model reads."""

    def __init__(self, tool: Any, gate: sdg.Gate) -> None:
        self.name, self.description = tool.name, tool.description
        self.inputs, self.output_type = getattr(tool, "inputs", {}), getattr(tool, "output_type", "string")
        self._gate = gate

    def forward(self, argument: str) -> str:
        """What the tool says, or why it wasn't called, or why it isn't done although it was."""
        outcome = self._gate.execute(self.name, argument)
        return self._gate.result if outcome.success else f"not done: {outcome.error or outcome.reason}"

    __call__ = invoke = forward
