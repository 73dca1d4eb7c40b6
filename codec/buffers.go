package codec

// bufferWalk goes over the buffers of a batch in the order of its nodes.
type bufferWalk struct {
	fb                       *flat
	nodes, buffers, variadic int // places of the vectors
	nBuffers, nVariadic      int
	nextBuffer, nextVariadic int
}

// check compares the buffers with the needs of the schema.
func (l *bufferWalk) check(nNodes int, needs []need) *MessageError {
	if nNodes != len(needs) {
		return dead(ReasonDamaged, "%d nodes, the schema has %d", nNodes, len(needs))
	}
	for i, nd := range needs {
		if nd.null {
			continue
		}
		if err := l.node(i, nd); err != nil {
			return err
		}
	}
	if l.nextBuffer != l.nBuffers {
		return dead(ReasonDamaged, "%d buffers, the schema needs %d", l.nBuffers, l.nextBuffer)
	}
	return nil
}

// node takes the buffers of a node.
func (l *bufferWalk) node(i int, nd need) *MessageError {
	n, nulls := l.fb.i64(l.nodes+16*i), l.fb.i64(l.nodes+16*i+8)
	if nd.validity {
		bytes := (n + 7) / 8
		if nulls == 0 {
			bytes = 0
		}
		if err := l.buffer(i, bytes); err != nil {
			return err
		}
	}
	for _, bits := range nd.bits {
		bytes := int64(0)
		switch {
		case n == 0 || bits == anySize:
		case bits == offsets32:
			bytes = 4 * (n + 1)
		case bits == offsets64:
			bytes = 8 * (n + 1)
		default:
			bytes = (n*bits + 7) / 8
		}
		if err := l.buffer(i, bytes); err != nil {
			return err
		}
	}
	if !nd.variadic {
		return nil
	}
	if l.nextVariadic >= l.nVariadic {
		return dead(ReasonDamaged, "%d counts of view buffers, the schema needs more", l.nVariadic)
	}
	k := l.fb.i64(l.variadic + 8*l.nextVariadic)
	l.nextVariadic++
	if k < 0 || k > int64(l.nBuffers-l.nextBuffer) {
		return dead(ReasonDamaged, "%d view buffers, %d are left", k, l.nBuffers-l.nextBuffer)
	}
	l.nextBuffer += int(k)
	return nil
}

// buffer takes the next buffer, which holds at least so many bytes of a node.
func (l *bufferWalk) buffer(node int, bytes int64) *MessageError {
	if l.nextBuffer >= l.nBuffers {
		return dead(ReasonDamaged, "%d buffers, the schema needs more", l.nBuffers)
	}
	if n := l.fb.i64(l.buffers + 16*l.nextBuffer + 8); n < bytes {
		return dead(ReasonDamaged, "buffer %d of node %d has %d bytes, %d are needed", l.nextBuffer, node, n, bytes)
	}
	l.nextBuffer++
	return nil
}
