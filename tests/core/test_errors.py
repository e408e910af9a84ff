import re

import pytest

from headrace.core import errors
from headrace.core.errors import HeadraceError


def drawn() -> dict[str, tuple[str, ...]]:
    bases: dict[str, tuple[str, ...]] = {}
    path: list[str] = []
    for line in (errors.__doc__ or "").splitlines():
        if found := re.match(r"(    [│├└─ ]*)(\w+Error)(?: \((\w+)\))?", line):
            depth = len(found[1]) // 4 - 1
            path[depth:] = [found[2]]
            parent = path[depth - 1] if depth else "Exception"
            bases[found[2]] = (parent, found[3]) if found[3] else (parent,)
    return bases


DEFINED = {name: kind for name, kind in vars(errors).items() if isinstance(kind, type)}


def test_the_tree_drawn_is_the_tree_defined():
    assert drawn() == {name: tuple(base.__name__ for base in kind.__bases__) for name, kind in DEFINED.items()}


@pytest.mark.parametrize("kind", DEFINED.values())
def test_every_error_is_caught_by_the_root(kind):
    with pytest.raises(HeadraceError, match="why"):
        raise kind("why")
    assert kind.__doc__


@pytest.mark.parametrize(
    ("name", "builtin"),
    [
        ("ConfigError", ValueError),
        ("BrokerUnavailableError", ConnectionError),
        ("UnknownTopicError", LookupError),
        ("EncodeError", TypeError),
        ("BufferFullError", BufferError),
        ("RequestTimeoutError", TimeoutError),
    ],
)
def test_errors_are_also_the_builtin_that_fits(name, builtin):
    assert issubclass(DEFINED[name], builtin)
