package main

import (
	"io"
	"log"
	"net"
	"time"
)

// forward hands connections to an address on to another one. TLS passes through untouched: the API server's certificate
// names the address that pods know.
func forward(from, to string) error {
	listener, err := net.Listen("tcp", from)
	if err != nil {
		return err
	}
	log.Printf("Forwarding %s to %s", from, to)
	go func() {
		for {
			in, err := listener.Accept()
			if err != nil {
				log.Fatalf("supervisor: accepting on %s: %v", from, err)
			}
			go connect(in.(*net.TCPConn), to)
		}
	}()
	return nil
}

// connect joins two connections until both directions have ended. A half that is closed is passed on as such, or a watch
// that its client has left would live as long as the API server.
func connect(in *net.TCPConn, to string) {
	defer in.Close()
	dialed, err := net.DialTimeout("tcp", to, 5*time.Second)
	if err != nil {
		return // the API server is down: the pod sees a closed connection, and tries again
	}
	out := dialed.(*net.TCPConn)
	defer out.Close()
	done := make(chan struct{})
	go func() {
		_, _ = io.Copy(out, in)
		_ = out.CloseWrite()
		close(done)
	}()
	_, _ = io.Copy(in, out)
	_ = in.CloseWrite()
	<-done
}
