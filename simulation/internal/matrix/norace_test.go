//go:build !race

package matrix

const raced = false
