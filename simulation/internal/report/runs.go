package report

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"strconv"

	"github.com/redquorum/redlock/simulation/internal/drawing"
	"github.com/redquorum/redlock/simulation/internal/timeline"
)

// runs are the pictures that a page's script shows when a reader opens a cell. They are compressed
// data, because hundreds of drawings would take megabytes.
type runs struct {
	pictures []string
	indexes  map[[2]string]string // of the pictures, by design and fault
}

func drawRuns(list []TimelineRun) runs {
	r := runs{indexes: map[[2]string]string{}}
	same := map[string]int{}
	for _, run := range list {
		var c drawing.Canvas
		timeline.Of(run.Log).Draw(&c, "", run.Kinds...)
		picture := c.Inline()
		// Similar designs may have the same run.
		i, known := same[picture]
		if !known {
			i = len(r.pictures)
			same[picture] = i
			r.pictures = append(r.pictures, picture)
		}
		r.indexes[[2]string{run.Design, run.Fault}] = strconv.Itoa(i)
	}
	return r
}

// data is all pictures: JSON, compressed with gzip, in base64.
func (r runs) data() string {
	if len(r.pictures) == 0 {
		return ""
	}
	text, _ := json.Marshal(r.pictures) // texts: it can't fail
	var out bytes.Buffer
	w, _ := gzip.NewWriterLevel(&out, gzip.BestCompression) // a level that exists
	_, _ = w.Write(text)                                    // a Buffer takes everything
	_ = w.Close()
	return base64.StdEncoding.EncodeToString(out.Bytes())
}
