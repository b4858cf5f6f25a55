"""Dumps of phone screens, as uiautomator writes them."""

from __future__ import annotations


def node(kind: str, bounds: str, *inner: str, text: str = "", desc: str = "", res: str = "", flags: str = "") -> str:
    """A node of a dump; `flags` are the names of those that are true."""
    names = [
        "checkable",
        "checked",
        "clickable",
        "focusable",
        "focused",
        "scrollable",
        "long-clickable",
        "password",
        "selected",
    ]
    has = " ".join(f'{name}="{str(name in flags.split()).lower()}"' for name in names)
    return (
        f'<node index="0" text="{text}" resource-id="{res and "a.b:id/" + res}" class="android.widget.{kind}" '
        f'package="a.b" content-desc="{desc}" enabled="true" {has} bounds="{bounds}">{"".join(inner)}</node>'
    )


def dump(*nodes: str) -> str:
    """A dump of a screen with these nodes."""
    return f'<?xml version="1.0"?><hierarchy rotation="0">{"".join(nodes)}</hierarchy>'


ROW = node("LinearLayout", "[0,100][400,180]", node("TextView", "[10,100][200,140]", text="7:30"),
           node("TextView", "[10,140][200,180]", text="Gym &amp; run"),
           node("Switch", "[300,110][390,170]", res="on", flags="checkable checked clickable"),
           flags="clickable")  # fmt: skip
"""An alarm's row: its words can be pressed, and a switch beside them."""
