package codec

// Reasons returns all reasons, those of messages first.
func Reasons() []Reason {
	return []Reason{ReasonEmpty, ReasonNotArrow, ReasonNotJSON, ReasonNotAvro, ReasonTruncated, ReasonTrailing,
		ReasonDamaged, ReasonCRC, ReasonRows, ReasonSchema, ReasonUnknownSchema, ReasonTooLarge, ReasonSkipped, ReasonPanic,
		ReasonID, ReasonTime, ReasonFuture, ReasonPast, ReasonWeight, ReasonTreated, ReasonNumber, ReasonNull, ReasonLabel,
		ReasonRecord}
}
