"""What a page of a user's own may open, and the flags that hold a browser to it."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path
from unicodedata import normalize
from urllib.parse import unquote, urlsplit

from sdg.errors import UserError

NO_UDP = tuple(f"--{name}webrtc-ip-handling-policy=disable_non_proxied_udp" for name in ("", "force-"))
"""The flag's name is the first in newer Chromiums, the second in older ones."""
NO_PEERS = "for (const name of ['RTCPeerConnection', 'webkitRTCPeerConnection']) delete globalThis[name];"
"""Run in every page before its own scripts: connections between browsers pass neither proxy nor routes."""


@dataclass(frozen=True, slots=True)
class Access:
    """What a page may open: its own address `start`, all of the same origin, and what `others` name: an origin, a host
    (`*.example.org` for those below it, `*` for all) or a file or folder. A file opens parts of itself in its folder.

    Raises UserError for an address that can't be read, and for one with a user's name or password, which a browser
    leaves out of what it opens.
    """

    start: str
    others: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        try:
            named = any("@" in urlsplit(each).netloc for each in (self.start, *self.others))
        except ValueError as error:
            raise UserError(f"an address can't be read: {error}") from None
        if named:
            raise UserError("an address may have no user's name or password before its host: leave out what ends in @")

    def opens(self, address: str, *, part: bool = False) -> bool:
        """Whether an address may be opened; `part`: as a stylesheet, script, picture or font of the page. One that
        can't be read, or names what can't be a file, may not."""
        try:
            at, own = urlsplit(address), urlsplit(self.start)
            if at.scheme in ("data", "blob", "about"):
                return True
            if at.scheme == "file":
                file, home = _file(address), _file(self.start) if own.scheme == "file" else None
                inside = home is not None and (file == home or (part and file.is_relative_to(home.parent)))
                named_places = [each for each in self.others if "/" in each]
                places = (_file(each) if each.startswith("file:") else Path(each).resolve() for each in named_places)
                return inside or any(file.is_relative_to(place) for place in places)
            named_hosts = [
                origin_of(each) + urlsplit(each).path.rstrip("/") if "//" in each else _ascii(each)
                for each in self.others
            ]
            named = any(
                fnmatch(name or "", each.replace("[", "[[]"))
                for each in named_hosts
                for name in (at.hostname, origin_of(address))
            )
            return named or (own.scheme != "file" and origin_of(address) == origin_of(self.start))
        except (ValueError, OSError, RuntimeError):
            return False


def _file(address: str) -> Path:
    return Path(unquote(urlsplit(address).path)).resolve()


def origin_of(address: str) -> str:
    """Scheme, host and port of an address, as browsers write them: small letters, no default port, IDN as `xn--`."""
    at = urlsplit(address)
    scheme = at.scheme.replace("ws", "http")
    return f"{scheme}://{_ascii(at.netloc).removesuffix({'http': ':80', 'https': ':443'}.get(scheme, ''))}"


def _ascii(named: str) -> str:
    """A host, alone or in an address, with each name in it that has other letters in Punycode."""
    found = normalize("NFKC", named).lower()
    return re.sub(r"[^.:/]*[^\x00-\x7f][^.:/]*", lambda each: f"xn--{each[0].encode('punycode').decode()}", found)


def flags_for(access: Access) -> Sequence[str]:
    """Flags of a browser that reaches no other origin: redirects and workers' sockets don't pass `opens`, so all but
    what is permitted goes to a proxy that doesn't exist."""
    if "*" in access.others:
        return NO_UDP
    named = [_ascii(each) for each in (access.start, *access.others) if "/" not in each or "//" in each]
    hosts = {urlsplit(each).hostname or each for each in named}
    kept = "".join(f", EXCLUDE {host}" for host in sorted(hosts) if host)
    places = ";".join(sorted({_place(each) for each in named} - {""}))
    return (
        f"--host-resolver-rules=MAP * ~NOTFOUND{kept}",
        "--proxy-server=http://none.invalid:9",
        f"--proxy-bypass-list=<-loopback>;{places}",
        *NO_UDP,
    )


def _place(named: str) -> str:
    """An origin as host:port, and a host, which has any port, as it stands; "" for a file."""
    at = urlsplit(named)
    if "//" not in named or not at.hostname:
        return "" if "//" in named else named
    host = f"[{at.hostname}]" if ":" in at.hostname else at.hostname
    return f"{host}:{at.port or (80 if at.scheme in ('http', 'ws') else 443)}"
