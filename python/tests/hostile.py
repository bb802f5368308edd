# SPDX-License-Identifier: Apache-2.0
"""Names that a table, a column or a value may have, made to harm the page or the terminal that shows them."""

from __future__ import annotations

_RUN = "console.error('ran')"

NAMES = {
    "script": f"</script><script>{_RUN}</script>",
    "style": f"</style><script>{_RUN}</script>",
    "svg": f'</svg></text><img src=x onerror="{_RUN}">',
    "title": f"</title><script>{_RUN}</script><!--",
    "attribute": f"\"'><b tabindex=0 autofocus onfocus={_RUN} x='\"",
    "entity": "&lt;b&gt; &amp;amp; &#60;script&#62; &quot;",
    "url": "url(#clip0) javascript:alert(1) https://example.invalid/x.png",
    "template": "$body ${title} $ {datum.files} \\u003cb\\u003e %s {0}",
    "lines": "a\nb\r\nc\td\u2028e\x85f",
    "control": "a\x00b\x01\x0b\x1b[31mc\x7f\ufffe\uffff",
    "direction": "\u202egnp.exe \u2066\u05d0\u05d1\u05d2",
    "emoji": "😀 👩‍👩‍👧‍👦 e\u0301",
    "surrogate": "a\ud800b",
    "backquote": "`a``b`",
    "blank": "   ",
    "long": "x" * 10_000,
    "words": "many words " * 1_000,
}

#: All short names in one.
ALL_NAMES = " ".join(name for name in NAMES.values() if len(name) < 1_000)
