package show

import (
	"encoding/json"
	"testing"
)

func TestVisibleJSONMeansTheSame(t *testing.T) {
	const line = "{\"a\": \"x\u202ey\u009bz\U000e0001\", \"b\": 1}\r"
	got := visibleJSON(nil, []byte(line))
	var before, after map[string]any
	if json.Unmarshal([]byte(line), &before) != nil || json.Unmarshal(got, &after) != nil || before["a"] != after["a"] {
		t.Errorf("%s is %v, want %v", got, after, before)
	}
	if want := `{"a": "x\u202ey\u009bz\udb40\udc01", "b": 1}`; string(got) != want {
		t.Errorf("%s, want %s", got, want)
	}
	if got := visibleJSON(nil, []byte("{\x1b[31m}")); string(got) != `{\u001b[31m}` {
		t.Errorf("%s", got)
	}
}

func TestRewrite(t *testing.T) {
	const lines = "id,x\n=1+1,-5\n-x,-5e3\n@a,+7\n\"+A1,\nb\",a\u202eb\n\tx,plain\n"
	for formulas, want := range map[bool]string{
		true:  "id,x\n'=1+1,-5\n'-x,-5e3\n'@a,+7\n\"'+A1,\nb\",a·b\n'·x,plain\n",
		false: "id,x\n=1+1,-5\n-x,-5e3\n@a,+7\n\"+A1,\nb\",a·b\n·x,plain\n",
	} {
		if got, err := rewrite([]byte(lines), formulas); err != nil || string(got) != want {
			t.Errorf("formulas %v: %q, %v, want %q", formulas, got, err, want)
		}
	}
}
