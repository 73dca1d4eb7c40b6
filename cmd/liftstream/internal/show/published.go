package show

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"liftstream/model"
	"liftstream/model/evaluate"
	"liftstream/model/report"
	"liftstream/model/report/text"
	"liftstream/stream/state"
)

// Time writes a time for people, in UTC; "-" of none.
func Time(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.UTC().Format("2006-01-02 15:04:05")
}

// candidate is a model that was fitted: published as a version, or refused.
type candidate struct {
	time     time.Time
	name     string
	verdict  *model.Verdict // nil = it cannot be read
	labelled float64        // records of the partitions that it knows
	is       []string
}

// candidates are the versions and the refused models, oldest first.
func candidates(p *state.Published, own uint64) (all []candidate) {
	for i := range p.Versions {
		v := &p.Versions[i]
		c := candidate{time: v.Time, name: strconv.FormatInt(v.Version, 10)}
		if v.Version == p.Serving {
			c.is = append(c.is, "serves")
		}
		if m := v.Model; m != nil {
			c.verdict = &m.Info.Verdict
			for _, mark := range m.Marks {
				c.labelled += mark.Clock
			}
			if m.Fingerprint != own {
				c.is = append(c.is, "of another configuration")
			}
		} else {
			c.is = append(c.is, "cannot be read")
		}
		all = append(all, c)
	}
	for _, v := range p.Verdicts {
		if v.Version > 0 {
			continue
		}
		c := candidate{time: v.Time, name: verdictName(v), verdict: &v.Verdict, labelled: v.Labelled()}
		if v.Note != "" {
			c.is = append(c.is, text.Visible(v.Note))
		}
		all = append(all, c)
	}
	slices.SortStableFunc(all, func(a, b candidate) int { return a.time.Compare(b.time) })
	return all
}

// verdictName names the model of a verdict: a version, or why there is none.
func verdictName(v *state.GateVerdict) string {
	switch {
	case v.Version > 0:
		return strconv.FormatInt(v.Version, 10)
	case v.Reason == model.Failed:
		return fmt.Sprintf("failed/%d", v.Number)
	}
	return fmt.Sprintf("refused/%d", v.Number)
}

// Published prints the content of a model topic as a table. own is the fingerprint of the configuration.
func Published(w io.Writer, p *state.Published, own uint64) error {
	all := candidates(p, own)
	if len(all) == 0 {
		if _, err := fmt.Fprintln(w, "no model was published yet, and none refused"); err != nil {
			return err
		}
		return belowModels(w, p)
	}
	var rows [][]string
	for _, c := range all {
		row := []string{c.name, Time(c.time), text.Number(c.labelled)}
		if v := c.verdict; v != nil {
			bounds := evaluate.Interval{evaluate.Number(v.Low), evaluate.Number(v.High)}
			row = append(row, strings.ReplaceAll(v.Reason.String(), "_", " "), text.Decimals(v.New, 4),
				text.Decimals(v.Old, 4), signed(v.Difference()), signedInterval(bounds), strconv.Itoa(v.Records))
		} else {
			row = append(row, "", "", "", "", "", "")
		}
		rows = append(rows, append(row, strings.Join(c.is, ", ")))
	}
	heading := []string{" model", "time (UTC)", " labelled", "verdict", " log-loss", " serving", " difference",
		"95 % interval", " compared", ""}
	if err := text.Table(w, "", heading, rows); err != nil {
		return err
	}
	return belowModels(w, p)
}

// belowModels prints the orders and the alarms of drift.
func belowModels(w io.Writer, p *state.Published) error {
	if err := orderTable(w, p.Orders); err != nil {
		return err
	}
	return alarmTable(w, p.Alarms)
}

// orderTable prints the orders below an empty line, nothing where there are none.
func orderTable(w io.Writer, orders []*state.Order) error {
	if len(orders) == 0 {
		return nil
	}
	if _, err := fmt.Fprintln(w); err != nil {
		return err
	}
	var rows [][]string
	for _, o := range orders {
		rows = append(rows, []string{strconv.FormatUint(o.Number, 10), Time(o.Time), text.Visible(orderText(o)),
			text.Visible(o.Client), text.Visible(o.Why)})
	}
	return text.Table(w, "", []string{" order", "time (UTC)", "order", "client", "why"}, rows)
}

// orderText writes the command of an order.
func orderText(o *state.Order) string {
	switch {
	case o.Verb == "freeze" && o.Still:
		return "freeze --learning"
	case o.Verb == "pin", o.Verb == "rollback", o.Verb == "unpin":
		return fmt.Sprintf("%s %d", o.Verb, o.Serve)
	}
	return o.Verb
}

// orderJSON is an order in JSON.
type orderJSON struct {
	Number   uint64    `json:"number"`
	Time     time.Time `json:"time"`
	Order    string    `json:"order"`
	Serve    int64     `json:"serve"`
	Until    int64     `json:"until"`
	Fits     bool      `json:"fits"`
	Learning bool      `json:"learning"`
	Client   string    `json:"client"`
	Why      string    `json:"why"`
}

// versionJSON is a version in JSON.
type versionJSON struct {
	Version     int64             `json:"version"`
	Time        time.Time         `json:"time"`
	Bytes       int               `json:"bytes"`
	Packed      int               `json:"packed"`
	Serves      bool              `json:"serves"`
	Error       string            `json:"error,omitempty"`
	Fingerprint string            `json:"fingerprint,omitempty"`
	Previous    int64             `json:"previous"`
	Records     int               `json:"records"`
	Labelled    map[int32]float64 `json:"labelled"` // by partition
	Verdict     *verdictJSON      `json:"verdict,omitempty"`
}

type verdictJSON struct {
	Reason     model.VerdictReason `json:"reason"`
	Compared   int                 `json:"compared"`
	LogLoss    report.Number       `json:"log_loss"`
	Serving    report.Number       `json:"serving"`
	Difference report.Number       `json:"difference"`
	Low        report.Number       `json:"low"`
	High       report.Number       `json:"high"`
	Allowed    report.Number       `json:"allowed"`
}

type refusedJSON struct {
	Number   uint64            `json:"number"`
	Time     time.Time         `json:"time"`
	Labelled map[int32]float64 `json:"labelled"`
	Verdict  *verdictJSON      `json:"verdict"`
	Note     string            `json:"note,omitempty"`
}

func verdictOf(v *model.Verdict) *verdictJSON {
	n := func(x float64) report.Number { return report.Number(x) }
	return &verdictJSON{v.Reason, v.Records, n(v.New), n(v.Old), n(v.Difference()), n(v.Low), n(v.High), n(v.Gate)}
}

// PublishedJSON returns the content of a model topic as a document for JSON.
func PublishedJSON(p *state.Published) any {
	out := struct {
		Versions []versionJSON `json:"versions"`
		Refused  []refusedJSON `json:"refused"`
		Orders   []orderJSON   `json:"orders"`
		Alarms   []alarmsJSON  `json:"alarms"`
	}{[]versionJSON{}, []refusedJSON{}, []orderJSON{}, alarmsOf(p.Alarms)}
	for i := range p.Versions {
		v := &p.Versions[i]
		x := versionJSON{Version: v.Version, Time: v.Time.UTC(), Bytes: v.Bytes, Packed: v.Packed,
			Serves: v.Version == p.Serving}
		if m := v.Model; m != nil {
			x.Fingerprint, x.Previous, x.Records = fmt.Sprintf("%016x", m.Fingerprint), m.Info.Previous, m.Info.Records
			x.Verdict, x.Labelled = verdictOf(&m.Info.Verdict), map[int32]float64{}
			for n, mark := range m.Marks {
				x.Labelled[n] = mark.Clock
			}
		} else {
			x.Error = v.Err.Error()
		}
		out.Versions = append(out.Versions, x)
	}
	for _, v := range p.Verdicts {
		if v.Version == 0 {
			out.Refused = append(out.Refused, refusedJSON{v.Number, v.Time.UTC(), v.Clocks, verdictOf(&v.Verdict),
				v.Note})
		}
	}
	for _, o := range p.Orders {
		out.Orders = append(out.Orders, orderJSON{o.Number, o.Time, o.Verb, o.Serve, o.Until, !o.Frozen && !o.Still, !o.Still,
			o.Client, o.Why})
	}
	return out
}

// Refused prints the verdict on a refused model, or on a fit that came to none.
func Refused(w io.Writer, v *state.GateVerdict) error {
	property := func(key, format string, args ...any) {
		fmt.Fprintf(w, "%-12s "+format+"\n", append([]any{key}, args...)...)
	}
	kind, _, _ := strings.Cut(verdictName(v), "/")
	property(kind, "%d, %s", v.Number, Time(v.Time))
	property("gate", "%s", verdictText(&v.Verdict))
	if v.Note != "" {
		property("because", "%s", text.Visible(v.Note))
	}
	property("serving", "%d", v.Previous)
	property("fingerprint", "%016x", v.Fingerprint)
	var rows [][]string
	for _, n := range sorted(v.Clocks) {
		rows = append(rows, []string{strconv.Itoa(int(n)), text.Number(v.Clocks[n])})
	}
	fmt.Fprintln(w)
	return text.Table(w, "", []string{" partition", " labelled"}, rows)
}

// ModelDiff prints the lines in which two models of a stage with these goals differ as Model prints them.
func ModelDiff(w io.Writer, a, b *model.Model, goals []string) error {
	var texts [2][]string
	for i, m := range []*model.Model{a, b} {
		var page bytes.Buffer
		if err := Model(&page, strconv.FormatInt(m.Version, 10), m, goals); err != nil {
			return err
		}
		texts[i] = strings.Split(strings.TrimRight(page.String(), "\n"), "\n")
	}
	for _, line := range difference(texts[0], texts[1]) {
		if _, err := fmt.Fprintln(w, line); err != nil {
			return err
		}
	}
	return nil
}

// mostCells bounds the table of difference: beyond it all lines between the first and the last different ones differ.
const mostCells = 1 << 24

// difference returns the lines of a that are not in a longest common subsequence with b, with "- " before them, and
// those of b, with "+ ", in their order.
func difference(a, b []string) (out []string) {
	for len(a) > 0 && len(b) > 0 && a[0] == b[0] {
		a, b = a[1:], b[1:]
	}
	for len(a) > 0 && len(b) > 0 && a[len(a)-1] == b[len(b)-1] {
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	width := len(b) + 1
	var longest []int32 // common lines of a[i:] and b[j:]
	if (len(a)+1)*width <= mostCells {
		longest = make([]int32, (len(a)+1)*width)
	}
	at := func(i, j int) int32 {
		if longest == nil {
			return 0
		}
		return longest[i*width+j]
	}
	if longest != nil {
		for i := len(a) - 1; i >= 0; i-- {
			for j := len(b) - 1; j >= 0; j-- {
				n := max(at(i+1, j), at(i, j+1))
				if a[i] == b[j] {
					n = max(n, at(i+1, j+1)+1)
				}
				longest[i*width+j] = n
			}
		}
	}
	for i, j := 0, 0; i < len(a) || j < len(b); {
		switch {
		case i < len(a) && j < len(b) && a[i] == b[j] && longest != nil:
			i, j = i+1, j+1
		case j == len(b) || i < len(a) && at(i+1, j) >= at(i, j+1):
			out = append(out, "- "+a[i])
			i++
		default:
			out = append(out, "+ "+b[j])
			j++
		}
	}
	return out
}
