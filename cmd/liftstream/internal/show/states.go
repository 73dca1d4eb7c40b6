package show

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"liftstream/model/evaluate"
	"liftstream/model/report/text"
	"liftstream/stream/state"
)

// Versions prints the models of a topic. own is the fingerprint of the configuration.
func Versions(w io.Writer, versions []state.ModelVersion, own uint64) error {
	var rows [][]string
	for _, v := range versions {
		row := []string{strconv.FormatInt(v.Version, 10), text.Bytes(int64(v.Bytes)), text.Bytes(int64(v.Packed))}
		if m := v.Model; m != nil {
			same := "yes"
			if m.Fingerprint != own {
				same = "no"
			}
			verdict := &m.Info.Verdict
			row = append(row, strconv.Itoa(m.Info.Records), text.Decimals(verdict.New, 4), text.Decimals(verdict.Old, 4),
				same, "")
		} else {
			row = append(row, "", "", "", "", "it cannot be read")
		}
		rows = append(rows, row)
	}
	heading := []string{" version", " size", " in the topic", " records", " log-loss", " of the one before",
		"of this configuration", ""}
	return text.Table(w, "", heading, rows)
}

// Verdicts prints the last verdicts of the gate, nothing where there are none.
func Verdicts(w io.Writer, verdicts []*state.GateVerdict) error {
	var rows [][]string
	for _, v := range verdicts {
		as, _, _ := strings.Cut(verdictName(v), "/")
		bounds := evaluate.Interval{evaluate.Number(v.Low), evaluate.Number(v.High)}
		rows = append(rows, []string{strconv.FormatUint(v.Number, 10), as, v.Reason.String(), text.Decimals(v.New, 4),
			text.Decimals(v.Old, 4), signed(v.Difference()), signedInterval(bounds), strconv.Itoa(v.Records)})
	}
	if len(rows) == 0 {
		return nil
	}
	fmt.Fprintln(w)
	heading := []string{" verdict", " model", "because", " log-loss", " serving", " difference", "95 % interval",
		" records"}
	return text.Table(w, "", heading, rows)
}

// States prints the snapshots of every partition and the parts of the newest ones. own is the fingerprint of the
// configuration; labels says whether it has a topic of labels.
func States(w io.Writer, states []state.StateInfo, own uint64, labels bool) error {
	var rows, parts [][]string
	offset := func(n int64) string {
		if n < 0 {
			return "-"
		}
		return strconv.FormatInt(n, 10)
	}
	label := offset
	if !labels {
		label = func(int64) string { return "-" }
	}
	for _, s := range states {
		partition := strconv.Itoa(s.Partition)
		if len(s.Snapshots) == 0 {
			rows = append(rows, []string{partition, "none", "", "", "", "", "", ""})
		}
		for i, x := range s.Snapshots {
			is := "whole"
			switch {
			case x.Err != nil:
				is = "it cannot be read"
			case x.Fingerprint != own:
				is = "of another configuration"
			}
			rows = append(rows, []string{partition, strconv.FormatUint(x.Number, 10), offset(x.Events), label(x.Labels),
				strconv.FormatInt(x.Model, 10), text.Number(x.Labelled), strconv.Itoa(x.Replayed), is})
			if i > 0 {
				continue
			}
			for _, p := range x.Sections {
				parts = append(parts, []string{partition, p.Name, text.Bytes(int64(p.Bytes)), text.Bytes(int64(p.Packed))})
			}
		}
	}
	heading := []string{" partition", " snapshot", " next event", " next label", " model", " labelled",
		" journal after it", ""}
	if err := text.Table(w, "", heading, rows); err != nil || len(parts) == 0 {
		return err
	}
	fmt.Fprintln(w)
	return text.Table(w, "", []string{" partition", "part of the newest snapshot", " size", " in the topic"}, parts)
}
