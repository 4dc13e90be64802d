package command

import (
	"io"
	"path/filepath"
	"strings"

	"github.com/redquorum/redlock/simulation/internal/report"
)

// page is a report's page with its preview image. Both files are open already. A nil *page
// is no page.
type page struct {
	page, image *outfile
}

// openPage opens the files of the page that -html names, nil for "".
func openPage(path string) (*page, error) {
	if path == "" {
		return nil, nil
	}
	p := &page{}
	var err error
	if p.page, err = openOutfile("-html", path); err != nil {
		return nil, err
	}
	if !p.page.regular() {
		return p, nil // a device has no files beside it
	}
	if p.image, err = openOutfile("-html", strings.TrimSuffix(path, filepath.Ext(path))+".png"); err != nil {
		p.page.abandon()
		return nil, err
	}
	return p, nil
}

func (p *page) write(r report.Report) error {
	if p.image != nil {
		r.Image = filepath.Base(p.image.path)
	}
	if err := p.image.write(r.Preview); err != nil {
		return err
	}
	return p.page.write(func(w io.Writer) error { return report.HTML(w, r) })
}

// abandon closes files that were not written.
func (p *page) abandon() {
	if p != nil {
		p.page.abandon()
		p.image.abandon()
	}
}
