"""Every error that Headrace raises on purpose.

::

    HeadraceError
    ├── ConfigError (ValueError)               headrace.toml, HEADRACE_* or an argument
    ├── SetupError                             something this machine lacks
    │   ├── JavaNotFoundError
    │   ├── JavaTooOldError
    │   ├── JarUnavailableError                not in the cache and not to be had
    │   └── JarChecksumError                   there, but not the file that was locked
    ├── BrokerError
    │   ├── BrokerStartError                   the managed broker did not start or stop
    │   └── BrokerUnavailableError (ConnectionError)
    ├── TopicError
    │   ├── TopicNameError (ValueError)
    │   ├── UnknownTopicError (LookupError)
    │   └── TopicExistsError
    ├── GroupError                             a consumer group that is unknown, busy or of another kind
    ├── EventError
    │   ├── EncodeError (TypeError)
    │   ├── DecodeError (ValueError)
    │   ├── EventTooLargeError (ValueError)
    │   ├── BufferFullError (BufferError)      the producer's buffer, with on_full="error"
    │   ├── DeliveryError                      events that the broker did not take
    │   ├── ReplayError                        dead letters that are not sent again
    │   └── JobExpiredError                    a job settled after its time-out
    ├── TransactionError                       a transaction that was aborted or fenced
    ├── RequestError
    │   ├── RequestTimeoutError (TimeoutError) no reply in time
    │   └── RemoteError                        the responder's handler raised
    ├── PlanError (ValueError)                 a declaration that cannot work
    │   ├── SchemaError                        a schema that cannot be read
    │   ├── ExpressionError                    SQL that cannot be read, or that names no column
    │   └── StateChangedError                  a stateful step is not the one whose state was kept
    ├── AlertError                             something that alerts cannot do
    │   ├── UnknownAlertError (LookupError)    no such alert fires, or no such silence or rule is there
    │   └── NotifyError                        a notification that was not taken
    ├── ViewError                              a view that cannot answer
    │   └── ViewTimeoutError (TimeoutError)    a query or a wait that took too long
    └── QueryError                             a running program
        ├── QueryFailedError                   a stage failed; the message says why, in the user's terms
        ├── OperatorError                      an operator of the user's own raised, or returned what does not fit
        ├── StateFormatError                   kept state that this Headrace does not read
        ├── AlreadyRunningError                the same program runs already
        └── UnknownQueryError (LookupError)    no such program or stage runs here
"""


class HeadraceError(Exception):
    """Root of all errors raised by Headrace; the message says what to do next."""


class ConfigError(HeadraceError, ValueError):
    """A setting is unknown, malformed or contradicts what is running."""


class SetupError(HeadraceError):
    """This machine lacks something that Headrace needs."""


class JavaNotFoundError(SetupError):
    """No Java runtime was found."""


class JavaTooOldError(SetupError):
    """The Java runtime found is older than Kafka accepts."""


class JarUnavailableError(SetupError):
    """A jar is not on this machine and could not be fetched."""


class JarChecksumError(SetupError):
    """A jar's contents are not those that were locked."""


class BrokerError(HeadraceError):
    """Something is wrong with the log itself."""


class BrokerStartError(BrokerError):
    """The managed broker could not be started or stopped."""


class BrokerUnavailableError(BrokerError, ConnectionError):
    """No broker answers at the given address."""


class TopicError(HeadraceError):
    """A topic operation cannot be carried out."""


class TopicNameError(TopicError, ValueError):
    """A topic name breaks Kafka's rule."""


class UnknownTopicError(TopicError, LookupError):
    """The topic does not exist."""


class TopicExistsError(TopicError):
    """The topic exists already."""


class GroupError(HeadraceError):
    """A consumer group is unknown, busy or of another kind."""


class EventError(HeadraceError):
    """An event cannot be written or read."""


class EncodeError(EventError, TypeError):
    """A key or value has no form in bytes."""


class DecodeError(EventError, ValueError):
    """The bytes of a value are not of the format that was asked for."""


class EventTooLargeError(EventError, ValueError):
    """An event is larger than the log accepts."""


class BufferFullError(EventError, BufferError):
    """The producer's buffer is full and ``on_full="error"`` was asked for."""


class DeliveryError(EventError):
    """Events were sent but not acknowledged by the broker."""


class ReplayError(EventError):
    """Dead letters were not sent again: they were before, are not there, or do not tell where they came from."""


class JobExpiredError(EventError):
    """A worker held a job longer than the queue allows, and another one gets it."""


class TransactionError(HeadraceError):
    """A transaction was aborted, or another producer took over its id."""


class RequestError(HeadraceError):
    """A request over topics got no good reply."""


class RequestTimeoutError(RequestError, TimeoutError):
    """No reply arrived in time."""


class RemoteError(RequestError):
    """The responder's handler raised; the message is its own."""


class PlanError(HeadraceError, ValueError):
    """A declaration cannot work; a note tells the line of the program."""


class SchemaError(PlanError):
    """A schema cannot be read."""


class ExpressionError(PlanError):
    """An expression is no Spark SQL, or names a column that is not there."""


class StateChangedError(PlanError):
    """A stateful step is declared otherwise than the one whose state was kept under the same name."""


class AlertError(HeadraceError):
    """Alerts cannot do what was asked."""


class UnknownAlertError(AlertError, LookupError):
    """No such alert fires, or there is no such silence or rule."""


class NotifyError(AlertError):
    """A notification was not taken by its target; the message says why."""


class ViewError(HeadraceError):
    """A view cannot answer: the SQL does more than read, the key has other columns, the store cannot be read."""


class ViewTimeoutError(ViewError, TimeoutError):
    """A query ran, or a view lagged, for longer than allowed."""


class QueryError(HeadraceError):
    """Something is wrong with a running program."""


class QueryFailedError(QueryError):
    """A stage failed; the message says why, in the user's terms."""


class OperatorError(QueryError):
    """An operator of the user's own raised, took too long, or returned what does not fit its schema."""


class StateFormatError(QueryError):
    """State was kept in a format, or with columns, that this Headrace does not read."""


class AlreadyRunningError(QueryError):
    """The same program runs already."""


class UnknownQueryError(QueryError, LookupError):
    """No such program or stage runs here."""
