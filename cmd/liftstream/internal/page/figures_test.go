package page

import (
	"encoding/json"
	"math"
	"regexp"
	"strings"
	"testing"
	"time"

	"liftstream/model"
	"liftstream/model/evaluate"
	"liftstream/stream"
	"liftstream/stream/state"
)

func pointer(s string) *string { return &s }

// shown is the text of the page without its tags; the width of a bar and the points of the curve stay.
func shown(t *testing.T, l Live) string {
	t.Helper()
	all, err := render(&moment{Live: l, Pace: "5 a second"})
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, p := range all {
		b.WriteString(string(p.HTML))
	}
	s := regexp.MustCompile(`<i style="width: ([0-9.]+)%"></i>`).ReplaceAllString(b.String(), "[$1]")
	s = regexp.MustCompile(`<polyline points="([^"]*)"/>`).ReplaceAllString(s, "{$1}")
	s = regexp.MustCompile(`</(td|th|b|h1|h2|span|p|div|caption)>`).ReplaceAllString(s, "|")
	s = regexp.MustCompile(`<[^>]*>`).ReplaceAllString(s, "")
	s = strings.NewReplacer("&times;", "×", "&hairsp;", " ").Replace(strings.Join(strings.Fields(s), " "))
	return regexp.MustCompile(`[\s|]*\|[\s|]*`).ReplaceAllString(s, "|")
}

// TestEachFigureStandsInItsPlace: no two figures are alike.
func TestEachFigureStandsInItsPlace(t *testing.T) {
	record := Record{Who: "c1", Segment: "no", Target: "yes", Propensity: .25, BaseRate: .1, Lift: 2.56, Percentile: .9,
		Status: "degraded", Profile: "job=nurse", Label: "maybe", Why: []Reason{
			{Feature: "job", Value: pointer("nurse"), Effect: math.Log(3)}, {Feature: "age", Effect: math.Log(.5)},
			{Feature: "(base)", Effect: math.Log(1.5)}, {Feature: "fourth", Effect: 1}}}
	other := record
	other.Who, other.Propensity, other.Status, other.Why, other.Lift = "c2", 1.5, "ok", nil, 7
	l := Live{Name: "bank", Positive: "yes", Ready: true, Behind: 1234, Dead: 11, UnknownClass: 12, Expired: 13,
		Fits: 14, Refused: 3, Unusual: []string{"setting"},
		Profiles: Profiles{Features: []string{"f1", "f2"}, Best: []Profile{{Class: "yes", Text: "job=student",
			Confirmed: true, Lift: 4.5, Validated: 3.5, ValidatedLow: 2.5, ValidatedHigh: 5.5, Records: 1499.6, Positives: 77}}},
		View: View{Scored: 45211, Untrained: 15, Degraded: 16, Model: 17, Calls: []Record{record},
			Last: []Record{other, record},
			Quality: Quality{Records: 44211, LogLoss: .25, BaseLoss: .375, AUC: .811, AUCBlocks: .722, Capture: .433, Lift: 4.33,
				BaseRate: .117, Course: []evaluate.Number{.5, .75, evaluate.Number(math.NaN()), 1, .4}}}}
	const reasons = "job is nurse × 3.00|age is not known × 0.50|(base) × 1.50|"
	want := "bank|live|model 17, fitted 14 times, 3 not good enough to publish|unusual topic setting|" +
		"The main figures|Scored|45,211|5 a second|1,234 messages to go|" +
		"Pairs ranked right (AUC)|81.1 %|72.2 % within 1,000 records|" +
		"The best tenth holds|43.3 %|of all “yes”: 4.3 times chance|" +
		"Log-loss|0.2500|0.3750 without features; 44,211 counted|" +
		"Rejected|11|15 scored before training 12 with a label that is no class 13 whose label did not come|" +
		"Quality as it learns|{0.0,80.0 150.0,40.0 450.0,0.0 600.0,80.0} " +
		"AUC of each 1,000 records before they were learnt; lines at 1, 0.75 and 0.5 (chance)|" +
		"Whom to call first|The records of the highest propensity|Who|“yes”|Average ×|Because|c1|[25.0]|25.0 %|2.6|" +
		reasons + "highest of about the last 5,000 records; “×” is what a value does to the odds|" +
		"Strongest profiles|Combinations of values, and how many times as often as on average the class is among their " +
		"records|Profile|Held back|95 %|All records|Records|" +
		"job=student|3.5|2.5 to 5.5|4.5|1,500|how many times as often as on average; “held back” is on newer records that " +
		"took no part in finding the profile, and the intervals hold for all profiles at once; on “all records” chance " +
		"makes it higher|Records of a class are most alike in|f1, f2|" +
		"Last scored|The newest records, the last one first|Who|Most likely|Propensity|Because|Known profile|It was|" +
		"c2|no|[100.0]|150.0 % yes|job=nurse|maybe|c1|no (degraded)|[25.0]|25.0 % yes|" + reasons + "job=nurse|maybe|"
	if got := shown(t, l); got != want {
		at := 0
		for at < min(len(got), len(want)) && got[at] == want[at] {
			at++
		}
		t.Errorf("from byte %d on the page shows\n%s\nwant\n%s\nin\n%s", at, got[at:], want[at:], got)
	}
	// Without a positive class each record and each profile names its own.
	l.Positive, l.Behind, l.Fits, l.Refused = "", 1, 1, 0
	got := shown(t, l)
	for _, want := range []string{"|model 17, fitted 1 time|", "|1 message to go|", "|of all positives: ", "|Propensity|",
		"|c1 yes|", "|job=student → yes|"} {
		if !strings.Contains(got, want) {
			t.Errorf("without a positive class the page lacks %q:\n%s", want, got)
		}
	}
}

// TestLiveHandsEveryFigureOn: no two figures are alike. A partition that has read more than it saw the end of is not
// behind, and takes nothing from the others.
func TestLiveHandsEveryFigureOn(t *testing.T) {
	src := &Source{Name: "bank", Positive: "yes", Board: NewBoard(schema(1, "no", "yes"), 0)}
	src.Status = func() stream.Status {
		return stream.Status{Ready: true, Fits: 14, Refused: 3, Unusual: []string{"setting"}, Waiting: []string{"broker"},
			Model: 9, Partitions: []stream.PartitionStatus{{Partition: 1, Offset: 3, End: 10, Dead: 2,
				UnknownClass: 5, Expired: 4, Recency: &model.Kept{IDs: 7, Bytes: 71, Evicted: 1}}, {Partition: 3, Offset: 30,
				End: 10, Dead: 20, UnknownClass: 50, Expired: 40, Recency: &model.Kept{IDs: 70, Bytes: 711, Evicted: 2}},
				{Partition: 2, Offset: 1, End: 101, Scored: 1000, Labelled: 1001, Model: 9, Doing: "running: at work"}}}
	}
	src.Profiles = func() Profiles {
		return Profiles{Model: 8, Features: []string{"f"}, Best: []Profile{{Class: "yes", Text: "x", Confirmed: true,
			Lift: 4.5, Validated: 3.5, ValidatedLow: 2.5, ValidatedHigh: 5.5, Records: 100, Positives: 77}}}
	}
	src.Flow = func() Flow {
		return Flow{Delay: &Delay{Half: .5, Most: 2.5, Over: 11, Messages: 12}, Dead: []Counted{{"schema", 6}},
			Waiting: map[int32]Waiting{2: {Records: 61, Bytes: 62, Oldest: 63}}}
	}
	nan := math.NaN()
	src.Verdicts = func() []*state.GateVerdict {
		return []*state.GateVerdict{{Version: 1, Verdict: model.Verdict{Old: nan, New: nan, Low: nan, High: nan, Gate: nan}},
			{Version: 2, Note: "a note", Time: time.Unix(1e9, 0), Verdict: model.Verdict{Reason: model.Better, New: .25,
				Old: .5, Low: -.375, High: -.125, Records: 400, Gate: .0625}}}
	}
	got, err := json.Marshal(src.Live())
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"name":"bank","positive":"yes","ready":true,"waiting":["broker"],"unusual":["setting"],"behind":107,` +
		`"dead":22,"unknown_class":55,"expired":44,"fits":14,"fits_refused":3,"gate":null,` +
		`"verdicts":[{"model":2,"reason":"better","records":400,"log_loss":0.25,"log_loss_serving":0.5,` +
		`"log_loss_difference":-0.25,"log_loss_difference_low":-0.375,"log_loss_difference_high":-0.125,"gate":0.0625,` +
		`"note":"a note","time":"2001-09-09T01:46:40Z"},{"model":1,"reason":"nothing_to_compare","records":0,` +
		`"log_loss":null,"log_loss_serving":null,"log_loss_difference":null,"log_loss_difference_low":null,` +
		`"log_loss_difference_high":null,"gate":null}],` +
		`"partitions":[{"partition":1,"doing":"taking over","offset":3,"behind":7,"scored":0,` +
		`"labels_learnt":0,"model":0},{"partition":2,"doing":"running: at work","offset":1,"behind":100,"scored":1000,` +
		`"labels_learnt":1001,"model":9,"waiting":{"records":61,"bytes":62,"oldest_seconds":63}},{"partition":3,` +
		`"doing":"taking over","offset":30,"behind":0,"scored":0,"labels_learnt":0,"model":0}],"flow":{"delay":{"half":0.5,` +
		`"most":2.5,"seconds":11,"messages":12},"dead":[{"name":"schema","n":6}],"waiting":{"2":{"records":61,"bytes":62,` +
		`"oldest_seconds":63}}},"remembered":{"ids":77,"bytes":782,"evicted":3},"profiles":{"model":8,"best":` +
		`[{"class":"yes","profile":"x","confirmed":true,"lift":4.5,"validated_lift":3.5,"validated_low":2.5,` +
		`"validated_high":5.5,"n_x":100,"n_xy":77}],"features":["f"]},"scored":0,"untrained":0,"degraded":0,"model":0,` +
		`"quality":{"records":0,"log_loss":null,"base_log_loss":null,"auc":null,"auc_blocks":null,"base_rate":null,` +
		`"capture_at_0.1":null,"lift_at_0.1":null,"course":[],"gains":[],"calibration":[]},"reasons":[],` +
		`"call_first":[],"last":[]}`
	if string(got) != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestCourseAsPoints(t *testing.T) {
	nan := evaluate.Number(math.NaN())
	for _, c := range []struct {
		course []evaluate.Number
		want   string
	}{{nil, ""}, {[]evaluate.Number{.7}, ""}, {[]evaluate.Number{1, .5}, "0.0,0.0 600.0,80.0"},
		{[]evaluate.Number{nan, .625, 2}, "300.0,60.0 600.0,0.0"}, {[]evaluate.Number{nan, nan}, ""}} {
		if got := spark(c.course); got != c.want {
			t.Errorf("%v is %q, want %q", c.course, got, c.want)
		}
	}
}

func TestBoundariesOfWords(t *testing.T) {
	inf := evaluate.Number(math.Inf(1))
	for _, c := range []struct{ got, want string }{
		{Percent(.001), "0.1 %"}, {Percent(.000999), "under 0.1 %"}, {Percent(.005), "0.5 %"}, {Percent(1), "100.0 %"},
		{Percent(-.5), "-50.0 %"}, {Percent(inf), "–"}, {Lift(evaluate.Number(math.NaN())), "–"}, {Lift(inf), "–"},
		{figure(.12345), "0.1235"}, {figure(0), "0.0000"}, {figure(inf), "–"}, {figure(evaluate.Number(math.NaN())), "–"},
		{Count(-999), "-999"}, {Count(-1000), "-1,000"}, {Count(1_000_000), "1,000,000"},
		{Reason{Feature: "job", Value: pointer("a")}.String(), "job is a"},
		{Reason{Feature: "job"}.String(), "job is not known"},
		{Reason{Feature: "(base)", Value: pointer("a")}.String(), "(base)"},
	} {
		if c.got != c.want {
			t.Errorf("%q, want %q", c.got, c.want)
		}
	}
	confirmed := Profiles{Best: []Profile{{Confirmed: true, ValidatedLow: 1}, {ValidatedLow: .5}, {Confirmed: true,
		ValidatedLow: 1.5}}}
	if n, note := confirmed.Confirmed(), confirmed.IntervalNote(); n != 2 || note != "" {
		t.Errorf("%d confirmed, note %q", n, note)
	}
}
