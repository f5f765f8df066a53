package main

import (
	"errors"
	"io/fs"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// pause is the delay between the end of a program and its next start: a program that cannot start must not use up the machine.
const pause = time.Second

// keep runs a program forever. While there is a file NAME.hold in the folder, the program is not restarted. A test uses this to stop the kubelet
// for as long as it wants.
func keep(folder, name string, command []string) {
	for ; ; time.Sleep(pause) {
		if _, err := os.Stat(filepath.Join(folder, name+".hold")); !errors.Is(err, fs.ErrNotExist) {
			continue
		}
		log.Printf("Starting %s", name)
		log.Printf("%s has ended: %v", name, run(filepath.Join(folder, name+".log"), command))
	}
}

// run runs a program until it ends.
func run(log string, command []string) error {
	output, err := os.OpenFile(log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer output.Close()
	process := exec.Command(command[0], command[1:]...)
	process.Stdout, process.Stderr = output, output
	return process.Run()
}
