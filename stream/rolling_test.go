package stream

import (
	"context"
	"fmt"
	"maps"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// roll replaces the members of a group one after the other, as a rolling update does, each at least pause after the one
// before, while records arrive. It notes the longest time between two commits of the partitions with the same member
// all the time, and of the others, and logs both for each member, with the strain of the machine in that time: on a
// busy machine they say nothing of the stage.
func roll(r *rig, members int, pause time.Duration) {
	r.t.Helper()
	name := func(i int) string { return fmt.Sprint("member", i) }
	var stages []*process
	for i := range members {
		stages = append(stages, r.start(name(i)))
	}
	r.feed(1200)
	r.reached(1200)
	r.shared(members)

	ctx, end := context.WithCancel(context.Background())
	var background sync.WaitGroup
	watch := &commits{r: r, of: make([][]commit, r.N)}
	background.Go(func() { watch.run(ctx) })
	background.Go(func() {
		for ctx.Err() == nil {
			r.feed(rigPartitions * rigRows)
			time.Sleep(20 * time.Millisecond)
		}
	})
	strained := strain{}
	strained.since()
	time.Sleep(3 * time.Second)
	began := time.Now()
	stayed, moved := watch.gaps(time.Time{}, began)
	quiet := max(longest(stayed), longest(moved))
	r.t.Logf("before the update: %v; %s", quiet, strained.since())
	most := time.Duration(0)
	for i, p := range stages {
		from := time.Now()
		r.stop(p)
		stopped := time.Since(from).Round(time.Millisecond)
		r.start(name(i))
		r.shared(members)
		time.Sleep(max(pause-time.Since(from), 0))
		stayed, moved := watch.gaps(from, time.Now())
		most = max(most, longest(stayed))
		r.t.Logf("member %d of %d, gone after %v: longest time between two commits %v where a partition stayed (%d times), "+
			"%v where it moved (%d times); %s", i+1, members, stopped, longest(stayed), len(stayed), longest(moved),
			len(moved), strained.since())
	}
	end()
	background.Wait()
	r.t.Logf("partitions that stay commit within a second: %v", most < time.Second)
	stayed, moved = watch.gaps(time.Time{}, time.Now())
	if len(stayed) == 0 || len(moved) == 0 {
		r.t.Errorf("%d times of partitions that stayed, %d of such that moved", len(stayed), len(moved))
	}
	r.note("%d members replaced, at least %v apart; longest time between two commits of a partition: %v before it, then "+
		"%v where it stayed with its member (%d times), %v where it moved (%d times)", members, pause, quiet,
		longest(stayed), len(stayed), longest(moved), len(moved))
}

// commit is a change of the committed offset of a partition, at the time when it was seen.
type commit struct {
	at     time.Time
	offset int64
}

// owners are the members of a stable group by their partitions.
type owners struct {
	at time.Time
	of map[int]string
}

// commits watches the offsets and the owners of the partitions of a rig.
type commits struct {
	r *rig

	mu     sync.Mutex
	of     [][]commit // by partition
	owners []owners
}

func (c *commits) run(ctx context.Context) {
	group := c.r.Client.ConsumerGroup(c.r.Name)
	for ; ctx.Err() == nil; time.Sleep(5 * time.Millisecond) {
		offsets, err := group.Offsets(ctx, c.r.Topics.Events, upTo(c.r.N))
		if err != nil {
			continue
		}
		g, err := group.Describe(ctx)
		now := time.Now()
		c.mu.Lock()
		for p, o := range offsets {
			if all := c.of[p]; len(all) == 0 || o.Offset > all[len(all)-1].offset {
				c.of[p] = append(all, commit{now, o.Offset})
			}
		}
		if err == nil && g.State == "Stable" {
			own := owners{now, map[int]string{}}
			for _, m := range g.Members {
				for _, p := range m.Partitions[c.r.Topics.Events] {
					own.of[p] = m.ID
				}
			}
			if n := len(c.owners); n == 0 || !maps.Equal(c.owners[n-1].of, own.of) {
				c.owners = append(c.owners, own)
			}
		}
		c.mu.Unlock()
	}
}

// members returns the members that a partition had from one time to another, as the stable groups say from the last one
// before to the first one after.
func (c *commits) members(p int, from, to time.Time) (ids []string) {
	for i, o := range c.owners {
		if i+1 < len(c.owners) && !c.owners[i+1].at.After(from) {
			continue
		}
		ids = append(ids, o.of[p])
		if o.at.After(to) {
			break
		}
	}
	return slices.Compact(ids)
}

// gaps are the times between two commits of a partition with the same member from the one to the other, and of a
// partition with more. The second commit lies between from and to.
func (c *commits) gaps(from, to time.Time) (stayed, moved []time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for p, all := range c.of {
		for i := 1; i < len(all); i++ {
			if all[i].at.Before(from) || all[i].at.After(to) {
				continue
			}
			gap := all[i].at.Sub(all[i-1].at)
			if len(c.members(p, all[i-1].at, all[i].at)) == 1 {
				stayed = append(stayed, gap)
			} else {
				moved = append(moved, gap)
			}
		}
	}
	return stayed, moved
}

func longest(gaps []time.Duration) time.Duration {
	if len(gaps) == 0 {
		return 0
	}
	return slices.Max(gaps).Round(time.Millisecond)
}

// strain tells how busy the machine is, by the files of Linux.
type strain struct {
	at      time.Time
	waited  int64 // microseconds in which some task waited for a processor
	idle    int64 // hundredths of a second, of all processors
	checked bool
}

// since is the strain since the last call, in words.
func (s *strain) since() string {
	before := *s
	*s = strain{at: time.Now()}
	pressure, err := os.ReadFile("/proc/pressure/cpu")
	stat, missing := os.ReadFile("/proc/stat")
	load, _ := os.ReadFile("/proc/loadavg")
	if err != nil || missing != nil {
		return "the strain of this machine is not known"
	}
	_, total, _ := strings.Cut(strings.SplitN(string(pressure), "\n", 2)[0], "total=")
	s.waited, _ = strconv.ParseInt(strings.TrimSpace(total), 10, 64)
	if f := strings.Fields(string(stat)); len(f) > 4 {
		s.idle, _ = strconv.ParseInt(f[4], 10, 64)
	}
	if s.checked = true; !before.checked {
		return ""
	}
	took := s.at.Sub(before.at)
	average, _, _ := strings.Cut(string(load), " ")
	return fmt.Sprintf("load %s; some task waited for a processor %.0f %% of the time; the processors were idle "+
		"for %.0f %%", average, 100*float64(s.waited-before.waited)/float64(took.Microseconds()),
		100*float64(s.idle-before.idle)/(took.Seconds()*100*float64(runtime.NumCPU())))
}
