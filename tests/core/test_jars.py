import hashlib
import os
import re
import socket
import subprocess
import sys

import pytest

from headrace.core.errors import ConfigError, JarChecksumError, JarUnavailableError
from headrace.core.jars import Jar, cache_folder, locked, provide

ONE = Jar("org.example", "one", "1.0", hashlib.sha256(b"one").hexdigest())
TWO = Jar("org.example", "two", "2.0", hashlib.sha256(b"two").hexdigest())
NOWHERE = "http://127.0.0.1:9"


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """A cache that nobody else has, on a machine without a network."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    for name, value in proxied(NOWHERE).items():
        monkeypatch.setenv(name, value)
    return tmp_path / "headrace" / "jars"


def proxied(address):
    names = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")
    return {name: address for upper in names for name in (upper, upper.lower())} | {"NO_PROXY": "", "no_proxy": ""}


def put(folder, jar, data):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / jar.filename).write_bytes(data)
    return folder / jar.filename


def test_the_lock_file_names_each_jar_once_with_its_sum():
    jars = locked("broker")
    assert "kafka_2.13-4.3.1.jar" in [jar.filename for jar in jars]
    assert len({jar.filename for jar in jars}) == len(jars)
    assert all(re.fullmatch("[0-9a-f]{64}", jar.sha256) for jar in jars)


def test_jars_in_the_cache_are_used_without_a_network(cache):
    paths = [put(cache, ONE, b"one"), put(cache, TWO, b"two")]
    assert provide([ONE, TWO]) == paths


def test_a_corrupted_jar_in_the_cache_is_refused_with_both_sums(cache):
    put(cache, ONE, b"one")
    path = put(cache, TWO, b"tw")
    found = hashlib.sha256(b"tw").hexdigest()
    with pytest.raises(
        JarChecksumError, match=f"{path} is not .* SHA-256 is {found}, expected {TWO.sha256}. Delete it"
    ):
        provide([ONE, TWO])


def test_a_jar_that_cannot_be_read_is_told(cache):
    (cache / ONE.filename).mkdir(parents=True)
    with pytest.raises(JarUnavailableError, match=r"one-1\.0\.jar cannot be read: Is a directory; .*delete it"):
        provide([ONE])


def test_without_a_network_it_is_told_which_jar_is_missing_and_what_to_do(cache):
    put(cache, ONE, b"one")
    with pytest.raises(
        JarUnavailableError, match=r"two-2\.0\.jar could not be fetched: .*Check the network .*HEADRACE_JARS"
    ):
        provide([ONE, TWO])
    assert os.listdir(cache) == [ONE.filename]


def test_a_cache_that_cannot_be_made_is_told(tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    with pytest.raises(
        JarUnavailableError, match="file/headrace/jars cannot be written: Not a directory; set XDG_CACH"
    ):
        provide([ONE])


def test_a_cache_of_somebody_unknown_is_told(monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", "~nobody-of-that-name")
    with pytest.raises(ConfigError, match="the jar cache ~nobody-of-that-name has no place: set XDG_CACHE_HOME"):
        cache_folder()


def test_the_cache_is_in_the_home_folder_unless_told(monkeypatch):
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setenv("HOME", "/somebody")
    assert str(cache_folder()) == "/somebody/.cache/headrace/jars"


def test_a_download_cut_off_leaves_nothing_that_is_taken_for_a_jar(cache):
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"http://127.0.0.1:{silent.getsockname()[1]}"
        fetching = subprocess.Popen(
            [sys.executable, "-c", "from headrace.core.jars import locked, provide; provide(locked('broker'))"],
            env={**os.environ, **proxied(address)},
            stderr=subprocess.DEVNULL,
        )
        silent.settimeout(30)
        with silent.accept()[0]:
            fetching.kill()
            fetching.wait()
    assert os.listdir(cache)  # it was cut off
    assert not list(cache.glob("*.jar"))
    with pytest.raises(JarUnavailableError, match="could not be fetched"):
        provide(locked("broker"))


def test_half_a_jar_of_a_download_cut_off_is_not_found_in_a_copied_cache(tmp_path):
    put(tmp_path / ".fetching-x" / "org" / "one", ONE, b"on")
    with pytest.raises(JarUnavailableError, match=r"1 of 1 jars are not in it: one-1\.0\.jar"):
        provide([ONE], tmp_path)
    put(tmp_path / "sub", ONE, b"one")
    assert provide([ONE], tmp_path) == [tmp_path / "sub" / ONE.filename]


def test_the_real_jars_may_lie_in_a_folder_of_the_users_choice(cluster, tmp_path):
    (tmp_path / "copied").symlink_to(cache_folder())
    jars = locked("broker")
    assert [path.name for path in provide(jars, tmp_path / "copied")] == [jar.filename for jar in jars]


def test_a_folder_that_is_none_is_told(tmp_path):
    with pytest.raises(ConfigError, match=f"HEADRACE_JARS is {tmp_path}/no, which is not a folder; correct it"):
        provide([ONE], tmp_path / "no")


def test_a_folder_that_lacks_jars_is_told_with_their_names(tmp_path):
    put(tmp_path, ONE, b"one")
    with pytest.raises(
        JarUnavailableError,
        match=rf"HEADRACE_JARS is {tmp_path}, but 1 of 2 jars are not in it: two-2\.0\.jar\. Copy them there",
    ):
        provide([ONE, TWO], tmp_path)


def test_a_folder_with_a_jar_of_other_contents_is_refused(tmp_path):
    put(tmp_path, ONE, b"another")
    with pytest.raises(JarChecksumError, match=rf"one-1\.0\.jar is not the file that was locked.*{ONE.sha256}"):
        provide([ONE], tmp_path)
