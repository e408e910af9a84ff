"""The managed broker's life: started, found, moved, refused, stopped."""

import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import psutil
import pytest
from confluent_kafka.admin import ConfigResource, ResourceType

from headrace.core.errors import BrokerStartError, ConfigError, GroupError, JavaNotFoundError
from headrace.core.settings import Settings
from headrace.log import Consumer, Groups, Producer, Topics
from headrace.log.broker import process
from headrace.log.broker.cluster import Cluster
from headrace.log.client import admin_client

UP = "from headrace.core.settings import Settings; from headrace.log.broker.cluster import Cluster; "
UP += "print(Cluster(Settings.load()).up())"


def write(address, topic, values):
    with Topics(address) as topics:
        topics.create(topic, partitions=1, exist_ok=True)
    with Producer(address) as producer:
        for value in values:
            producer.send(topic, value)


def read(address, topic):
    with Consumer(topic, follow=False, brokers=address) as consumer:
        return [event.value for event in consumer]


def pids(cluster):
    """Every process that runs a broker of this home."""
    home = str(cluster.home)
    return [p.pid for p in psutil.process_iter(["cmdline"]) if any(home in word for word in p.info["cmdline"] or [])]


@pytest.fixture(scope="module")
def running(tmp_path_factory):
    """A managed cluster that runs, for tests that leave it so."""
    cluster = Cluster(Settings(home=tmp_path_factory.mktemp("running") / "home"))
    cluster.up()
    yield cluster
    cluster.erase()


def test_up_twice_is_one_broker_and_data_and_log_survive_down(own):
    address = own.up()
    write(address, "orders", [1, 2, 3])
    assert own.up() == address
    assert len(pids(own)) == 1
    [node] = own.nodes()
    assert own.down() == [1]
    assert pids(own) == []
    assert own.running() is None
    assert own.down() == []
    assert own.up() == address  # the port is remembered
    assert read(address, "orders") == [1, 2, 3]
    assert node.log.read_text().count("Kafka version: 4.3.1") == 2


def test_groups_can_be_asked_for_on_a_broker_that_never_had_any(running):
    with Groups(running.up()) as groups:
        with pytest.raises(GroupError, match="there is no"):
            groups.describe("audit")
        assert groups.list() == ()


def test_programs_that_start_at_once_get_one_broker(own):
    env = {**os.environ, "HEADRACE_HOME": str(own.home)}
    programs = [subprocess.Popen([sys.executable, "-c", UP], env=env, stdout=subprocess.PIPE) for _ in range(4)]
    addresses = {program.communicate(timeout=90)[0].decode().strip() for program in programs}
    assert addresses == {own.running()}
    assert len(pids(own)) == 1


def test_the_broker_outlives_its_program_and_ctrl_c(own):
    env = {**os.environ, "HEADRACE_HOME": str(own.home)}
    endless = UP.replace("print(", "print(").replace(".up())", ".up(), flush=True); import time; time.sleep(600)")
    command = [sys.executable, "-c", endless]
    with subprocess.Popen(
        command, env=env, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, process_group=0
    ) as program:
        address = program.stdout.readline().decode().strip()
        os.killpg(program.pid, signal.SIGINT)  # what a terminal does with Ctrl-C
        program.wait(30)
    write(address, "orders", [1])
    assert read(address, "orders") == [1]


def test_a_program_without_a_broker_starts_one_and_says_so(tmp_path):
    env = {**os.environ, "HEADRACE_HOME": str(tmp_path / "home")}
    program = "from headrace.log import Topics\nwith Topics() as topics: topics.create('orders')"
    done = subprocess.run([sys.executable, "-c", program], env=env, capture_output=True, text=True, check=True)
    own = Cluster(Settings(home=tmp_path / "home"))
    assert f"started a Kafka broker at {own.running()}; stop it with 'headrace down'" in done.stderr
    own.erase()
    assert not list((tmp_path / "home").glob("broker-*"))


def test_a_stale_pid_file_deceives_nobody(own):
    address = own.up()
    [node] = own.nodes()
    somebody = json.dumps({"pid": os.getpid(), "created": 12345.0})  # the pid now belongs to somebody else: to us
    for told in ("", "not json", '{"pid": 1}', '["list"]', '{"pid": "x", "created": null}', somebody):
        (node.folder / "process.json").write_text(told)
        assert own.up() == address, told
        assert len(pids(own)) == 1, told
        (node.folder / "process.json").unlink()
        assert own.running() == address, told
    (node.folder / "process.json").write_text(somebody)
    assert own.down() == [1]
    assert psutil.pid_exists(os.getpid())
    assert pids(own) == []


@pytest.mark.parametrize("port", ["port", "controller_port"])
def test_a_port_taken_meanwhile_is_replaced(own, port):
    write(own.up(), "orders", [1])
    own.down()
    [node] = own.nodes()
    with socket.create_server(("127.0.0.1", getattr(node, port))):
        address = own.up()
        assert read(address, "orders") == [1]
        assert getattr(own.nodes()[0], port) != getattr(node, port)


def test_the_ports_of_a_broker_are_not_among_those_that_the_system_gives_away(running):
    [node] = running.nodes()
    with contextlib.ExitStack() as stack:
        servers = [stack.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(20)]
        given = [server.getsockname()[1] for server in servers]
    assert max(node.port, node.controller_port) < min(given)


def test_why_a_broker_does_not_start_is_told(own):
    own.up()
    own.down()
    [node] = own.nodes()
    [known] = node.folder.rglob("meta.properties")
    known.write_text("version=99\n")
    with pytest.raises(BrokerStartError, match=r"broker 1 did not start\. The end of its log(.|\n)*Exception: .*99"):
        own.up()


def test_a_broker_that_died_is_told_and_started_again(own, kill):
    address = own.up()
    write(address, "orders", [1, 2])
    [node] = own.nodes()
    kill(node)
    assert process.died(node)
    assert own.running() is None
    assert own.up() == address
    assert read(address, "orders") == [1, 2]


def test_clients_wait_while_the_broker_is_down_and_go_on_when_it_is_up(own):
    address = own.up()
    write(address, "orders", [])
    seen = []
    done = threading.Event()

    def follow():
        with Consumer("orders", brokers=address) as consumer:
            while not done.is_set() or len(seen) < 3000:
                if event := consumer.poll(0.2):
                    seen.append(event.value)

    reader = threading.Thread(target=follow)
    reader.start()
    with Producer(address) as producer:
        for value in range(1000):
            producer.send("orders", value)
        assert own.down() == [1]
        for value in range(1000, 2000):
            producer.send("orders", value)
        assert own.up() == address
        for value in range(2000, 3000):
            producer.send("orders", value)
    done.set()
    reader.join(60)
    assert seen == list(range(3000))


def test_the_size_of_a_cluster_is_kept(running):
    with pytest.raises(ConfigError, match="holds a cluster of 1 broker"):
        running.up(brokers=3)
    with pytest.raises(ConfigError, match="1 to 9 brokers, not 0"):
        Cluster(Settings(home=running.home / "other")).up(brokers=0)


def test_durability_is_remembered_and_changed_only_while_the_broker_is_down(own):
    def flush_interval(address):
        resource = ConfigResource(ResourceType.BROKER, "1")
        client = admin_client({"bootstrap.servers": address})
        return client.describe_configs([resource])[resource].result()["log.flush.interval.messages"].value

    address = own.up(durability="power")
    assert flush_interval(address) == "1"
    with pytest.raises(ConfigError, match="runs with durability 'power'"):
        own.up(durability="process")
    own.down()
    assert flush_interval(own.up()) == "1"
    own.down()
    assert flush_interval(own.up(durability="process")) == str(2**63 - 1)


def test_odd_folder_names(tmp_path):
    own = Cluster(Settings(home=tmp_path / "a b" / "ä=ö\\x"))
    try:
        write(own.up(), "orders", [1])
    finally:
        own.erase()
    with pytest.raises(BrokerStartError, match="no comma"):
        Cluster(Settings(home=tmp_path / "a,b")).up()


def test_what_is_remembered_can_be_damaged(own):
    own.home.mkdir()
    (own.home / "cluster.json").write_text("{")
    with pytest.raises(ConfigError, match="cannot be understood"):
        own.up()
    (own.home / "cluster.json").unlink()


def test_no_java(own, monkeypatch, tmp_path):
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(JavaNotFoundError, match="Install Java 17 or 21"):
        own.up()
    assert pids(own) == []


def test_a_home_that_is_a_file(tmp_path):
    (tmp_path / "home").write_text("")
    with pytest.raises(BrokerStartError, match=r"cannot be written: .*; make room or correct"):
        Cluster(Settings(home=tmp_path / "home")).up()


@pytest.fixture
def disk(tmp_path):
    """Mount a small disk, as full or as read-only as one likes."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted = []

    def mount(options):
        done = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", options, "tmpfs", folder], capture_output=True, check=False
        )
        if done.returncode:
            pytest.skip(f"needs the right to mount a file system: {done.stderr.decode().strip()}")
        mounted.append(folder)
        return folder

    yield mount
    for path in mounted:
        subprocess.run(["umount", path], check=True)


def test_a_full_disk_is_told_before_the_broker_starts(disk):
    own = Cluster(Settings(home=disk("size=10m") / "home"))
    with pytest.raises(BrokerStartError, match=r"has \d+ MB free, a broker needs 268 MB; free some room"):
        own.up()
    assert pids(own) == []


def test_a_disk_that_fills_up_while_the_broker_works_loses_nothing_acknowledged(disk):
    folder = disk("size=400m")
    own = Cluster(Settings(home=folder / "home"))
    write(own.up(), "orders", range(100))
    filler = folder / "filler"
    with filler.open("wb") as file:
        try:
            while True:
                file.write(b"x" * 1_000_000)
        except OSError:
            pass
    own.down()
    with pytest.raises(BrokerStartError, match="0 MB free"):
        own.up()
    filler.unlink()
    assert read(own.up(), "orders") == list(range(100))
    own.down()


def test_a_read_only_folder(disk):
    folder = disk("size=400m")
    own = Cluster(Settings(home=folder / "home"))
    write(own.up(), "orders", [1])
    own.down()
    subprocess.run(["mount", "-o", "remount,ro", folder], check=True)
    with pytest.raises(BrokerStartError, match=r"cannot be written: Read-only file system; .*HEADRACE_HOME"):
        own.up()
    subprocess.run(["mount", "-o", "remount,rw", folder], check=True)
    assert read(own.up(), "orders") == [1]
    own.down()


def test_a_data_folder_of_another_cluster_is_refused_with_the_reason(own):
    own.up()
    own.down()
    [node] = own.nodes()
    meta = node.data / "meta.properties"
    meta.write_text(meta.read_text().replace(f"cluster.id={own.layout().cluster_id}", "cluster.id=" + "A" * 22))
    checkpoint = node.data / "__cluster_metadata-0"
    assert checkpoint.is_dir()
    shutil.rmtree(checkpoint)
    (checkpoint).write_text("not a folder")
    with pytest.raises(BrokerStartError, match=r"broker 1 did not start"):
        own.up()
    assert pids(own) == []


def test_a_broker_started_by_somebody_who_died_before_writing_it_down_is_found(own):
    address = own.up()
    [node] = own.nodes()
    (node.folder / "process.json").unlink()
    begun = time.monotonic()
    assert own.up() == address
    assert time.monotonic() - begun < 2
    assert len(pids(own)) == 1


def test_status_of_a_path_is_not_confused_by_another_home(own, tmp_path):
    own.up()
    other = Cluster(Settings(home=tmp_path / "other"))
    other.up()
    assert other.running() != own.running()
    other.erase()
    assert own.running() is not None
    assert not Path(other.home, "cluster.json").exists()


def test_a_program_that_comes_while_the_broker_is_starting_waits_for_it(own):
    env = {**os.environ, "HEADRACE_HOME": str(own.home)}
    with subprocess.Popen([sys.executable, "-c", UP], env=env, stdout=subprocess.DEVNULL):
        deadline = time.monotonic() + 60
        while own.running() is None and time.monotonic() < deadline:
            time.sleep(0.01)
        program = "from headrace.log import Topics\nwith Topics() as topics: topics.create('orders')"
        done = subprocess.run([sys.executable, "-c", program], env=env, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        assert done.stderr == ""


def test_up_after_its_starter_was_killed_waits_until_the_broker_answers(own):
    env = {**os.environ, "HEADRACE_HOME": str(own.home)}
    with subprocess.Popen([sys.executable, "-c", UP], env=env, stdout=subprocess.DEVNULL) as starter:
        deadline = time.monotonic() + 60
        while own.running() is None and time.monotonic() < deadline:
            time.sleep(0.01)
        starter.kill()
    address = own.up()
    assert len(pids(own)) == 1
    write(address, "orders", [1])
    assert read(address, "orders") == [1]
