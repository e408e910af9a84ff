"""Programs and their queries."""

from typing import Any

from headrace.core.errors import UnknownQueryError
from headrace.runtime import control
from headrace.web.asked import Asked
from headrace.web.sampler import LiveFeed, shown
from headrace.web.site import Site
from headrace.web.streams import Feed


def overview(site: Site, asked: Asked) -> dict[str, Any]:
    """Tell how everything is, as far as it was seen: this never waits for the log."""
    return site.sampler.overview()


def programs(site: Site, asked: Asked) -> list[dict[str, Any]]:
    """Tell what runs, with the stages and what they read and write."""
    found = []
    for program in control.programs(site.settings):
        for stage in program["stages"]:
            stage["rate"] = site.sampler.history.rate(stage["name"])
        found.append({**shown(program), "topology": control.topology(program)})
    return found


def live(site: Site, asked: Asked) -> Feed:
    """Tell both each second, without the topology."""
    return LiveFeed(site.sampler)


def history(site: Site, asked: Asked) -> dict[str, list[float]]:
    """Tell what a query did in the last quarter of an hour."""
    name = asked.path["query"]
    found = site.sampler.history.of(name)
    if found is None:
        control.find(site.settings, name)  # says which there are
        raise UnknownQueryError(f"nothing is known of the query {name!r} yet; wait a second")
    return {column: values for column, values in found.items() if column != "rows"}


def stop(site: Site, asked: Asked) -> dict[str, str]:
    """Stop a query after the batch under way."""
    return {"stopped": _ordered(site, asked, "stop")}


def restart(site: Site, asked: Asked) -> dict[str, str]:
    """Stop a query after the batch under way, and start it where it was."""
    return {"restarted": _ordered(site, asked, "restart")}


def _ordered(site: Site, asked: Asked, verb: str) -> str:
    name: str = control.find(site.settings, asked.path["query"])["name"]
    control.order(site.settings, name, verb)
    return name
