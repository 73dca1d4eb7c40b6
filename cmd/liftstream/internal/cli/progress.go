package cli

import "github.com/schollz/progressbar/v3"

// Progress shows how far a command is, on a terminal only. Its methods may be called on nil.
type Progress struct{ bar *progressbar.ProgressBar }

// ProgressBytes returns a bar over that many bytes, nil when standard error is no terminal or the user wants quiet.
func (a *App) ProgressBytes(label string, total int64) *Progress {
	if a.Quiet || !OnTerminal(a.Err) {
		return nil
	}
	return a.progress(total, label, progressbar.OptionShowBytes(true), progressbar.OptionSetWidth(30))
}

// ProgressRecords returns a count of records, whose number is unknown; nil as with ProgressBytes. It suits a command
// that is slow on purpose: the bytes of a small file are read at once.
func (a *App) ProgressRecords(label string) *Progress {
	if a.Quiet || !OnTerminal(a.Err) {
		return nil
	}
	return a.progress(-1, label, progressbar.OptionShowCount(), progressbar.OptionShowIts(),
		progressbar.OptionSetItsString("records"))
}

func (a *App) progress(total int64, label string, o ...progressbar.Option) *Progress {
	o = append(o, progressbar.OptionSetWriter(a.Err), progressbar.OptionSetDescription(label),
		progressbar.OptionThrottle(65_000_000), progressbar.OptionClearOnFinish())
	return &Progress{progressbar.NewOptions64(total, o...)}
}

// Add counts n more.
func (p *Progress) Add(n int64) {
	if p != nil {
		_ = p.bar.Add64(n)
	}
}

// Finish removes the bar.
func (p *Progress) Finish() {
	if p != nil {
		_ = p.bar.Finish()
	}
}
