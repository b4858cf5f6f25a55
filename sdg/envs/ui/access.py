"""Which addresses a user's page may open, and the flags that hold a browser to them."""

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
    (`*.example.org` for those below it, `*` for all), one with a port, or a file or folder. A file opens parts of
    itself in its folder.

    Raises UserError for an address that can't be read or may name something else than was meant, and for one with a
    user's name or password, which a browser leaves out of what it opens.
    """

    start: str
    others: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        try:
            has_user = any("@" in urlsplit(address).netloc for address in (self.start, *self.others))
        except ValueError as error:
            raise UserError(f"an address can't be read: {error}") from None
        if has_user:
            raise UserError("an address may have no user's name or password before its host: leave out what ends in @")
        for other in self.others:
            _check_name(other)

    def permits(self, address: str, *, part: bool = False) -> bool:
        """Whether an address may be opened; `part`: as a stylesheet, script, picture or font of the page. One that
        can't be read, or names what can't be a file, may not."""
        try:
            at, own = urlsplit(address), urlsplit(self.start)
            if at.scheme in ("data", "blob", "about"):
                return True
            if at.scheme == "file":
                file, home = _file(address), _file(self.start) if own.scheme == "file" else None
                is_own = home is not None and (file == home or (part and file.is_relative_to(home.parent)))
                paths = [other for other in self.others if "/" in other]
                folders = (_file(path) if path.startswith("file:") else Path(path).resolve() for path in paths)
                return is_own or any(file.is_relative_to(folder) for folder in folders)
            hosts = [
                origin_of(other) + urlsplit(other).path.rstrip("/") if "//" in other else _ascii(other)
                for other in self.others
            ]
            is_named = any(
                fnmatch(name or "", host.replace("[", "[[]"))
                for host in hosts
                for name in (at.hostname, origin_of(address), _place(origin_of(address)))
            )
            return is_named or (own.scheme != "file" and origin_of(address) == origin_of(self.start))
        except (ValueError, OSError, RuntimeError):
            return False


def _check_name(other: str) -> None:
    """Raises UserError for what permits nothing, or not what it seems to."""
    is_address, is_path = "//" in other, "/" in other
    if is_address and not other.startswith("file:") and urlsplit(other).path.strip("/"):
        raise UserError(f"{other!r:.200} has a path: permit its origin, {origin_of(other)}")
    if is_path and not is_address and other[0] not in "/." and not Path(other).exists():
        raise UserError(
            f"{other!r:.200} is no file or folder: a host has no /, a folder that isn't there begins with ./"
        )
    if not is_path and ("." not in other or other in (".", "..")) and Path(other).is_dir():
        raise UserError(f"{other!r:.200} may be a host or a folder: write http://{other}, or ./{other} for the folder")


def _file(address: str) -> Path:
    return Path(unquote(urlsplit(address).path)).resolve()


def origin_of(address: str) -> str:
    """Scheme, host and port of an address, as browsers write them: small letters, no default port, IDN as `xn--`."""
    at = urlsplit(address)
    scheme = at.scheme.replace("ws", "http")
    return f"{scheme}://{_ascii(at.netloc).removesuffix({'http': ':80', 'https': ':443'}.get(scheme, ''))}"


def _ascii(address: str) -> str:
    """A host, alone or in an address, with each name in it that has other letters in Punycode."""
    text = normalize("NFKC", address).lower()
    return re.sub(r"[^.:/]*[^\x00-\x7f][^.:/]*", lambda name: f"xn--{name[0].encode('punycode').decode()}", text)


def flags_for(access: Access) -> Sequence[str]:
    """Flags of a browser that reaches no other origin: redirects and workers' sockets don't pass `permits`, so all but
    what is permitted goes to a proxy that doesn't exist."""
    if "*" in access.others:
        return NO_UDP
    addresses = (access.start, *access.others)
    permitted = [_ascii(address) for address in addresses if "/" not in address or "//" in address]
    hosts = {urlsplit(origin if "//" in origin else f"//{origin}").hostname or origin for origin in permitted}
    exceptions = "".join(f", EXCLUDE {host}" for host in sorted(hosts) if host)
    places = ";".join(sorted({_place(origin) for origin in permitted} - {""}))
    return (
        f"--host-resolver-rules=MAP * ~NOTFOUND{exceptions}",
        "--proxy-server=http://none.invalid:9",
        f"--proxy-bypass-list=<-loopback>;{places}",
        *NO_UDP,
    )


def _place(origin: str) -> str:
    """An origin as host:port, and a host, which has any port, as it stands; "" for a file."""
    at = urlsplit(origin)
    if "//" not in origin or not at.hostname:
        return "" if "//" in origin else origin
    host = f"[{at.hostname}]" if ":" in at.hostname else at.hostname
    return f"{host}:{at.port or (80 if at.scheme in ('http', 'ws') else 443)}"
