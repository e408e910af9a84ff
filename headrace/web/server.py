"""The dashboard's server: its paths, and what answers at each."""

from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterable
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

from anyio import CapacityLimiter, to_thread
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from headrace.core.errors import HeadraceError
from headrace.core.settings import Settings
from headrace.web import alerts, dead_letters, events, programs, tables, tail, topics
from headrace.web.answers import Answer, on_error, on_http_error
from headrace.web.asked import Asked
from headrace.web.files import STATIC, serve, serve_report
from headrace.web.metrics import KIND, metrics
from headrace.web.reports import load
from headrace.web.safety import Safety, secret
from headrace.web.site import Site
from headrace.web.streams import EventStream, Feed

Endpoint = Callable[[Request], Awaitable[Response]]
Work = Callable[[Site, Asked], Any]


def create(
    settings: Settings,
    *,
    token: str,
    hosts: Collection[str],
    reports: Iterable[str | Path] = (),
    static: Path = STATIC,
) -> Starlette:
    """Return the dashboard as an ASGI application; its `Site` is ``app.state.site``.

    Args:
        settings: Where the log and the programs are.
        token: What requests must know.
        hosts: Names, or names with a port, by which the server may be called: ``localhost``, ``127.0.0.1:8080``.
        reports: Folders of reports.
        static: The folder of the pages.
    """
    site = Site(settings, load(reports))

    @asynccontextmanager
    async def life(app: Starlette) -> AsyncIterator[None]:
        site.start()
        yield
        await to_thread.run_sync(site.stop)

    app = Starlette(
        routes=[*_api(site), *_pages(site, static)],
        middleware=[Middleware(Safety, token=token, hosts=hosts)],
        exception_handlers={HeadraceError: on_error, HTTPException: on_http_error},
        lifespan=life,
    )
    app.state.site = site
    return app


def _api(site: Site) -> list[Route]:
    reading: dict[str, Work] = {
        "/api/overview": programs.overview,
        "/api/programs": programs.programs,
        "/api/history/{query}": programs.history,
        "/api/topics": topics.topics,
        "/api/topics/{topic}": topics.topic,
        "/api/topics/{topic}/events": events.events,
        "/api/groups": topics.groups,
        "/api/groups/{group:path}": topics.group,
        "/api/tables": tables.tables,
        "/api/tables/{table}/rows": tables.rows,
        "/api/tables/{table}/row": tables.row,
        "/api/alerts": _alerts,
        "/api/dead-letters": dead_letters.ledgers,
        "/api/dead-letters/{topic}": dead_letters.letters,
        "/api/reports": _reports,
    }
    doing: dict[str, Work] = {
        "/api/queries/{query}/stop": programs.stop,
        "/api/queries/{query}/restart": programs.restart,
        "/api/alerts/ack": lambda site, asked: alerts.acknowledge(site.alerts, asked),
        "/api/alerts/resolve": lambda site, asked: alerts.resolve(site.alerts, asked),
        "/api/alerts/silence": lambda site, asked: alerts.silence(site.alerts, asked),
        "/api/alerts/unsilence": lambda site, asked: alerts.unsilence(site.alerts, asked),
        "/api/dead-letters/{topic}/replay": dead_letters.replay,
    }
    following: dict[str, Callable[[Site, Asked], Feed]] = {
        "/api/live": programs.live,
        "/api/topics/{topic}/tail": tail.tail,
        "/api/stream": tail.stream,
    }
    return [
        *(Route(path, _answering(site, work, site.threads), methods=["GET"]) for path, work in reading.items()),
        *(Route(path, _answering(site, work, site.threads), methods=["POST"]) for path, work in doing.items()),
        Route("/api/tables/{table}/query", _answering(site, tables.query, site.sql), methods=["POST"]),
        *(Route(path, _streaming(site, work), methods=["GET"]) for path, work in following.items()),
        Route("/metrics", partial(_metrics, site), methods=["GET"]),
    ]


def _pages(site: Site, static: Path) -> list[Route]:
    async def report(request: Request) -> Response:
        found = site.reports.get(request.path_params["name"])
        root = found.folder if found else static / "none"
        return await to_thread.run_sync(serve_report, root, request.path_params["path"], request)

    async def file(request: Request) -> Response:
        return await to_thread.run_sync(serve, static, request.path_params["path"], request)

    async def page(request: Request) -> Response:
        if secret(request.url.path):
            raise HTTPException(404, "there is no such thing in the API")
        return await to_thread.run_sync(serve, static, "index.html", request)

    return [
        Route("/reports/{name}/{path:path}", report, methods=["GET"]),
        Route("/static/{path:path}", file, methods=["GET"]),
        Route("/{page:path}", page, methods=["GET"]),
    ]


def _answering(site: Site, work: Work, threads: CapacityLimiter) -> Endpoint:
    async def endpoint(request: Request) -> Response:
        asked = await Asked.of(request)
        return Answer(await to_thread.run_sync(work, site, asked, limiter=threads))

    return endpoint


def _streaming(site: Site, work: Callable[[Site, Asked], Feed]) -> Endpoint:
    async def endpoint(request: Request) -> Response:
        asked = await Asked.of(request)
        if request.method == "HEAD":
            return Response(media_type=EventStream.media_type)
        site.streams.enter()
        try:
            feed = await to_thread.run_sync(work, site, asked, limiter=site.threads)
        except BaseException:
            site.streams.leave()
            raise
        return EventStream(feed, site.streams)

    return endpoint


async def _metrics(site: Site, request: Request) -> Response:
    return Response(metrics(site), headers={"Content-Type": KIND})


def _alerts(site: Site, asked: Asked) -> dict[str, Any]:
    if site.watch.found(5.0).brokers is None:
        return {"current": [], "history": [], "silences": []}
    return {
        "current": site.alerts.current(),
        "history": site.alerts.ask(lambda log: log.history()),
        "silences": site.alerts.ask(lambda log: log.silences()),
    }


def _reports(site: Site, asked: Asked) -> list[dict[str, str]]:
    return [{"name": report.name, "title": report.title} for report in site.reports.values()]
