package main

import (
	"io"
	"net/url"
	"path/filepath"
	"strings"

	"github.com/redquorum/redlock/simulation/report"
)

const addressUsage = "the `address` at which the page will be published with its image: most services that show a link's preview want the image's full address"

// writePage writes a report as a page and, beside it, the image that is shown where
// somebody shares a link to it. The address may be "".
func writePage(path, address string, page report.Report) error {
	image := strings.TrimSuffix(path, filepath.Ext(path)) + ".png"
	page.Address, page.Image = address, filepath.Base(image)
	if address != "" {
		base, err := url.Parse(address)
		if err != nil {
			return usageError{err}
		}
		page.Image = base.ResolveReference(&url.URL{Path: page.Image}).String()
	}
	if err := write(image, page.Preview); err != nil {
		return err
	}
	return write(path, func(w io.Writer) error { return report.HTML(w, page) })
}
