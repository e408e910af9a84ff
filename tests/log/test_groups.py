"""Groups from outside: described, moved, deleted."""

from datetime import timedelta

import pytest

from headrace.core.errors import GroupError
from headrace.log import Consumer, Groups
from tests.log.test_consumer import fill, values


def test_a_group_is_described_moved_and_deleted(topic, group):
    fill(topic, range(10), partition=0)
    values(topic, group=group)
    fill(topic, range(5), partition=0)
    with Groups() as groups:
        told = groups.describe(group)
        assert (told.state, told.members, told.lag) == ("empty", (), 5)
        assert group in [g.name for g in groups.list()]
        groups.seek(group, topic, 3)
        assert groups.describe(group).lag == 12
        groups.seek(group, topic, "latest")
        assert groups.describe(group).lag == 0
        groups.seek(group, topic, timedelta(hours=1))
        assert groups.describe(group).lag == 15
        groups.delete(group)
        assert group not in [g.name for g in groups.list()]


def test_a_group_with_members_is_not_moved_or_deleted(topic, group):
    fill(topic, [1])
    with Consumer(topic, group=group) as consumer, Groups() as groups:
        consumer.poll(10)
        consumer.commit()
        assert groups.describe(group).members
        for act in (lambda: groups.seek(group, topic, "earliest"), lambda: groups.delete(group)):
            with pytest.raises(GroupError, match="stop"):
                act()
    with Groups() as groups, pytest.raises(GroupError, match="no group"):
        groups.describe("nobody-ever")
