package live

import (
	"context"
	"time"

	"liftstream/cmd/liftstream/internal/assemble"
	"liftstream/cmd/liftstream/internal/infer"
	"liftstream/config"
	"liftstream/model"
	"liftstream/stream"
)

// inference answers requests for scores by the stage, with metrics among those of the stage; nil where http.score is
// off.
func (l *Live) inference(st *assemble.Stage, version string) *infer.Service {
	c := l.config
	if c.HTTP.Score.Off {
		return nil
	}
	s, err := infer.New(infer.Options{
		Name: c.Name, Version: version, Codec: st.Codec, Limits: c.HTTP.Score, Now: time.Now,
		ByRecord: c.Control != nil && c.Control.By == config.ControlByRecord,
		Stage: infer.Stage{
			Ask: func(
				ctx context.Context, partition int, b *model.Batch, use func(s *model.Scores, l *model.Levels),
			) error {
				return stream.Ask(ctx, l.Stage, partition, b, use)
			},
			Partitions: func() ([]int, int) { return stream.Partitions(l.Stage) },
			Status:     l.Stage.Status,
		},
	})
	if err != nil {
		panic("live: " + err.Error()) // the options are those of the stage, which has checked them
	}
	l.metrics.MustRegister(s.Metrics()...)
	return s
}
