package main

import (
	"cmp"
	"context"
	"fmt"
	"strconv"

	"liftstream/config"
	"liftstream/model/evaluate"
	"liftstream/stream/state"
)

// inspectTopic prints what the state topic or the model topic of a configuration holds. Its status is 1 when something
// in it cannot be read.
func inspectTopic(ctx context.Context, a *app, c *config.Config, topic string) error {
	k, err := a.connect(ctx, c)
	if err != nil {
		return err
	}
	defer k.close()
	if topic == "model" {
		err = a.inspectModels(ctx, k, c)
	} else {
		err = a.inspectStates(ctx, k, c)
	}
	return explain(err, "FILE")
}

func (a *app) inspectModels(ctx context.Context, k *cluster, c *config.Config) error {
	versions, err := state.ReadModels(ctx, k.Client, c.Topics.Model)
	if err != nil {
		return err
	}
	if len(versions) == 0 {
		_, err := fmt.Fprintf(a.out, "%s holds no model: none was published yet\n", c.Topics.Model)
		return cmp.Or(environment(err), a.inspectVerdicts(ctx, k, c))
	}
	var rows [][]string
	var broken error
	for _, v := range versions {
		row := []string{strconv.FormatInt(v.Version, 10), bytesText(int64(v.Bytes)), bytesText(int64(v.Packed)), "", "", "", "", "it cannot be read"}
		if m := v.Model; m != nil {
			own := "yes"
			if m.Fingerprint != c.Fingerprint() {
				own = "no"
			}
			row = append(row[:3], strconv.Itoa(m.Info.Records), decimals(m.Info.Verdict.New, 4), decimals(m.Info.Verdict.Old, 4), own, "")
		} else {
			broken = errFound
			a.notef("model %d: %v", v.Version, v.Err)
		}
		rows = append(rows, row)
	}
	heading := []string{" version", " size", " in the topic", " records", " log-loss", " of the one before", "of this configuration", ""}
	if err := table(a.out, "", heading, rows); err != nil {
		return err
	}
	if err := a.inspectVerdicts(ctx, k, c); err != nil {
		return err
	}
	if last := versions[len(versions)-1]; last.Model != nil {
		fmt.Fprintln(a.out)
		if err := inspectModel(a.out, fmt.Sprintf("the newest of %s (%s)", c.Topics.Model, bytesText(int64(last.Bytes))), last.Model); err != nil {
			return err
		}
	}
	return broken
}

// inspectVerdicts prints the last verdicts of the gate.
func (a *app) inspectVerdicts(ctx context.Context, k *cluster, c *config.Config) error {
	verdicts, err := state.ReadVerdicts(ctx, k.Client, c.Topics.Model)
	if err != nil {
		return err
	}
	var rows [][]string
	for _, v := range verdicts {
		as := "refused"
		if v.Version > 0 {
			as = strconv.FormatInt(v.Version, 10)
		}
		interval := evaluate.Interval{evaluate.Number(v.Low), evaluate.Number(v.High)}
		rows = append(rows, []string{strconv.FormatUint(v.Number, 10), as, v.Reason.String(), decimals(v.New, 4), decimals(v.Old, 4), signed(v.Difference()), signedInterval(interval),
			strconv.Itoa(v.Records)})
	}
	if len(rows) > 0 {
		fmt.Fprintln(a.out)
		if err := table(a.out, "", []string{" verdict", " model", "because", " log-loss", " serving", " difference", "95 % interval", " records"}, rows); err != nil {
			return err
		}
	}
	return nil
}

func (a *app) inspectStates(ctx context.Context, k *cluster, c *config.Config) error {
	states, err := state.ReadStates(ctx, k.Client, c.Topics.State)
	if err != nil {
		return err
	}
	var broken error
	var rows, parts [][]string
	label := func(int64) string { return "-" }
	offset := func(n int64) string {
		if n < 0 {
			return "-"
		}
		return strconv.FormatInt(n, 10)
	}
	if c.Topics.Labels != "" {
		label = offset
	}
	for _, s := range states {
		for _, err := range s.Problems {
			broken = errFound
			a.notef("partition %d: %v", s.Partition, err)
		}
		if len(s.Snapshots) == 0 {
			rows = append(rows, []string{strconv.Itoa(s.Partition), "none", "", "", "", "", "", ""})
		}
		for i, x := range s.Snapshots {
			state := "whole"
			switch {
			case x.Err != nil:
				state, broken = "it cannot be read", errFound
				a.notef("partition %d, snapshot %d: %v", s.Partition, x.Number, x.Err)
			case x.Fingerprint != c.Fingerprint():
				state = "of another configuration"
			}
			rows = append(rows, []string{strconv.Itoa(s.Partition), strconv.FormatUint(x.Number, 10), offset(x.Events), label(x.Labels), strconv.FormatInt(x.Model, 10),
				number(x.Labelled), strconv.Itoa(x.Replayed), state})
			if i > 0 {
				continue
			}
			for _, p := range x.Sections {
				parts = append(parts, []string{strconv.Itoa(s.Partition), p.Name, bytesText(int64(p.Bytes)), bytesText(int64(p.Packed))})
			}
		}
	}
	heading := []string{" partition", " snapshot", " next event", " next label", " model", " labelled", " journal after it", ""}
	if err := table(a.out, "", heading, rows); err != nil {
		return err
	}
	if len(parts) > 0 {
		fmt.Fprintln(a.out)
		if err := table(a.out, "", []string{" partition", "part of the newest snapshot", " size", " in the topic"}, parts); err != nil {
			return err
		}
	}
	return broken
}
