"""The partition of a record, as Kafka's clients for Java choose it."""

from __future__ import annotations


def partition_of(key: str | bytes, partitions: int) -> int:
    """The partition of a key among so many: murmur2 of its UTF-8 bytes without the sign, mod partitions.

    Labels by id, and records of one id, have to lie in the partition of their id: this is the one that 'liftstream
    produce' and producers for Java choose. librdkafka's own default is another one.
    """
    if partitions < 1:
        raise ValueError(f"there are no {partitions} partitions")
    data = key.encode() if isinstance(key, str) else key
    m, mask = 0x5BD1E995, 0xFFFFFFFF
    h = 0x9747B28C ^ len(data)
    whole = len(data) // 4 * 4
    for i in range(0, whole, 4):
        k = int.from_bytes(data[i : i + 4], "little") * m & mask
        k = (k ^ k >> 24) * m & mask
        h = h * m & mask ^ k
    if whole < len(data):
        h = (h ^ int.from_bytes(data[whole:], "little")) * m & mask
    h = (h ^ h >> 13) * m & mask
    return ((h ^ h >> 15) & 0x7FFFFFFF) % partitions
