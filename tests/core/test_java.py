import os
from pathlib import Path

import pytest

from headrace.core.errors import JavaNotFoundError, JavaTooOldError
from headrace.core.java import find_java

REMEDY = "Install Java 17 or 21, .* or set JAVA_HOME"


@pytest.fixture
def java_home(tmp_path):
    """Make a folder whose bin/java is a script."""

    def make(script: str, first: str = "#!/bin/sh") -> Path:
        java = tmp_path / "java home" / "bin" / "java"
        java.parent.mkdir(parents=True)
        java.write_text(f"{first}\n{script}\n")
        java.chmod(0o755)
        return java.parents[1]

    return make


def telling(version: str) -> str:
    return f"""echo 'openjdk version "{version}" 2024-01-16' >&2"""


def test_the_java_of_this_machine_is_found():
    found = find_java()
    assert found.version >= 17
    assert found.path.exists()


@pytest.mark.parametrize(
    ("told", "version"), [("17.0.9", 17), ("21", 21), ("21-ea", 21), ("25.0.1+8-LTS", 25), ("17.0.9-internal", 17)]
)
def test_the_version_is_the_major_one(java_home, told, version):
    home = java_home(telling(told))
    found = find_java({"JAVA_HOME": str(home), "PATH": os.environ["PATH"]})
    assert (found.version, found.path) == (version, home / "bin" / "java")


def test_what_java_picks_up_before_its_version_is_no_matter(java_home):
    home = java_home("echo 'Picked up JAVA_TOOL_OPTIONS: -Dname=\"1\"' >&2\n" + telling("21.0.2"))
    assert find_java({"JAVA_HOME": str(home)}).version == 21


def test_without_java_home_the_path_counts(java_home):
    home = java_home(telling("21.0.2"))
    assert find_java({"PATH": f"/nowhere:{home / 'bin'}", "JAVA_HOME": ""}).path == home / "bin" / "java"


@pytest.mark.parametrize(("told", "version"), [("11.0.2", 11), ("1.8.0_392", 8), ("16", 16)])
def test_a_java_too_old_is_refused(java_home, told, version):
    home = java_home(telling(told))
    with pytest.raises(JavaTooOldError, match=f"Java {version} at {home}/bin/java is too old; .* {REMEDY}"):
        find_java({"JAVA_HOME": str(home)})


def test_no_java_at_all(tmp_path):
    with pytest.raises(JavaNotFoundError, match=rf"there is no java on the PATH\. {REMEDY}"):
        find_java({"PATH": str(tmp_path)})


def test_a_java_home_without_java_is_named_even_if_the_path_has_one(tmp_path):
    with pytest.raises(JavaNotFoundError, match=f"JAVA_HOME is {tmp_path}, but there is no bin/java in it. {REMEDY}"):
        find_java({"JAVA_HOME": str(tmp_path), "PATH": os.environ["PATH"]})


@pytest.mark.parametrize(
    ("script", "told"),
    [
        ("echo 'Error: could not create the Java Virtual Machine' >&2; exit 1", "could not create the Java Virtual"),
        (r"printf 'Fehler: kein Schl\374ssel' >&2", "kein Schl"),
        ("exit 0", "did not tell a version but ''"),
        ("kill -9 $$", "did not tell a version"),
    ],
)
def test_a_java_that_fails_is_told_with_its_own_words(java_home, script, told):
    home = java_home(script)
    with pytest.raises(JavaNotFoundError, match=f"{told}.*{REMEDY}"):
        find_java({"JAVA_HOME": str(home)})


def test_a_java_that_does_not_run(java_home):
    home = java_home("", first="#!/no/such/interpreter")
    with pytest.raises(JavaNotFoundError, match=f"Java at {home}/bin/java does not run: .*{REMEDY}"):
        find_java({"JAVA_HOME": str(home)})
