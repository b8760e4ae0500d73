// The highest node that is heard leads. Each says every 100 ms that it is alive.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"time"
)

type object = map[string]any

type message struct {
	Src  string `json:"src"`
	Dest string `json:"dest"`
	Body object `json:"body"`
}

var name, leader string
var others []string
var heard = map[string]time.Time{}

func send(dest string, body object) {
	line, _ := json.Marshal(message{name, dest, body})
	fmt.Println(string(line))
}

func number(node string) int {
	value, _ := strconv.Atoi(node[1:])
	return value
}

func receive(m message) {
	switch m.Body["type"] {
	case "init":
		name = m.Body["node_id"].(string)
		for _, node := range m.Body["node_ids"].([]any) {
			if node.(string) != name {
				others = append(others, node.(string))
			}
		}
		send(m.Src, object{"type": "init_ok", "in_reply_to": m.Body["msg_id"]})
	case "alive":
		heard[m.Src] = time.Now()
	}
}

func tick() {
	alive, highest := []string{name}, name
	for _, node := range others {
		send(node, object{"type": "alive"})
		if time.Since(heard[node]) < 500*time.Millisecond {
			alive = append(alive, node)
			if number(node) > number(highest) {
				highest = node
			}
		}
	}
	if leader != highest {
		leader = highest
		send("lab", object{"type": "lab_state", "status": "Normal", "coordinator": leader, "group": alive})
	}
}

func main() {
	lines := make(chan message)
	go func() {
		input := bufio.NewReader(os.Stdin)
		for {
			line, err := input.ReadBytes('\n')
			if err != nil {
				os.Exit(0) // the laboratory has ended the run
			}
			var m message
			if json.Unmarshal(line, &m) == nil {
				lines <- m
			}
		}
	}()
	ticks := time.Tick(100 * time.Millisecond)
	for {
		select {
		case m := <-lines:
			receive(m)
		case <-ticks:
			if name != "" {
				tick()
			}
		}
	}
}
