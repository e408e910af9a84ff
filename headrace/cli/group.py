"""headrace group …: consumer groups and their lag."""

from typing import Annotated, Any

import typer

from headrace.cli.output import FormatOption, YesOption, confirm, print_json, print_object, print_rows, say, wants_json
from headrace.cli.topic_tail import parse_place
from headrace.log.groups import GroupInfo, Groups

app = typer.Typer(no_args_is_help=True, help="See how far consumer groups are, and move them.")
Name = Annotated[str, typer.Argument(metavar="NAME", help="The group.")]


@app.command("list")
def list_groups(format: FormatOption = None) -> None:
    """List the consumer groups with their lag."""
    with Groups(start=False) as groups:
        rows = [_summary(group) for group in groups.list()]
    print_rows(rows, ("name", "state", "members", "lag"), format, "No groups: nobody has consumed with one yet.")


@app.command()
def describe(name: Name, format: FormatOption = None) -> None:
    """Show a group's members, offsets and lag, partition by partition."""
    with Groups(start=False) as groups:
        group = groups.describe(name)
    rows = [offset.row() for offset in group.offsets]
    if wants_json(format):
        print_json(_summary(group) | {"offsets": rows})
        return
    print_object(_summary(group), format)
    say("")
    columns = ("topic", "partition", "offset", "end", "lag", "member")
    print_rows(rows, columns, format, "It has committed nothing yet.")


@app.command()
def seek(
    name: Name,
    topic: Annotated[str, typer.Option("--topic", help="In which topic.")],
    to: Annotated[str, typer.Option("--to", help="'start', 'end', an offset, a time, or a span like '5 minutes'.")],
    yes: YesOption = False,
    format: FormatOption = None,
) -> None:
    """Put a group without members to another place, to read again or to skip."""
    place = parse_place(to, "--to")
    confirm(f"Move {name} to {to} in {topic}?", yes)
    with Groups(start=False) as groups:
        groups.seek(name, topic, place)
    if wants_json(format):
        print_json({"moved": name, "topic": topic, "to": to})
    else:
        say(f"Moved {name} to {to} in {topic}.")


@app.command()
def delete(name: Name, yes: YesOption = False, format: FormatOption = None) -> None:
    """Delete a group without members, and with it its position."""
    confirm(f"Delete the group {name} and its position?", yes)
    with Groups(start=False) as groups:
        groups.delete(name)
    if wants_json(format):
        print_json({"deleted": name})
    else:
        say(f"Deleted {name}.")


def _summary(group: GroupInfo) -> dict[str, Any]:
    return {"name": group.name, "state": group.state, "members": len(group.members), "lag": group.lag}
