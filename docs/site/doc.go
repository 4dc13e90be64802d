// Command site writes the documentation into a folder that any web server can serve: all pages as HTML,
// the files of the source that they link, the figures, the page on which the simulation runs, and the
// report. Nothing on the pages comes from elsewhere.
//
//	go -C docs/site run . -out FOLDER
//
// The folder mirrors the repository. A page NAME.md is NAME.html, and the README is index.html. A file
// FILE that a page links is FILE.html, with a number at each line, and a directory is its index.html.
package main
