"""Objects by name: shipped ones by their keys, a user's own by `module:attribute`.

    GUARDS = Registry[object]("guard", {"rules": "sdg.gate.rules:RulesGuard", "open": "sdg.gate.executor:OpenGate"})
    GUARDS.get("rules")              # imported now, not when the table was made
    GUARDS.get("my_guards:Careful")  # from a file my_guards.py in the current folder or anywhere on PYTHONPATH

A name is text, so it stands in a config file and travels to worker processes, which import the object themselves.
"""

import importlib
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from types import MappingProxyType
from typing import Generic, TypeVar, cast

from sdg.errors import UserError

T = TypeVar("T")


class RegistryError(UserError):
    """A name that leads to nothing of use; the message is one line that says what to write instead."""


_is_data: ContextVar[bool] = ContextVar("is_data", default=False)


@contextmanager
def names_of_data() -> Iterator[None]:
    """Within it, names come out of a file that may be a stranger's: nothing is imported because such a file says so.

    Registries raise RegistryError, which says what to do, for names that neither are keys nor were named before.
    """
    token = _is_data.set(True)
    try:
        yield
    finally:
        _is_data.reset(token)


class Registry(Generic[T]):
    """A table of names, each the `module:attribute` of an object; `what` says in messages what its objects are, and
    `extras` which extra of ours installs a package that is missing."""

    def __init__(
        self, what: str, entries: Mapping[str, str], *, extras: Mapping[str, str] = MappingProxyType({})
    ) -> None:
        self.what, self.entries, self.extras = what, dict(entries), extras
        self.named = set[str]()
        """Names beside the keys that this process was asked for: by a config, a command or a program, which the user
        answers for."""

    def __iter__(self) -> Iterator[str]:
        """The keys of shipped objects, in their order."""
        return iter(self.entries)

    def allow(self, name: str) -> None:
        """Let files name it, because the user does. Raises RegistryError in `names_of_data` for what isn't known."""
        if _is_data.get() and name not in self.entries and name not in self.named:
            raise RegistryError(
                f"a file names the {self.what} {name!r:.80}, which isn't one of {', '.join(self)}: if you trust that "
                "module, name it yourself first, in a config or a program"
            )
        self.named.add(name)

    def get(self, name: str, *, needs: Sequence[str] = ()) -> T:
        """The object behind a key or `module:attribute`, which must have the attributes `needs`.

        The caller vouches for its type. Raises RegistryError for what isn't there, can't be imported or lacks one, and
        in `names_of_data` for what isn't known.
        """
        if _is_data.get():
            self.allow(name)
        module_name, colon, attribute = self.entries.get(name, name).partition(":")
        if not (colon and attribute.isidentifier() and all(map(str.isidentifier, module_name.split(".")))):
            raise RegistryError(
                f"there is no {self.what} {name!r}; there are {', '.join(self)}, or one of your own as module:attribute"
            )
        module = self._import(module_name, name)
        try:
            value = getattr(module, attribute)
        except AttributeError:
            public = [exported for exported in vars(module) if not exported.startswith("_")]
            hint = f"; it has {', '.join(public[:12])}" if public else ""
            raise RegistryError(f"the {self.what} {name!r}: {module_name} has no {attribute!r}{hint}") from None
        if absent := [need for need in needs if not hasattr(value, need)]:
            raise RegistryError(f"the {self.what} {name!r} ({type(value).__name__}) lacks {' and '.join(absent)}")
        self.named.add(name)
        return cast(T, value)

    def _import(self, module_name: str, name: str) -> object:
        # A console script has its own folder on the path, not the one that the user stands in. At the end of the path
        # a file there can't take the place of an installed module.
        if str(Path.cwd()) not in sys.path and "" not in sys.path:
            sys.path.append(str(Path.cwd()))
        try:
            return importlib.import_module(module_name)
        except (Exception, SystemExit) as error:
            if isinstance(error, ModuleNotFoundError) and f"{module_name}.".startswith(f"{error.name}."):
                reason = f"there is no module {error.name!r} in {Path.cwd()} or on PYTHONPATH"
            elif isinstance(error, ModuleNotFoundError) and error.name and "." not in error.name:
                package = f"'sdg[{self.extras[error.name]}]'" if error.name in self.extras else "it"
                reason = f"it needs the package {error.name!r}, which isn't installed: pip install {package}"
            else:
                words = " ".join(str(error).split())[:200]
                reason = f"importing {module_name} raises {type(error).__name__}: {words}"
            raise RegistryError(f"the {self.what} {name!r}: {reason}") from error
