package main

import (
	"os"

	"github.com/mycompany/podmanager/cmd/controller/app"
)

func main() {
	os.Exit(app.Main(os.Args[1:], os.Stdout, os.Stderr))
}
