"""What is read out of a model's reply line by line. Replies are hostile data; nothing is run here."""

from sdg.llm.model import Completion
from sdg.sandbox.guard.extract import MAX_REPLY_CHARS, CodeBlock, code_blocks, fence_of, functions_in, tidy

__all__ = [
    "MAX_REPLY_CHARS", "CodeBlock", "code_blocks", "cut_off", "fence_of", "functions_in", "leading_number", "tidy",
]  # fmt: skip


def cut_off(reply: Completion, limit: int) -> str:
    """What to tell a model whose reply may have ended at its limit of tokens, "" where it didn't."""
    if reply.finish_reason != "length" and reply.completion_tokens < limit:
        return ""
    return f"The answer was cut off at the limit of {limit} tokens: think and write less."


def leading_number(text: str) -> tuple[str, str]:
    """The digits that a text begins with ("" for none), six at most, and what follows them."""
    rest = text.lstrip("0123456789")
    return text[: len(text) - len(rest)][:6], rest
