package main

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"strconv"
	"strings"
)

// fault replaces a stretch of a file.
type fault struct {
	path         string
	line, column int // of its first byte
	at, end      int // its offsets
	was, is      string
	target       *target
}

func (f *fault) String() string {
	short := func(s string) string {
		s = strings.Join(strings.Fields(s), " ")
		if len(s) > 60 {
			s = s[:57] + "..."
		}
		return s
	}
	return fmt.Sprintf("%s: %s -> %s", place(f.path, f.line, f.column), short(f.was), short(f.is))
}

func (f *fault) apply(source []byte) []byte {
	out := append([]byte(nil), source[:f.at]...)
	return append(append(out, f.is...), source[f.end:]...)
}

func compareFaults(a, b fault) int {
	return cmp.Or(cmp.Compare(a.path, b.path), cmp.Compare(a.at, b.at), cmp.Compare(a.end, b.end), cmp.Compare(a.is, b.is))
}

// others are the operators that an operator becomes: that of the negated condition first, then that of the other
// boundary.
var others = map[token.Token][]token.Token{
	token.EQL: {token.NEQ}, token.NEQ: {token.EQL},
	token.LSS: {token.GEQ, token.LEQ}, token.LEQ: {token.GTR, token.LSS},
	token.GTR: {token.LEQ, token.GEQ}, token.GEQ: {token.LSS, token.GTR},
	token.LAND: {token.LOR}, token.LOR: {token.LAND},
	token.ADD: {token.SUB}, token.SUB: {token.ADD},
	token.MUL: {token.QUO}, token.QUO: {token.MUL}, token.REM: {token.MUL},
	token.ADD_ASSIGN: {token.SUB_ASSIGN}, token.SUB_ASSIGN: {token.ADD_ASSIGN},
	token.MUL_ASSIGN: {token.QUO_ASSIGN}, token.QUO_ASSIGN: {token.MUL_ASSIGN},
	token.INC: {token.DEC}, token.DEC: {token.INC},
}

// maker walks a file and collects its faults.
type maker struct {
	path    string
	source  []byte
	set     *token.FileSet
	faults  []fault
	results []ast.Expr // types of the results of the function that is walked; one entry a result
}

// faultsOf lists the faults of a file in the order of their places; none of a generated one.
func faultsOf(path string, source []byte) ([]fault, error) {
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, path, source, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	if ast.IsGenerated(file) {
		return nil, nil
	}
	m := &maker{path: path, source: source, set: set}
	for _, d := range file.Decls {
		ast.Inspect(d, m.visit)
	}
	return m.faults, nil
}

func (m *maker) offset(p token.Pos) int { return m.set.Position(p).Offset }

func (m *maker) text(n ast.Node) string { return string(m.source[m.offset(n.Pos()):m.offset(n.End())]) }

// replace adds a fault that puts text in the place of [from, to).
func (m *maker) replace(from, to token.Pos, is string) {
	p := m.set.Position(from)
	at, end := p.Offset, m.offset(to)
	m.faults = append(m.faults, fault{
		path: m.path, line: p.Line, column: p.Column, at: at, end: end, was: string(m.source[at:end]), is: is,
	})
}

func (m *maker) operator(at token.Pos, op token.Token) {
	for _, other := range others[op] {
		m.replace(at, at+token.Pos(len(op.String())), other.String())
	}
}

func (m *maker) visit(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.ImportSpec, *ast.Field, *ast.ArrayType:
		return false // texts, tags and sizes of types
	case *ast.FuncDecl:
		if n.Body != nil {
			m.function(n.Type, n.Body)
		}
		return false
	case *ast.FuncLit:
		m.function(n.Type, n.Body)
		return false
	case *ast.BinaryExpr:
		m.operator(n.OpPos, n.Op)
	case *ast.IfStmt:
		if _, ok := n.Cond.(*ast.BinaryExpr); !ok {
			m.replace(n.Cond.Pos(), n.Cond.End(), "!("+m.text(n.Cond)+")")
		}
	case *ast.IncDecStmt:
		m.operator(n.TokPos, n.Tok)
	case *ast.BasicLit:
		m.constant(n)
	case *ast.AssignStmt:
		m.operator(n.TokPos, n.Tok)
		m.assignment(n)
	case *ast.ExprStmt, *ast.DeferStmt, *ast.SendStmt:
		m.replace(n.Pos(), n.End(), "{}")
	case *ast.ReturnStmt:
		m.returned(n)
	}
	return true
}

// function walks a body with the results of its function.
func (m *maker) function(t *ast.FuncType, body *ast.BlockStmt) {
	outer := m.results
	m.results = nil
	if t.Results != nil {
		for _, f := range t.Results.List {
			for range max(1, len(f.Names)) {
				m.results = append(m.results, f.Type)
			}
		}
	}
	ast.Inspect(body, m.visit)
	m.results = outer
}

// constant moves a number by one.
func (m *maker) constant(n *ast.BasicLit) {
	switch n.Kind {
	case token.INT:
		m.replace(n.Pos(), n.End(), "("+n.Value+" + 1)")
		if n.Value != "0" {
			m.replace(n.Pos(), n.End(), "("+n.Value+" - 1)")
		}
	case token.FLOAT:
		if v, err := strconv.ParseFloat(n.Value, 64); err == nil && v != 0 {
			m.replace(n.Pos(), n.End(), "("+n.Value+" * 1.5)")
		}
		m.replace(n.Pos(), n.End(), "("+n.Value+" + 1)")
	}
}

// assignment takes an assignment away; its values are still computed, and its variables still used.
func (m *maker) assignment(n *ast.AssignStmt) {
	if n.Tok == token.DEFINE {
		return
	}
	from, to := n.Rhs[0].Pos(), n.Rhs[len(n.Rhs)-1].End()
	right := string(m.source[m.offset(from):m.offset(to)])
	blanks := strings.Repeat(", _", len(n.Lhs)-1)
	is := "_" + blanks + " = " + right
	for _, x := range n.Rhs {
		if id, ok := x.(*ast.Ident); ok && id.Name == "nil" {
			is = "{}"
		}
	}
	if m.text(n) != is {
		m.replace(n.Pos(), n.End(), is)
	}
}

// returned gives back the zero value, one result at a time, where the type says it.
func (m *maker) returned(n *ast.ReturnStmt) {
	if len(n.Results) != len(m.results) {
		return // named results, or those of one call
	}
	for i, x := range n.Results {
		was := m.text(x)
		is := ""
		switch t := m.results[i].(type) {
		case *ast.StarExpr, *ast.MapType, *ast.FuncType, *ast.InterfaceType:
			is = "nil"
		case *ast.ArrayType:
			if t.Len == nil {
				is = "nil"
			}
		case *ast.Ident:
			is = zeroOf(t.Name, was)
		}
		if is != "" && is != was {
			m.replace(x.Pos(), x.End(), is)
		}
	}
}

// zeroOf is the zero value of a predeclared type, the other value of a bool, "" of another type.
func zeroOf(name, was string) string {
	switch name {
	case "error", "any":
		return "nil"
	case "string":
		return `""`
	case "bool":
		switch was {
		case "true":
			return "false"
		case "false":
			return "true"
		}
		return "!(" + was + ")"
	case "int", "int8", "int16", "int32", "int64", "uint", "uint8", "uint16", "uint32", "uint64", "byte", "rune",
		"float32", "float64":
		return "0"
	}
	return ""
}
