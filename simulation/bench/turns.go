package main

// inTurns measures n things in several rounds, one right after the other, each round beginning
// with another one. So other load on the machine affects all of them alike. It returns the
// results of each thing, by round.
func inTurns[T any](rounds, n int, measure func(round, i int) (T, error)) ([][]T, error) {
	all := make([][]T, n)
	for round := range rounds {
		for turn := range n {
			i := (turn + round) % n
			one, err := measure(round, i)
			if err != nil {
				return nil, err
			}
			all[i] = append(all[i], one)
		}
	}
	return all, nil
}
