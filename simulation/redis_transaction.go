package simulation

import (
	"errors"
	"fmt"
	"strconv"
	"time"
)

// multi is the name of a whole transaction among the commands.
const multi = "MULTI"

//lint:ignore ST1005 as the server has it
var errAborted = errors.New("EXECABORT Transaction discarded because of previous errors.")

// Transaction makes the arguments for Redis.Do of MULTI, these commands and EXEC: they
// are sent in one piece and carried out in one step. The answer has those of the
// commands in Reply.All; where one of them fails the others are carried out all the
// same, as Redis has it. One that Redis doesn't know, or with a wrong number of
// arguments, aborts all.
func Transaction(commands ...[]string) []string {
	args := []string{multi}
	for _, cmd := range commands {
		args = append(append(args, strconv.Itoa(len(cmd))), cmd...)
	}
	return args
}

// Transacted gives the commands of a transaction's arguments without the first; it is
// for those who make a Redis of their own.
func Transacted(args []string) ([][]string, error) {
	var all [][]string
	for len(args) > 0 {
		n, err := strconv.Atoi(args[0])
		if err != nil || n < 1 || n > len(args)-1 {
			return nil, fmt.Errorf("ERR simulation: these are no arguments of a transaction; Transaction makes them")
		}
		all = append(all, args[1:1+n])
		args = args[1+n:]
	}
	return all, nil
}

func (d database) multi(args []string, now time.Time) Reply {
	queued, err := Transacted(args)
	if err != nil {
		return failure(err)
	}
	for _, cmd := range queued {
		if _, err := lookUp(cmd); err != nil {
			return failure(errAborted)
		}
	}
	reply := Reply{All: make([]Reply, len(queued))}
	for i, cmd := range queued {
		reply.All[i] = d.do(cmd, now)
	}
	return reply
}
