"""The playground: a page that instructs the robot, makes a skill from a check, and browses a library and a run.

The server is the standard library's and listens on loopback by default. It answers only pages from its own address, so
that no other site in the same browser can use it. One robot works at a time.
"""

import inspect
import json
import mimetypes
import threading
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import asdict
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ipaddress import ip_address
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import sdg
from sdg.console import message
from sdg.deduction.episode import EpisodeResult
from sdg.envs.domains import DEFAULT, domain
from sdg.errors import UserError
from sdg.experiments.play.film import data_address, episode_gif, png
from sdg.experiments.play.players import PlannerRecipe
from sdg.experiments.play.solve import solve
from sdg.skills.library.library import SkillLibrary
from sdg.skills.library.store import load_library
from sdg.storage import read_rows

PAGE = Path(__file__).parent / "page"
PAGES = {"/": "index.html", "/page.js": "page.js", "/page.css": "page.css"}
MAX_BYTES = 1 << 16
"""Longest request."""
HEADERS = {
    "Content-Security-Policy": "default-src 'self'; img-src 'self' data:; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-store",
}


class Playground:
    """The page's requests: each method takes and returns JSON values. The page shows the messages of SDG's errors."""

    def __init__(self, library: Path, run: Path | None = None) -> None:
        self.place, self.run = library, run
        self._turn, self._begin = threading.Lock(), threading.Lock()
        self.library: SkillLibrary = load_library(library)
        self._progress: dict[str, Any] = {"points": [], "done": True}

    def about(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """The levels, the skills with their checks, members and success in use, and the run's episodes."""
        rows = read_rows(self.run / "episodes.jsonl", EpisodeResult) if self.run else []
        calls, successes = Counter[str](), Counter[str]()
        for call in (call for row in rows for call in row.calls()):
            calls[call["name"]] += 1
            successes[call["name"]] += bool(call.get("success"))
        skills = [
            {
                "name": skill.name,
                "description": skill.description,
                "success": skill.success_rate,
                "interval": skill.success_interval,
                "episodes": skill.episodes,
                "members": skill.members[:12],
                "checks": [template.check.source for template in skill.checks[:3]],
                "used": calls[skill.name],
                "worked": successes[skill.name],
            }
            for skill in self.library.skills
        ]
        columns = ("level", "seed", "agent", "instruction", "success", "steps", "cause")
        return {
            "levels": domain(DEFAULT).levels(),
            "functions": [
                f"{name}{inspect.signature(function)}: {str(inspect.getdoc(function)).splitlines()[0]}"
                for name, function in domain(DEFAULT).perceivable.functions.items()
            ],
            "skills": skills,
            "episodes": [{name: getattr(row, name) for name in columns} for row in rows[-200:]],
            "run": str(self.run or ""),
        }

    def look(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """A level before any action: its own instruction, and a picture of the whole level."""
        world = domain(DEFAULT).open(str(request["level"]))
        world.reset(int(request["seed"]))
        return {"instruction": world.mission, "picture": data_address("image/png", png(world.render()))}

    def instruct(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Solve a level's own instruction, or the user's words: the program, its calls with verdicts, the film."""
        with self._turn:
            row, episode = solve(
                str(request["level"]),
                int(request["seed"]),
                instruction=str(request.get("instruction", "")),
                recipe=PlannerRecipe("sdg", self.place),
            )
        return row | {
            "calls": [call for interaction in episode.trace for call in interaction["calls"]],
            "film": _film_address(episode),
        }

    def train(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Begin to learn a skill from a check; `curve` reports progress. Raises UserError while another one learns."""
        progress: dict[str, Any] = {"points": [], "done": False}

        def work() -> None:
            with self._turn:
                try:
                    progress["skill"] = repr(
                        sdg.train(
                            str(request["level"]),
                            str(request["check"]),
                            seed=int(request["seed"]),
                            on_evaluation=lambda point: progress["points"].append(asdict(point)),
                        )
                    )
                except Exception as error:
                    progress["fault"] = message(error)
            progress["done"] = True

        with self._begin:
            if not self._progress["done"]:
                raise UserError("another skill is being learned: begin this one when it is done")
            self._progress = progress
        threading.Thread(target=work, daemon=True).start()
        return progress

    def curve(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """The learning curve of the skill being learned, and the result."""
        return self._progress


def serve(playground: Playground, *, host: str = "127.0.0.1", port: int = 0) -> ThreadingHTTPServer:
    """A server for the page; `serve_forever` runs it. Raises OSError for an address that isn't free."""

    class Handler(BaseHTTPRequestHandler):
        def handle(self) -> None:
            """Answer; a browser may go away in the middle, which is no fault."""
            with suppress(ConnectionError):
                super().handle()

        def do_GET(self) -> None:
            if name := PAGES.get(self.path):
                self._answer(200, (PAGE / name).read_bytes(), str(mimetypes.guess_type(name)[0]))
            else:
                self._answer(404, b"no such page")

        def do_POST(self) -> None:
            answers: dict[str, Callable[[Mapping[str, Any]], dict[str, Any]]] = {
                "/about": playground.about,
                "/look": playground.look,
                "/instruct": playground.instruct,
                "/train": playground.train,
                "/curve": playground.curve,
            }
            length = str(self.headers.get("Content-Length"))
            size = int(length) if length.isdecimal() and len(length) < 9 else MAX_BYTES + 1
            if not self._is_ours() or self.path not in answers or size > MAX_BYTES:
                self._answer(403, b"not from here")
                return
            try:
                reply = answers[self.path](json.loads(self.rfile.read(size)))
            except Exception as error:
                reply = {"fault": message(error)}
            self._answer(200, json.dumps(reply).encode(), "application/json")

        def _is_ours(self) -> bool:
            """Whether our own page asks, by an address or our own name: another site's name may lead here, too."""
            origin = f"http://{self.headers.get('Host')}"
            with suppress(ValueError):
                name = urlsplit(origin).hostname or ""
                is_our_name = name in (host.lower(), "localhost") or bool(ip_address(name))
                return is_our_name and self.headers.get("Origin") == origin
            return False

        def _answer(self, status: int, body: bytes, kind: str = "text/plain") -> None:
            self.send_response(status)
            headers = HEADERS | {"Content-Type": f"{kind}; charset=utf-8", "Content-Length": str(len(body))}
            for key, value in headers.items():
                self.send_header(key, value)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *values: Any) -> None:
            """Log nothing: the page shows what happens."""

    server = ThreadingHTTPServer((host, port), Handler)
    return server


def _film_address(episode: EpisodeResult) -> str:
    """The film as a data address; "" where the episode can't be played again."""
    try:
        return data_address("image/gif", episode_gif(episode, domain_name=DEFAULT))
    except ValueError:
        return ""
