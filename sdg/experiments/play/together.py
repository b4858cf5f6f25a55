"""Episodes side by side while their models think: one thread plays at all places, others only ask the model."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import Protocol, TypeVar

from sdg.llm.model import Completion, LanguageModel, Message
from sdg.screen_agent.agent import SAMPLING

Job = TypeVar("Job")
Place = TypeVar("Place")
Row = TypeVar("Row", covariant=True)

BEAT_SECONDS = 60.0
"""How often `waiting` is called while models think."""


class Turns(Protocol[Row]):
    """An episode, turn by turn."""

    def question(self) -> tuple[Message, ...] | None:
        """What the model is asked next; None when the episode is over."""
        ...

    def hear(self, reply: Callable[[], Completion]) -> None:
        """Carry out the answer; `reply` raises what the model raised."""
        ...

    def row(self) -> Row:
        """How it ended."""
        ...


def play_together(
    jobs: Sequence[Job],
    places: Sequence[Place],
    begin: Callable[[Job, Place], Turns[Row]],
    model: LanguageModel,
    *,
    begun: Callable[[Job], None] = lambda job: None,
    waiting: Callable[[], None] = lambda: None,
) -> Iterator[Row]:
    """Rows as they finish, as many episodes at a time as there are places. `begun` is called with each job that begins,
    `waiting` while only models work.

    Raises what `hear` raises.
    """
    queue, free = list(reversed(jobs)), list(reversed(places))
    pending: dict[Future[Completion], tuple[Turns[Row], Place]] = {}
    with ThreadPoolExecutor(len(places)) as pool:
        while queue or pending:
            turns = []
            while queue and free:
                begun(job := queue.pop())
                turns.append((begin(job, place := free.pop()), place))
            only_models_work = bool(pending) and not turns
            answers = wait(pending, timeout=BEAT_SECONDS, return_when=FIRST_COMPLETED).done if only_models_work else ()
            if only_models_work and not answers:
                waiting()
            for future in answers:
                turns.append(pending.pop(future))
                turns[-1][0].hear(future.result)
            for episode, place in turns:
                question = episode.question()
                if question is not None:
                    pending[pool.submit(model.complete, question, sampling=SAMPLING)] = episode, place
                    continue
                free.append(place)
                yield episode.row()
