package main

import (
	"bytes"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"time"
)

const ping = "PING_URL"

func tell(signal string, body []byte) {
	client := http.Client{Timeout: 10 * time.Second}
	answer, err := client.Post(ping+signal, "text/plain", bytes.NewReader(body))
	if err != nil {
		fmt.Fprintln(os.Stderr, "ping failed:", err)
		return
	}
	answer.Body.Close()
}

func main() {
	tell("/start", nil)
	output, err := exec.Command("nightly-backup").CombinedOutput()
	if err != nil {
		tell("/fail", append(output, err.Error()...))
		os.Exit(1)
	}
	tell("", output)
}
