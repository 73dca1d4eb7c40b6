package text

import "testing"

func TestVisible(t *testing.T) {
	for in, want := range map[string]string{
		"plain é 漢": "plain é 漢", "a\x1b[31mb": "a·[31mb", "a\u202eb": "a·b", "a\u2066b\u2069": "a·b·", "a\u200fb": "a·b",
		"\u009b31m": "·31m", "a\r\nb\t": "a··b·", "a\xffb": "a\ufffdb", "": "",
	} {
		if got := Visible(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

func TestClip(t *testing.T) {
	for in, want := range map[string]string{"abcd": "abcd", "abcde": "abc…", "漢字漢字": "漢字漢字", "漢字漢字漢": "漢字漢…",
		"a\nb": "a·b", "": ""} {
		if got := Clip(in, 4); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}
