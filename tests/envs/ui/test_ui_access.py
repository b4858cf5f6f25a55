"""Which addresses a page may open."""

from __future__ import annotations

import contextlib
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import MagicMock
from urllib.parse import urlsplit

import pytest

from sdg.envs.ui.access import Access, flags_for
from sdg.envs.ui.page import PageWorld
from sdg.envs.ui.presses import Press
from sdg.errors import UserError


def test_access_is_what_was_named() -> None:
    access = Access("file:///home/a/page.html", ("*.example.org", "/data"))
    opens = {
        "file:///home/a/page.html": True, "file:///home/a/other.html": False, "file:///data/x.html": True,
        "file:///home/a/../b/x.html": False, "http://www.example.org/x": True, "http://example.com/": False,
        "data:text/html,x": True, "file:///home/a/%00.html": False, "http://[::1": False,
    }  # fmt: skip
    assert {address: access.permits(address) for address in opens} == opens
    assert access.permits("file:///home/a/style.css", part=True)
    assert not access.permits("file:///home/secret.css", part=True)
    assert not access.permits("file:///home/a/%00.css", part=True)
    access = Access("http://a.org/", ("http://[::1]:8000",))
    assert access.permits("http://[::1]:8000/x")
    for host in ("[::2]:8000", "[::1]", "1:8000"):
        assert not access.permits(f"http://{host}/x")
    access = Access("https://a.org/x")
    for address in ("https://a.org/y", "wss://a.org/"):
        assert access.permits(address)
    for address in ("http://a.org/", "file:///etc/passwd"):
        assert not access.permits(address)


@pytest.mark.parametrize(
    ("start", "other", "address"),
    [
        ("http://Example.org/", "x", "http://example.org/"),
        ("https://example.org:443/", "x", "https://example.org/a"),
        ("https://bücher.example/", "x", "https://xn--bcher-kva.example/"),
        ("https://faß.example:8000/", "x", "https://xn--fa-hia.example:8000/"),
        ("http://a.org/", "HTTPS://Example.org:443", "https://example.org/"),
        ("http://a.org/", "example.org:8443", "https://example.org:8443/x"),
        ("http://a.org/", "*.example.org:443", "https://www.example.org/x"),
        ("http://a.org/", "*.Bücher.example", "http://www.xn--bcher-kva.example/"),
    ],
)
def test_origins_are_compared_as_browsers_write_them(start: str, other: str, address: str) -> None:
    access = Access(start, (other,))
    assert access.permits(address)
    assert not access.permits(address.replace("example", "example2"))
    host = urlsplit(address).hostname
    assert f"EXCLUDE {host}" in flags_for(access)[0].replace("*.", "www.")


def test_what_would_permit_nothing_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "docs").mkdir()
    for other, says in {
        "docs": r"write http://docs, or \./docs",
        ".": r"may be a host or a folder: .* or \./\. for",
        "..": r"may be a host or a folder: .* or \./\.\. for",
        "example.org/": "a host has no /",
        "https://example.org/path": "permit its origin, https://example.org",
    }.items():
        with pytest.raises(UserError, match=says):
            Access("https://a.org/", (other,))
    for other in ("./docs", "docs/"):
        assert Access("https://a.org/", (other,)).permits((tmp_path / "docs" / "a.html").as_uri())
    assert not Access("https://a.org/", ("example.org:8443",)).permits("https://example.org/")


def test_a_password_in_an_address_is_refused() -> None:
    for start, others in (("https://ann:secret@a.org/", ()), ("https://a.org/", ("https://ann@b.org",))):
        with pytest.raises(UserError, match="no user's name or password"):
            Access(start, others)
    for start, others in (("http://[::1", ()), ("https://a.org/", ("http://[::",))):
        with pytest.raises(UserError, match="can't be read"):
            Access(start, others)


def test_what_a_page_was_given_is_taken_back_whatever_fails() -> None:
    page = MagicMock()
    page.mouse.up.side_effect = RuntimeError("no button is held")
    world = PageWorld(page, "", access=Access("https://a.org/"))
    world._begin_watch = lambda: SimpleNamespace(limit=contextlib.nullcontext, fired=False)  # type: ignore[assignment,method-assign,return-value]
    with world:
        world._held_press = Press("button", "Send")
    given, taken = ({call.args for call in calls.call_args_list} for calls in (page.on, page.remove_listener))
    assert given == taken != set()
    assert page.unroute.call_args == page.route.call_args
