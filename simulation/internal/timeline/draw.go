package timeline

import (
	"bytes"
	"fmt"
	"slices"
	"time"
)

// draw fills the layers.
func (d *drawing) draw() {
	d.head()
	d.ground()
	for _, m := range d.t.Messages {
		if d.draws(m) {
			d.message(m)
		}
	}
	d.downtimes()
	for _, l := range d.order {
		switch l.kind {
		case ofProcess:
			d.beliefs(l)
		case ofServer:
			d.tenures(l)
		}
		d.labels(l)
	}
	for _, a := range d.t.Accesses {
		d.access(a)
	}
	d.breaks()
	d.violations()
}

// draws reports whether a message is drawn.
func (d *drawing) draws(m Message) bool {
	return (d.o.Watching || !m.watching()) && !d.hidden(m.Process, m.Sent)
}

// hidden reports whether a process does at a moment what it has done before.
func (d *drawing) hidden(process string, at time.Duration) bool {
	return slices.ContainsFunc(d.vains, func(v vain) bool { return v.hides(process, at) })
}

func (d *drawing) text(to *bytes.Buffer, x, y float64, class, text string) {
	if class != "" {
		class = fmt.Sprintf(` class="%s"`, class)
	}
	fmt.Fprintf(to, `<text x="%s" y="%s"%s>%s</text>`+"\n", px(x), px(y), class, escaped(text))
}
