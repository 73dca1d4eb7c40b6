package show

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"liftstream/model/drift"
	"liftstream/model/report/text"
	"liftstream/stream/state"
)

// alarmTable prints the alarms of drift below an empty line, nothing where there are none.
func alarmTable(w io.Writer, alarms []*state.Alarms) error {
	var rows [][]string
	for _, a := range alarms {
		for _, f := range a.Found {
			rows = append(rows, []string{strconv.Itoa(int(a.Partition)), strconv.FormatUint(f.Number, 10),
				strconv.FormatInt(f.Records, 10), text.Visible(f.Column), strings.ReplaceAll(f.Kind.String(), "_", " "),
				fmt.Sprintf("%.4f", f.Value), fmt.Sprintf("%.4f", f.Threshold), Time(a.Time)})
		}
	}
	if len(rows) == 0 {
		return nil
	}
	if _, err := fmt.Fprintln(w); err != nil {
		return err
	}
	return text.Table(w, "", []string{" partition", " alarm", " record", "column", "drift of", " value", " threshold",
		"known (UTC)"}, rows)
}

// alarmsJSON are the newest alarms of a partition in JSON.
type alarmsJSON struct {
	Partition int32         `json:"partition"`
	Total     uint64        `json:"total"`
	Time      time.Time     `json:"time"`
	Newest    []drift.Found `json:"newest"`
}

func alarmsOf(alarms []*state.Alarms) []alarmsJSON {
	out := []alarmsJSON{}
	for _, a := range alarms {
		out = append(out, alarmsJSON{a.Partition, a.Total, a.Time, a.Found})
	}
	return out
}
