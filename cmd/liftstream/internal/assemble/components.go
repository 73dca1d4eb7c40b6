package assemble

import (
	"fmt"
	"io"
	"slices"

	"liftstream/config"
	"liftstream/model"
	"liftstream/model/evaluate"
	"liftstream/model/kernel"
	"liftstream/model/lift"
	"liftstream/model/local"
	"liftstream/model/propensity"
	"liftstream/model/report"
	"liftstream/model/trees"
	"liftstream/model/unusual"
)

// component is a row of the table of components: the one place that names them.
type component struct {
	name string
	// factory makes the component that a configuration asks for.
	factory func(c *config.Config, s *model.Schema) model.Factory
	// scoring makes one with the same inputs that leaves out the results of which only a report speaks; nil = factory.
	scoring func(c *config.Config, s *model.Schema) model.Factory
	// alone makes one with the inputs that it has without a scorecard beside it; nil = scoring.
	alone func(c *config.Config, s *model.Schema) model.Factory
	// off says that the configuration switches it off; nil = it cannot be.
	off func(c *config.Config) bool
	// print prints the content of a part of a model; nil = it has no lines of its own.
	print func(w io.Writer, s *model.Schema, part []byte) error
	// founding says that states and models which do not name their components have this one.
	founding bool
	// founded makes it with the inputs that it had in those; nil = factory.
	founded func(c *config.Config, s *model.Schema) model.Factory
	// base says that the methods of eval build on it: each has it under the scorecard.
	base bool
	// silent says that no score depends on it: no method of eval is about it.
	silent bool
	// beside says that it has scores of its own: each method of eval that has a stage has it too.
	beside bool
}

// components stand in the order in which their inputs arrive at the scorecard.
var components = []component{{
	name: lift.Name, base: true, founding: true, print: lift.PrintPart,
	factory: func(c *config.Config, s *model.Schema) model.Factory { return lift.New(liftOptions(c, s), s) },
	scoring: func(c *config.Config, s *model.Schema) model.Factory {
		o := liftOptions(c, s)
		return lift.New(lift.Options{Quantiles: o.Quantiles, Joint: o.Joint, Enter: o.Enter}, s)
	},
}, {
	name: local.Name, founding: true,
	factory: func(c *config.Config, s *model.Schema) model.Factory { return local.New(localOptions(c), s) },
	founded: func(c *config.Config, s *model.Schema) model.Factory {
		o := localOptions(c)
		o.Newest = 0
		return local.New(o, s)
	},
	off: func(c *config.Config) bool { return c.Local.Off },
}, {
	name: kernel.Name, founding: true,
	factory: func(c *config.Config, s *model.Schema) model.Factory { return kernel.New(kernelOptions(c), s) },
	alone: func(c *config.Config, s *model.Schema) model.Factory {
		o := kernelOptions(c)
		if o.Input == kernel.Auto {
			o.Input = kernel.Either
		}
		return kernel.New(o, s)
	},
	off: func(c *config.Config) bool { return c.Kernel.Off },
}, {
	name:    trees.Name,
	factory: func(c *config.Config, s *model.Schema) model.Factory { return trees.New(treesOptions(c), s) },
	off:     func(c *config.Config) bool { return c.Trees.Off },
}, {
	name: unusual.Name, silent: true, print: unusual.PrintPart,
	factory: func(c *config.Config, s *model.Schema) model.Factory {
		return unusual.New(float64(c.Output.Unusual), s)
	},
	off: func(c *config.Config) bool { return c.Output.Unusual == 0 },
}}

// goalsComponent is the row of the table for the goals. It stands by itself: it is made of the others.
var goalsComponent = component{
	name: model.GoalsName, silent: true, beside: true, factory: newGoals,
	off: func(c *config.Config) bool { return len(c.Record.Goals) == 0 },
}

// part is a component of a stage.
type part struct {
	factory, scoring, alone model.Factory
	beside                  bool
}

func parts(c *config.Config, s *model.Schema) []part {
	var out []part
	for _, x := range append(slices.Clone(components), goalsComponent) {
		if x.off != nil && x.off(c) {
			continue
		}
		p := part{factory: x.factory(c, s), beside: x.beside}
		p.scoring = p.factory
		if x.scoring != nil {
			p.scoring = x.scoring(c, s)
		}
		p.alone = p.scoring
		if x.alone != nil {
			p.alone = x.alone(c, s)
		}
		out = append(out, p)
	}
	return out
}

// founding returns the blocks of a scorecard whose states do not name them.
func founding(c *config.Config, s *model.Schema) []propensity.Block {
	spec := &model.Spec{}
	for _, x := range components {
		if x.founding {
			make := x.factory
			if x.founded != nil {
				make = x.founded
			}
			spec.Components = append(spec.Components, make(c, s))
		}
	}
	return propensity.BlocksOf(spec)
}

// Sections writes the sections of the model's parts into a report.
func (s *Stage) Sections(m *model.Model, r *report.Report) error {
	for _, x := range s.parts {
		if err := section(x.factory, m, r); err != nil {
			return err
		}
	}
	return s.goalSections(m, r)
}

// section writes the section of one part into a report, none where the model lacks the part.
func section(f model.Factory, m *model.Model, r *report.Report) error {
	b, ok := m.Parts[f.Name()]
	reporter, able := f.(report.Reporter)
	if !ok || !able {
		return nil
	}
	if err := reporter.Report(b, m.Levels, r); err != nil {
		return fmt.Errorf("reading the model's part %s: %w", f.Name(), err)
	}
	return nil
}

// Summary returns paragraphs about the sections of the report, component by component.
func (s *Stage) Summary(r *report.Report) []string {
	var out []string
	for _, x := range s.parts {
		if f, ok := x.factory.(report.Summariser); ok {
			out = append(out, f.Summary(r)...)
		}
	}
	return out
}

// PrintParts prints the content of the model's parts. It needs no configuration.
func PrintParts(w io.Writer, m *model.Model) error {
	for _, x := range components {
		b, ok := m.Parts[x.name]
		if !ok || x.print == nil {
			continue
		}
		if err := x.print(w, m.Schema(), b); err != nil {
			return fmt.Errorf("reading the model's part %s: %w", x.name, err)
		}
	}
	return nil
}

// ShortList names the features of the first component of the model that has a short list, the most important first.
func (s *Stage) ShortList(m *model.Model) (names []string) {
	for _, x := range s.parts {
		b, ok := m.Parts[x.factory.Name()]
		lister, able := x.factory.(report.Lister)
		if !ok || !able {
			continue
		}
		list, err := lister.ShortList(b)
		if err != nil {
			continue
		}
		for _, f := range list {
			names = append(names, s.Spec.Schema.Features[f].Name)
		}
		break
	}
	return names
}

// Method is a method of eval.
type Method struct {
	Name       string
	components []string // under the scorecard
	alone      string   // or the one component of which it is
}

// Methods are the methods of eval, in the order of its table, those of components that are switched off among them.
func Methods() []Method {
	all := Method{Name: evaluate.MethodAll}
	var with, alone []Method
	var base string
	for _, x := range components {
		if x.silent {
			continue
		}
		all.components = append(all.components, x.name)
		if x.base {
			base = x.name
			with = append(with, Method{Name: base, components: []string{base}})
			continue
		}
		with = append(with, Method{Name: base + "+" + x.name, components: []string{base, x.name}})
		alone = append(alone, Method{Name: x.name, alone: x.name})
	}
	return slices.Concat([]Method{all}, with, alone, []Method{{Name: Neighbours, alone: Neighbours}, {Name: "prior"}})
}

// Method returns a method as the protocols run it, and its Spec; frozen, where there is one, sees that first.
func (s *Stage) Method(m Method, frozen func(*model.Spec)) (evaluate.Method, error) {
	for _, name := range append(slices.Clone(m.components), m.alone) {
		if m.Name == evaluate.MethodAll || name == "" || name == Neighbours {
			continue
		}
		if err := s.Has(name); err != nil {
			return evaluate.Method{}, fmt.Errorf("method %s: %w", m.Name, err)
		}
	}
	var spec *model.Spec
	switch {
	case m.alone != "":
		spec = s.Alone(m.alone)
	case m.components != nil:
		spec = s.Scoring(m.components...)
		spec.Options.Effects = true
	default:
		return evaluate.Prior(s.Spec.Schema), nil
	}
	frozen(spec)
	return evaluate.Stage(m.Name, spec), nil
}

// Has returns an error where the configuration switches the component of that name off.
func (s *Stage) Has(name string) error {
	if slices.ContainsFunc(s.parts, func(x part) bool { return x.factory.Name() == name }) {
		return nil
	}
	return fmt.Errorf("the configuration switches %s off", name)
}
