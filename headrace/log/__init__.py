"""The log: topics, producers, consumers, work queues and requests on Kafka."""

from headrace.log.consumer import Consumer
from headrace.log.event import Event
from headrace.log.groups import GroupInfo, GroupOffset, Groups
from headrace.log.producer import Counts, Delivery, Producer
from headrace.log.queue import Job, Queue
from headrace.log.requests import Requester, Responder
from headrace.log.topics import PartitionInfo, TopicInfo, Topics

__all__ = [
    "Consumer",
    "Counts",
    "Delivery",
    "Event",
    "GroupInfo",
    "GroupOffset",
    "Groups",
    "Job",
    "PartitionInfo",
    "Producer",
    "Queue",
    "Requester",
    "Responder",
    "TopicInfo",
    "Topics",
]
