//go:build race

package rollout

const raced = true
