package book_test

import (
	"errors"
	"go/ast"
	"strconv"
	"strings"
)

func init() {
	generators["exits"] = func([]string) (string, error) { return exitCodes() }
}

// exitCodes is the table of redlockctl's exit codes, from its source.
func exitCodes() (string, error) {
	files, err := sources("../instance/cmd/redlockctl")
	if err != nil {
		return "", err
	}
	var rows [][]string
	for _, file := range files {
		ast.Inspect(file, func(n ast.Node) bool {
			v, ok := n.(*ast.ValueSpec)
			if !ok || v.Names[0].Name != "exits" {
				return true
			}
			for _, row := range v.Values[0].(*ast.CompositeLit).Elts {
				var cells []string
				for _, cell := range row.(*ast.CompositeLit).Elts {
					text, unquoteErr := strconv.Unquote(cell.(*ast.BasicLit).Value)
					err = errors.Join(err, unquoteErr)
					cells = append(cells, strings.TrimSuffix(text, "."))
				}
				rows = append(rows, cells)
			}
			return false
		})
	}
	if len(rows) == 0 {
		return "", errors.New("redlockctl has no table of exit codes")
	}
	return table("exit code | meaning", rows), err
}
