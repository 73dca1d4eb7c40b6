package infer

import (
	"errors"
	"net/http"

	"liftstream/codec"
	"liftstream/codec/file"
	"liftstream/model"
)

// desk has the readers and buffers by which the records of a request are decoded and their scores encoded. The next
// request has it again, so a request of few records costs neither the readers of its columns nor the buffers of its
// scores. After an error it is left behind.
type desk struct {
	reader *file.JSONReader
	forms  map[form]*coders
	text   []byte
	batch  model.Batch
	carry  codec.Carry
	at     *coders // of the records in hand
}

// form says which columns records may lack, and which of their own they have.
type form struct{ part, id, time bool }

// coders are the decoder and the encoder of one form.
type coders struct {
	decoder *codec.Decoder
	encoder *codec.ScoreEncoder
}

// freeDesk returns one that nobody uses.
func freeDesk(s *Service) *desk {
	if d, ok := s.desks.Get().(*desk); ok {
		return d
	}
	return &desk{reader: file.NewJSONReader(file.TableOptions{Codec: s.codec}), forms: map[form]*coders{}}
}

// give gives the desks of a request back, whose scores must not be read any more.
func give(s *Service, parts []scored) {
	for _, p := range parts {
		if p.desk.at.decoder.Release() {
			continue // its other buffers are as large: it is left behind
		}
		p.desk.carry.Release()
		s.desks.Put(p.desk)
	}
}

// decode reads records under the contract of the stage; part says that they are a part of those of a request, see
// partOf. Columns that change no score may be there or not, and so may the id and the time.
func (s *Service) decode(lines [][]byte, part bool) (*desk, error) {
	d := freeDesk(s)
	if err := d.read(s, lines, part); err == nil {
		return d, nil
	}
	d = &desk{forms: map[form]*coders{}} // the error is that of the records alone, and of none before them
	return d, d.read(s, lines, part)
}

func (d *desk) read(s *Service, lines [][]byte, part bool) error {
	d.text = d.text[:0]
	for _, line := range lines {
		d.text = append(append(d.text, line...), '\n')
	}
	t, err := d.table(s.codec, len(lines))
	if err != nil {
		return unreadable(err)
	}
	if t.Rows() != len(lines) {
		return wrong(http.StatusRequestEntityTooLarge, "the records are too large")
	}
	of := form{part: part, id: s.codec.ID != "", time: s.codec.Time != ""}
	if o := &s.codec; of.id && t.Column(o.ID) < 0 && o.Schema.Feature(o.ID) < 0 {
		of.id = false
	}
	if o := &s.codec; of.time && t.Column(o.Time) < 0 && o.Schema.Feature(o.Time) < 0 {
		of.time = false
	}
	if d.at, err = d.coders(s, of); err != nil {
		return err
	}
	now := s.o.Now().UnixNano()
	m := codec.Message{Offset: -1, Time: now, Now: now}
	bad, err := d.at.decoder.DecodeTable(t, 0, &m, &d.batch, &d.carry)
	if err != nil {
		return unreadable(err)
	}
	if len(bad) > 0 {
		return unreadable(bad[0])
	}
	return nil
}

// table reads the text of the desk; one without a reader is for this text alone.
func (d *desk) table(o codec.Options, rows int) (*codec.Table, error) {
	if d.reader != nil {
		return d.reader.Table(d.text, rows)
	}
	for t, err := range file.JSONTables(d.text, file.TableOptions{Codec: o, Rows: rows}) {
		return t, err
	}
	return nil, errors.New("there are no records")
}

// coders returns the coders of a form.
func (d *desk) coders(s *Service, of form) (*coders, error) {
	if c := d.forms[of]; c != nil {
		return c, nil
	}
	o := s.codec
	if of.part {
		o = s.part
	}
	if !of.id {
		o.ID = ""
	}
	if !of.time {
		o.Time = ""
	}
	decoder, err := codec.NewDecoder(o)
	if err != nil {
		return nil, err
	}
	encoder, err := codec.NewScoreEncoder(o)
	if err != nil {
		return nil, err
	}
	d.forms[of] = &coders{decoder, encoder}
	return d.forms[of], nil
}
