"""What pages of presses are made of."""

from __future__ import annotations

AT = "style='position:absolute;left:20px;top:20px;width:200px;height:60px'"
FOCUS, CLICK = "<script>i.focus()</script>", ("CLICK_COORDS", "60,40")
