package model

import "liftstream/model/wire"

// SectionLevels is the name of the section of a state that holds its levels.
const SectionLevels = "levels"

// Spelling has the texts that a state of an earlier build gave to levels, where this build gives them another text:
// such as "1.0", which is "1" now.
type Spelling struct {
	texts []map[string]string // by feature and SameValue
	// Count is the number of such texts. Example is one of them, and Feature the name of its feature.
	Count            int
	Feature, Example string
	// Twins are two levels of that feature which are one value, so that this build learns one level in their place.
	// Empty = there are none.
	Twins []string
}

// SpellingOf reads the spelling out of a section SectionLevels, of a state of the schema.
func SpellingOf(s *Schema, section []byte) (*Spelling, error) {
	r := wire.NewReader(section)
	l, err := DecodeLevels(s, r)
	if err == nil {
		err = r.Done()
	}
	if err != nil {
		return nil, err
	}
	x := &Spelling{texts: make([]map[string]string, len(s.Features))}
	for f := range l.names {
		if len(s.Features[f].Levels) > 0 {
			continue
		}
		first := map[string]string{}
		for _, text := range l.names[f] {
			value := SameValue(text)
			if twin, ok := first[value]; ok {
				if x.Twins == nil {
					x.Feature, x.Twins = s.Features[f].Name, []string{twin, text}
				}
				continue
			}
			first[value] = text
			if string(CanonicalText(nil, []byte(text))) == text {
				continue
			}
			if x.texts[f] == nil {
				x.texts[f] = map[string]string{}
			}
			x.texts[f][value] = text
			if x.Count++; x.Count == 1 && x.Twins == nil {
				x.Feature, x.Example = s.Features[f].Name, text
			}
		}
	}
	return x, nil
}

// spell gives the levels that l learns from now on the texts of a spelling. nil is the spelling of this build.
func (l *Levels) spell(x *Spelling) {
	l.spelling = nil
	if x != nil && x.Count > 0 {
		l.spelling = x.texts
	}
}

// spelled returns the text of a level that is new.
func (l *Levels) spelled(f int, value, text string) string {
	if l.spelling != nil {
		if t, ok := l.spelling[f][value]; ok {
			return t
		}
	}
	return text
}
