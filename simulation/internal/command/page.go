package command

import (
	"io"
	"net/url"
	"path/filepath"
	"strings"

	"github.com/redquorum/redlock/simulation/internal/report"
)

const addressUsage = "the `address` at which the page will be published with its image: most link previews need the image's full address"

// page is a report's page with its preview image. Both files are open already. A nil *page
// is no page.
type page struct {
	page, image *outfile
	imageName   string // as the page names it
	address     string
}

// openPage opens the files of the page that -html names, nil for "". The address at which
// it will be published may be "".
func openPage(path, address string) (*page, error) {
	if path == "" {
		return nil, nil
	}
	image := strings.TrimSuffix(path, filepath.Ext(path)) + ".png"
	p := &page{imageName: filepath.Base(image), address: address}
	if address != "" {
		base, err := url.Parse(address)
		if err != nil {
			return nil, usageError{err}
		}
		p.imageName = base.ResolveReference(&url.URL{Path: p.imageName}).String()
	}
	var err error
	if p.page, err = openOutfile("-html", path); err != nil {
		return nil, err
	}
	if !p.page.regular() {
		return p, nil // a device has no files beside it
	}
	if p.image, err = openOutfile("-html", image); err != nil {
		p.page.abandon()
		return nil, err
	}
	return p, nil
}

func (p *page) write(r report.Report) error {
	r.Address, r.Image = p.address, p.imageName
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
