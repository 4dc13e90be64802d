package simulation

import (
	"errors"
	"fmt"
	"strconv"
)

// multi is the name of a transaction among the commands.
const multi = "MULTI"

//lint:ignore ST1005 as the server has it
var errAborted = errors.New("EXECABORT Transaction discarded because of previous errors.")

// Transaction returns the arguments for Redis.Do of MULTI, the commands and EXEC. They are
// sent together and executed in one step. Reply.All has the replies of the commands. As in
// Redis, if a command fails, the others are executed all the same; an unknown command or a
// wrong number of arguments aborts all.
func Transaction(commands ...[]string) []string {
	args := []string{multi}
	for _, cmd := range commands {
		args = append(append(args, strconv.Itoa(len(cmd))), cmd...)
	}
	return args
}

// Transacted returns the commands of a Transaction, from its arguments without the first. It
// is for other implementations of Redis.
func Transacted(args []string) ([][]string, error) {
	var all [][]string
	for len(args) > 0 {
		n, err := strconv.Atoi(args[0])
		if err != nil || n < 1 || n > len(args)-1 {
			return nil, fmt.Errorf("ERR simulation: bad arguments of a transaction; use Transaction")
		}
		all = append(all, args[1:1+n])
		args = args[1+n:]
	}
	return all, nil
}

func (x *execution) multi() Reply {
	queued, err := Transacted(x.args)
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
		reply.All[i] = x.do(cmd, x.now)
	}
	return reply
}
