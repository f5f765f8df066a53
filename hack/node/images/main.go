// Images packs static programs as container images, without Docker, into one archive that `ctr images import` and
// `docker load` take:
//
//	images -o FILE NAME:TAG=PROGRAM[,KEY=VALUE...] ...
//
// PROGRAM is all that is in the image; KEY=VALUE become its environment.
package main

import (
	"flag"
	"fmt"
	"os"
)

func main() {
	out := flag.String("o", "", "the archive to write")
	flag.Parse()
	if *out == "" || flag.NArg() == 0 {
		fmt.Fprintln(os.Stderr, "usage: images -o FILE NAME:TAG=PROGRAM[,KEY=VALUE...] ...")
		os.Exit(2)
	}
	if err := write(*out, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "images:", err)
		os.Exit(1)
	}
}
