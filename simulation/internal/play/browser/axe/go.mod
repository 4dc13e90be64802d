// A module of its own without Go code, so that those who require the library don't download it.
module github.com/redquorum/redlock/simulation/internal/play/browser/axe

go 1.26.0
