"""The files of the page."""

from hashlib import sha256
from pathlib import Path
from typing import Final

from starlette.requests import Request
from starlette.responses import Response as HttpResponse

from ..protocol.problems import refuse
from ..version import VERSION

_STATIC: Final = Path(__file__).parent / "static"
_MEDIA_TYPES: Final = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
_FILES: Final = {
    file.name: file.read_bytes().replace(b"{{version}}", VERSION.encode())
    for file in _STATIC.iterdir()
    if file.suffix in _MEDIA_TYPES
}
"""Read once: a reload must not fail because an upgrade is replacing them."""
GUARDED: Final = {
    # nothing from other sites, nothing inline, and in no frame
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "cache-control": "no-cache",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
}


def static_file(request: Request, name: str) -> HttpResponse:
    """The file with exactly this name, or that it has not changed. Raises `ProblemError`."""
    content = _FILES.get(name)
    if content is None:
        raise refuse("not_found", "The inspector has no such file.")
    tag = f'"{sha256(content).hexdigest()[:20]}"'
    headers = {**GUARDED, "etag": tag}
    if request.headers.get("if-none-match") == tag:
        return HttpResponse(status_code=304, headers=headers)
    return HttpResponse(content, media_type=_MEDIA_TYPES[Path(name).suffix], headers=headers)
