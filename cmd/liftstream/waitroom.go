package main

import (
	"fmt"
	"math"
	"time"

	"liftstream/config"
	"liftstream/model"
	"liftstream/model/report/text"
)

// idBytes is the length of an id for which room is reckoned, that of a UUID.
const idBytes = 36

// manyEvents is a rate in events a second over all partitions; waitRoom names a setting that fits it.
const manyEvents = 100

// waitRoom says how many records can wait for their labels, and names a setting that fits more; "" where none wait.
func waitRoom(c *config.Config, spec *model.Spec) string {
	if c.Labels == nil || c.Labels.MaxBytes == 0 {
		return ""
	}
	ids := 0
	if c.Record.ID != "" {
		ids = idBytes
	}
	least, usual := model.WaitRoom(spec, ids)
	said := fmt.Sprintf("labels.max_bytes %v: each partition has room for %d waiting records at least, some %d where "+
		"numbers have few digits", c.Labels.MaxBytes, least, usual)
	window, partitions := time.Duration(c.Labels.Window).Seconds(), float64(c.Topics.Partitions)
	if window <= 0 || usual <= 0 {
		return said
	}
	said += fmt.Sprintf(": %s to %s events a second over labels.window %v", text.Decimals(float64(least)/window, 1),
		text.Decimals(float64(usual)/window, 1), c.Labels.Window)
	if float64(usual)/window*partitions < manyEvents {
		needed := float64(c.Labels.MaxBytes) * manyEvents * window / (float64(usual) * partitions)
		said += fmt.Sprintf("; %d a second need some %dMiB in each of %s", manyEvents,
			int64(math.Ceil(needed/(1<<20))), text.Count(c.Topics.Partitions, "partition"))
	}
	return said
}
