package audience

import (
	"context"
	"fmt"

	"liftstream/cmd/liftstream/internal/cli"
	"liftstream/cmd/liftstream/internal/cluster"
	"liftstream/codec"
	"liftstream/config"
	"liftstream/stream/txn"
)

// HeaderAudience is the header of the messages of an audience; its value is the class.
const HeaderAudience = "liftstream-audience"

// sendRows is the largest number of members of a message.
const sendRows = 1000

// Sender sends audiences to a topic.
type Sender struct {
	sender     *cluster.Sender
	partitions int
}

// NewSender returns a Sender to a topic, which must exist and be none of the stage's own; an embedded broker of this
// process makes it.
func NewSender(ctx context.Context, k *cluster.Cluster, c *config.Config, topic, class string) (*Sender, error) {
	specs := cluster.Specs(c)
	for _, s := range specs {
		if s.Name == topic {
			return nil, cli.Usagef("--topic %s: the stage has this topic for itself; name another one", topic)
		}
	}
	if k.Own() { // nobody else can have made it
		if _, err := k.CreateTopics(ctx, txn.TopicSpec{Name: topic, Partitions: c.Topics.Partitions,
			Replication: 1}); err != nil {
			return nil, fmt.Errorf("making topic %s: %w", topic, err)
		}
	}
	n, err := k.Partitions(ctx, topic)
	if txn.KindOf(err) == txn.NoTopic {
		return nil, fmt.Errorf("--topic %s: the brokers have no such topic; make it first", topic)
	}
	if err != nil {
		return nil, fmt.Errorf("looking at topic %s: %w", topic, err)
	}
	s := cluster.NewSender(k.Client, cluster.Sending{Topic: topic, Partitions: n, Batch: sendRows})
	s.Mark = txn.Header{Key: HeaderAudience, Value: []byte(class)}
	return &Sender{s, n}, nil
}

// Send sends the members, each exactly once as long as the process lives, in messages of one partition each; those of a
// partition are in the order of their ranks. After an error some of the members may have been sent.
func (s *Sender) Send(ctx context.Context, a *Audience) error {
	turn := 0
	err := a.Write(ctx, func(t *codec.Table) error {
		rows := make([][]int, s.partitions)
		id := -1
		if a.IDs {
			id = t.Column(codec.ScoreID.String())
		}
		for i := range t.Rows() {
			p := turn % s.partitions
			if id >= 0 {
				text, _ := t.Text(id, i)
				p = txn.Partition([]byte(text), s.partitions)
			}
			turn++
			rows[p] = append(rows[p], i)
		}
		for p, r := range rows {
			for len(r) > 0 {
				n := min(sendRows, len(r))
				if err := s.sender.Message(ctx, t, id, p, r[:n]); err != nil {
					return err
				}
				r = r[n:]
			}
		}
		return nil
	})
	if err == nil {
		err = s.sender.Flush(ctx)
	}
	if err != nil && s.sender.Records > 0 {
		return fmt.Errorf("%w; %d members were sent before that", err, s.sender.Records)
	}
	return err
}
