"""Files of pages and reports, and nothing beside them."""

import hashlib
from pathlib import Path

from starlette.requests import Request
from starlette.responses import Response

from headrace.web.answers import refusal

_LARGEST = 16_000_000  # bytes of a file, which is read as a whole
_DATA = {".html", ".json", ".txt", ".md"}  # what pages of a report do not load, but folders may have
STATIC = Path(__file__).parent / "static"
_KINDS = {  # said here, since what a machine believes of endings is its own affair
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".json": "application/json",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".ico": "image/x-icon",
    ".woff2": "font/woff2",
    ".txt": "text/plain; charset=utf-8",
    ".md": "text/plain; charset=utf-8",
}


def serve(root: Path, path: str, request: Request) -> Response:
    """Return a file below ``root``; a browser that has it already is told so."""
    return _answer(find(root, path), path, request)


def serve_report(root: Path, path: str, request: Request) -> Response:
    """Return a file of a report, if it is one that its page loads: anybody may ask."""
    file = find(root, path)
    data = file is not None and file.suffix.lower() in _DATA and file != root.resolve() / "report.json"
    return _answer(None if data else file, path, request)


def _answer(file: Path | None, path: str, request: Request) -> Response:
    if file is None:
        return refusal(404, f"there is no file {path[:100]!r} here")
    if file.stat().st_size > _LARGEST:
        return refusal(413, f"the file {path[:100]!r} is larger than {_LARGEST:,} bytes")
    data = file.read_bytes()
    tag = f'"{hashlib.sha256(data).hexdigest()[:32]}"'
    headers = {"ETag": tag, "Cache-Control": "no-cache"}
    if tag in request.headers.get("if-none-match", ""):
        return Response(status_code=304, headers=headers)
    return Response(data, media_type=None, headers={**headers, "Content-Type": _KINDS[file.suffix.lower()]})


def find(root: Path, path: str) -> Path | None:
    """Return the file at ``path``, if it truly lies below ``root``, is not hidden, and is of a kind that pages have."""
    if "\0" in path or "\\" in path or any(part in ("", ".", "..") or part[0] == "." for part in path.split("/")):
        return None
    try:
        file = (root / path).resolve(strict=True)
        inside = file.is_relative_to(root.resolve())
    except (OSError, RuntimeError, ValueError):
        return None
    return file if inside and file.is_file() and file.suffix.lower() in _KINDS else None
