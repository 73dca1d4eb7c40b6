"""Data frames to and from the topics of a liftstream stage.

    import liftstream

    with liftstream.Sender("localhost:9092", "shop-events", id="customer") as events:
        events.send(frame)                          # pandas, polars, pyarrow
    scores = liftstream.read_scores("localhost:9092", "shop-scores")
    best = scores.to_pandas().nlargest(10, "propensity_yes")

Frames are whatever speaks Arrow: a pyarrow table or batch, a pandas or polars data frame, a DuckDB relation. Scores are
read committed, so each is there once.
"""

from liftstream.frames import Frame, from_message, to_message, to_table
from liftstream.local import LocalScorer, ScoringError
from liftstream.partitions import partition_of
from liftstream.reading import DeadLetter, Message, Reader, read_dead_letters, read_scores
from liftstream.sending import DeliveryError, Sender, Sent

__all__ = [
    "DeadLetter",
    "DeliveryError",
    "Frame",
    "LocalScorer",
    "Message",
    "Reader",
    "ScoringError",
    "Sender",
    "Sent",
    "from_message",
    "partition_of",
    "read_dead_letters",
    "read_scores",
    "to_message",
    "to_table",
]
