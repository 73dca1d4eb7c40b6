package propensity

import (
	"math"
	"slices"
)

// piecesOf returns the effect of a continuous feature: constant in a cell or, where the axis is smooth, a logarithm
// between the middles of two cells, and the linear input, which is clipped.
func piecesOf(s *Scorecard, i int) (out []Piece) {
	a := &s.axes[i]
	from := math.Inf(-1)
	for n, cell := range a.gap {
		end, closed := math.Inf(1), true
		if n < len(a.edges) {
			end, closed = a.edges[n], a.at[n] == cell
		}
		if near := s.near[i]; near != nil {
			h := &near[n]
			if h.mid > from && h.mid < end {
				out = stretch(s, out, i, from, h.mid, true, int(cell), h, false)
				out = stretch(s, out, i, h.mid, end, closed, int(cell), h, true)
			} else {
				out = stretch(s, out, i, from, end, closed, int(cell), h, h.mid <= from)
			}
		} else {
			out = stretch(s, out, i, from, end, closed, int(cell), nil, false)
		}
		if !closed {
			out = stretch(s, out, i, end, end, true, int(a.at[n]), nil, false)
		}
		from = end
	}
	return out
}

// stretch appends the pieces of the values between from and end, which lie in a cell and, where h is not nil, above or
// below the middle of its neighbourhood. A stretch ends where the linear input is clipped.
func stretch(
	s *Scorecard, out []Piece, i int, from, end float64, closed bool, cell int, h *neighbourhood, above bool,
) []Piece {
	var ends []float64
	for _, v := range bendsOf(s, i) {
		if v > from && v < end {
			ends = append(ends, v)
		}
	}
	slices.Sort(ends)
	for _, v := range append(slices.Compact(ends), end) {
		p := Piece{End: v, Closed: closed || v < end, Constant: make([]float64, cards), Slope: make([]float64, cards)}
		addLifts(s, &p, i, cell, h, above)
		addSlope(s, &p, i, from)
		out, from = append(out, p), v
	}
	return out
}

// bendsOf returns the values at which the linear input of feature i begins to be clipped.
func bendsOf(s *Scorecard, i int) []float64 {
	f, a := &s.features[i], &s.axes[i]
	if f.linear < 0 {
		return nil
	}
	mean, sq := s.moment(i, s.cur.mom[3*f.linear:3*f.linear+3])
	sd := math.Sqrt(sq)
	low, high := max(mean-4*sd, -mostUnit), min(mean+4*sd, mostUnit)
	return []float64{a.center + a.scale*low, a.center + a.scale*high}
}

// addLifts adds the log-lifts and the cell weights to a piece, and gives it its origin, the middle of the
// neighbourhood.
func addLifts(s *Scorecard, p *Piece, i, cell int, h *neighbourhood, above bool) {
	side, by := 0, 0.
	if h != nil {
		p.Origin = h.mid
		if side, by = int(h.lower), -h.below; above {
			side, by = int(h.upper), h.above
		}
	}
	own := s.cur.feat[i].pair
	for k, v := range own[cell].w {
		p.Constant[k] += v
		if side != cellMissing {
			p.Slope[k] += by * (own[side].w[k] - v)
		}
	}
	H := s.horizons
	lifts := make([]float64, H)
	if side == cellMissing {
		liftsOf(s, i, cell, lifts)
		for h, v := range lifts {
			for k, w := range s.cur.in[i*H+h].w {
				p.Constant[k] += w * v
			}
		}
		return
	}
	count, stride := s.cur.feat[i].count, 2*len(s.half)
	for h := range lifts {
		r := &s.rates[h]
		n, o := count[cell*stride+2*h:], count[side*stride+2*h:]
		all := n[0] + r.b
		t := LogTerm{(n[1] + r.a) * r.odds / all, by * (o[1] - n[1]) * r.odds / all, by * (o[0] - n[0]) / all,
			make([]float64, cards)}
		for k, w := range s.cur.in[i*H+h].w {
			t.Weight[k] = w * drawn(&s.counts, h)
		}
		p.add(t)
	}
}

// add adds a term to the piece, with that of another horizon which has the same counts.
func (p *Piece) add(t LogTerm) {
	for i := range p.Logs {
		if o := &p.Logs[i]; near(o.A, t.A) && near(o.B, t.B) && near(o.C, t.C) {
			addFloats(o.Weight, t.Weight, 1)
			return
		}
	}
	p.Logs = append(p.Logs, t)
}

// addSlope adds the linear input to a piece that begins at from. A piece without an origin gets one, for values may be
// far from 0.
func addSlope(s *Scorecard, p *Piece, i int, from float64) {
	f, a := &s.features[i], &s.axes[i]
	if f.linear < 0 {
		return
	}
	if len(p.Logs) == 0 && !slices.ContainsFunc(p.Slope, func(v float64) bool { return v != 0 }) {
		p.Origin = a.center
	}
	mean, sq := s.moment(i, s.cur.mom[3*f.linear:3*f.linear+3])
	inside := p.End // a value of the piece
	switch {
	case math.IsInf(from, -1) && math.IsInf(p.End, 1):
		inside = a.center
	case math.IsInf(from, -1):
		inside = p.End - a.scale
	case math.IsInf(p.End, 1):
		inside = from + a.scale
	case from < p.End:
		inside = from/2 + p.End/2
	}
	u := (inside - a.center) / a.scale
	x := (clip(u, mostUnit) - mean) / math.Sqrt(sq)
	for k, w := range s.cur.own[1+f.linear].w {
		if math.Abs(u) > mostUnit || math.Abs(x) > 4 {
			p.Constant[k] += w * clip(x, 4)
			continue
		}
		by := w / (a.scale * math.Sqrt(sq))
		p.Constant[k] += by * (p.Origin - a.center - a.scale*mean)
		p.Slope[k] += by
	}
}
